//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/freeport"
	"kqueen.io/kqueen/internal/platform/kube"
)

const (
	namespace   = v1alpha1.NamespacePrefix + "default"
	clusterName = "conformance"
)

// installation is a KQueen of the tests' own, with one cluster.
type installation struct {
	program string
	base    string // everything of it
	dir     string // its data directory
	kubectl string
}

func start(ctx context.Context, program string, suite release.Suite) (*installation, error) {
	base, err := os.MkdirTemp("", "kqueen-conformance-")
	if err != nil {
		return nil, err
	}
	i := &installation{program: program, base: base, dir: filepath.Join(base, "data")}
	if err := i.begin(ctx, suite); err != nil {
		return nil, errors.Join(err, i.remove(context.WithoutCancel(ctx)))
	}
	return i, nil
}

func (i *installation) begin(ctx context.Context, suite release.Suite) error {
	if err := i.bringImages(suite.Images()); err != nil {
		return err
	}
	if err := os.WriteFile(i.testDriver(), localVolumes, 0o600); err != nil {
		return fmt.Errorf("describe local volumes to the tests: %w", err)
	}
	dir, err := release.DefaultDir()
	if err != nil {
		return err
	}
	binaries, ok, err := release.NewStore(dir).Lookup(suite.Version)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("release %s is not built; run: make kubernetes", suite.Version)
	}
	i.kubectl = binaries.Path("kubectl")
	port, err := freeport.Take()
	if err != nil {
		return err
	}
	return i.kqueen(ctx, "up", "--gateway-port", strconv.Itoa(port))
}

// bringImages copies the archives to where KQueen's machines look for them, as a user does who has no registry.
func (i *installation) bringImages(from string) error {
	to := filepath.Join(i.dir, "images")
	for _, dir := range []string{i.dir, to} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return os.CopyFS(to, os.DirFS(from))
}

func (i *installation) kqueen(ctx context.Context, args ...string) error {
	_, err := i.ask(ctx, args...)
	return err
}

// ask returns what a command prints.
func (i *installation) ask(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, i.program, append(args, "--data-dir", i.dir)...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("kqueen %s: %w: %s", args[0], err, exit.Stderr)
	}
	return out, err
}

// create makes the cluster, and its kubeconfig for the tests.
func (i *installation) create(ctx context.Context, nodes int, level string) error {
	if err := i.kqueen(ctx, "organization", "update", "default", "--pod-security", level); err != nil {
		return err
	}
	if err := i.kqueen(ctx, "cluster", "create", clusterName, "--nodes", strconv.Itoa(nodes), "--pod-security", level, "--wait"); err != nil {
		return err
	}
	data, err := i.ask(ctx, "cluster", "kubeconfig", clusterName)
	if err != nil {
		return err
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	endpoint, err := i.endpoint(ctx)
	if err != nil {
		return err
	}
	// The tests overwrite the address with itself, at which client-go forgets tls-server-name, and without that name
	// the gateway does not know the cluster. So they use the API server's own port.
	for _, c := range config.Clusters {
		c.Server, c.TLSServerName = "https://"+endpoint, ""
	}
	return clientcmd.WriteToFile(*config, i.kubeconfig())
}

func (i *installation) kubeconfig() string { return filepath.Join(i.base, "kubeconfig") }

// testDriver is the file that describes the addon local-volumes to the tests.
func (i *installation) testDriver() string { return filepath.Join(i.base, "local-volumes.yaml") }

// endpoint is where the cluster's API server listens.
func (i *installation) endpoint(ctx context.Context) (string, error) {
	config, err := kube.Config(kube.Target{Kubeconfig: filepath.Join(i.dir, "admin.kubeconfig"), Version: "conformance"})
	if err != nil {
		return "", err
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return "", err
	}
	admin, err := kube.Connect(config, scheme)
	if err != nil {
		return "", err
	}
	cp := &v1alpha1.ControlPlane{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: clusterName}, cp); err != nil {
		return "", err
	}
	return net.JoinHostPort(cp.Status.Endpoint.Address, strconv.Itoa(int(cp.Status.Endpoint.Port))), nil
}

func (i *installation) remove(ctx context.Context) error {
	var err error
	if app.Used(i.dir) {
		err = i.kqueen(ctx, "reset", "--yes")
	}
	return errors.Join(err, os.RemoveAll(i.base))
}
