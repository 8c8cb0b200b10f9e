//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// overSecondStore has a cluster over an etcd of the operator's own: its API server calls the gate before that, which comes and goes with the
// DataStore.
func overSecondStore(t *testing.T, i *installation) {
	c, ds := i.admin(), i.secondStore(t)
	gate := "store-gate/" + ds.Name
	i.overSecond(t, "dataStoreName")
	i.ok("cluster", "create", "elsewhere", "--provisioner", "over-second", "--wait", "--timeout", patience.String())
	runs := i.pid(gate, "store-gate")
	if err := i.callsGate(t.Context(), t, "elsewhere", gate); err != nil {
		t.Error(err)
	}
	if got := valueOf(argumentsOf(t, runs), "--store"); "https://"+got != ds.Spec.Endpoints[0] {
		t.Errorf("the gate calls %s, and the etcd is at %s", got, ds.Spec.Endpoints[0])
	}
	maps := clientset(t, i.tenant("default", "elsewhere")).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("write by the gate: %v", err)
	}
	i.ok("cluster", "delete", "elsewhere", "--yes")
	if err := c.Delete(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the gate goes with its DataStore", func(ctx context.Context) error {
		seen := &v1alpha1.DataStore{}
		err := c.Get(ctx, client.ObjectKeyFromObject(ds), seen)
		if err == nil {
			return fmt.Errorf("the DataStore is there: %+v", seen.Status.Conditions)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		if left := slices.DeleteFunc(files(t, i.dir), func(file string) bool { return !strings.Contains(file, string(ds.UID)) }); len(left) > 0 {
			return fmt.Errorf("left are %v", left)
		}
		return nil
	})
	if pid := i.pidOf(gate, "store-gate"); pid != 0 {
		t.Errorf("the gate runs on as %d", pid)
	}
}

// overSecond makes the provisioner of clusters over the DataStore "second", which the parameter of that name is about.
func (i *installation) overSecond(t *testing.T, parameter string) {
	t.Helper()
	makeObject(t, i.admin(), &v1alpha1.Provisioner{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "over-second"},
		Spec:       v1alpha1.ProvisionerSpec{Driver: "hosted", Parameters: &apiextensionsv1.JSON{Raw: []byte(`{"` + parameter + `":"second"}`)}},
	})
}

// callsGate says why a cluster's API server does not call a gate.
func (i *installation) callsGate(ctx context.Context, t *testing.T, cluster, gate string) error {
	cp := &v1alpha1.ControlPlane{}
	if err := i.admin().Get(ctx, client.ObjectKey{Namespace: "org-default", Name: cluster}, cp); err != nil {
		return err
	}
	server, runs := i.pidOf("org-default/"+cluster, "kube-apiserver"), i.pidOf(gate, "store-gate")
	if server == 0 || runs == 0 {
		return errors.New("one of them does not run")
	}
	calls, listens := valueOf(argumentsOf(t, server), "--etcd-servers"), valueOf(argumentsOf(t, runs), "--listen")
	if calls != "https://"+listens {
		return fmt.Errorf("it calls %s, and the gate listens at %s", calls, listens)
	}
	return nil
}

// secondStore starts an etcd beside the installation and makes the DataStore "second" of it.
func (i *installation) secondStore(t *testing.T) *v1alpha1.DataStore {
	t.Helper()
	dir := t.TempDir()
	set, err := pki.Store(pki.StoreParams{Name: "second"})
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := pki.Issue(nil, set, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	for name, data := range keys {
		if err := os.WriteFile(file(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := datastore.ServerConfig{
		Name: "second", DataDir: file("data"), ClientPort: freePort(t), PeerPort: freePort(t), CertFile: file("server.crt"), KeyFile: file("server.key"),
		ClientCAFile: file("ca.crt"), PeerCertFile: file("peer.crt"), PeerKeyFile: file("peer.key"), PeerCAFile: file("peer-ca.crt"),
	}
	args, err := datastore.ServerArgs(config)
	if err != nil {
		t.Fatal(err)
	}
	etcd := exec.Command(i.program, append([]string{"etcd"}, args...)...)
	if err := etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = etcd.Process.Kill()
		_ = etcd.Wait()
	})
	c := i.admin()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "datastore-second"}, Data: map[string][]byte{}}
	for _, name := range []string{"ca.crt", "ca.key", "root.crt", "root.key"} {
		secret.Data[name] = keys[name]
	}
	makeObject(t, c, secret)
	ds := &v1alpha1.DataStore{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Spec: v1alpha1.DataStoreSpec{
		Endpoints:      []string{fmt.Sprintf("https://127.0.0.1:%d", config.ClientPort)},
		CredentialsRef: v1alpha1.SecretReference{Namespace: v1alpha1.SystemNamespace, Name: secret.Name},
	}}
	makeObject(t, c, ds)
	return ds
}

func makeObject(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// argumentsOf are those of a process.
func argumentsOf(t *testing.T, pid int) []string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
}

// valueOf is what a flag says, in one argument or in two.
func valueOf(args []string, flag string) string {
	for at, arg := range args {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
		if arg == flag && at+1 < len(args) {
			return args[at+1]
		}
	}
	return ""
}
