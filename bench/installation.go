package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/freeport"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server/status"
)

const namespace = v1alpha1.NamespacePrefix + "default"

// installation is a KQueen of the benchmark's own.
type installation struct {
	program  string
	dir      string
	releases string
	env      []string // of kqueen, beside the usual variables
	admin    client.WithWatch
	binaries release.Binaries
	// store are the endpoint and the keys of the data store.
	endpoint string
	store    pki.Bundle
}

func start(ctx context.Context, program string) (*installation, error) {
	dir, err := os.MkdirTemp("", "kqueen-bench-")
	if err != nil {
		return nil, err
	}
	inst := &installation{program: program, dir: dir}
	if err := inst.begin(ctx); err != nil {
		return nil, errors.Join(err, inst.remove(context.WithoutCancel(ctx)))
	}
	return inst, nil
}

func (i *installation) begin(ctx context.Context) error {
	// Others, who take the ports that are well known, may come while kqueen does not run.
	gateway, err := freeport.Take()
	if err != nil {
		return err
	}
	api, err := freeport.Take()
	if err != nil {
		return err
	}
	ingress, err := freeport.Take()
	if err != nil {
		return err
	}
	if err := i.kqueen(ctx, "up", "--gateway-port", strconv.Itoa(gateway), "--api-port", strconv.Itoa(api), "--ingress-port", strconv.Itoa(ingress)); err != nil {
		return err
	}
	config, err := kube.Config(kube.Target{Kubeconfig: filepath.Join(i.dir, "admin.kubeconfig"), Version: "bench"})
	if err != nil {
		return err
	}
	config.QPS = -1 // what is measured is not how long this program waits by itself
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	if i.admin, err = kube.Connect(config, scheme); err != nil {
		return err
	}
	return i.readParts(ctx)
}

// readParts finds what is needed to start an API server by hand on the same etcd.
func (i *installation) readParts(ctx context.Context) error {
	ds, secret := &v1alpha1.DataStore{}, &corev1.Secret{}
	if err := i.admin.Get(ctx, client.ObjectKey{Name: "default"}, ds); err != nil {
		return err
	}
	ref := ds.Spec.CredentialsRef
	if err := i.admin.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		return err
	}
	i.endpoint, i.store = ds.Spec.Endpoints[0], pki.Bundle(secret.Data)
	var err error
	if i.releases, err = release.DefaultDir(); err != nil {
		return err
	}
	all, err := release.NewStore(i.releases).List()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("no Kubernetes is built; run: make kubernetes")
	}
	i.binaries = all[len(all)-1]
	return nil
}

func (i *installation) kqueen(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, i.program, append(args, "--data-dir", i.dir)...)
	cmd.Env = append(os.Environ(), i.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kqueen %s: %w: %s", args[0], err, out)
	}
	return nil
}

func (i *installation) remove(ctx context.Context) error {
	var err error
	if app.Used(i.dir) {
		err = i.kqueen(ctx, "reset", "--yes")
	}
	return errors.Join(err, os.RemoveAll(i.dir))
}

// halt kills kqueen, and its keeper first, which would start it again. What it runs goes on.
func (i *installation) halt(ctx context.Context) error {
	found, err := status.Read(ctx, i.dir)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(i.dir, "keeper.lock"))
	if err != nil {
		return err
	}
	keeper, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("read the keeper's process: %w", err)
	}
	for _, pid := range []int{keeper, found.PID} {
		process, err := os.FindProcess(pid)
		if err != nil {
			return err
		}
		if err := process.Kill(); err != nil {
			return err
		}
	}
	return nil
}

// version is the newest that the installation offers.
func (i *installation) version() string { return i.binaries.Version.String() }

func (i *installation) create(ctx context.Context, name string) error {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec.Version = i.version()
	return i.admin.Create(ctx, c)
}

// deleteAll deletes clusters and waits until they are gone.
func (i *installation) deleteAll(ctx context.Context, names []string) error {
	args := append([]string{"cluster", "delete", "--yes"}, names...)
	return i.kqueen(ctx, args...)
}
