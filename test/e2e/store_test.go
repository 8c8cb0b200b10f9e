//go:build linux

package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// adminPrefix is where the keys of the admin plane begin.
const adminPrefix = "/kqueen-admin/"

// store opens the installation's etcd as its root user.
func (i *installation) store() *clientv3.Client {
	i.t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "datastore-default"}
	if err := i.admin().Get(i.t.Context(), key, secret); err != nil {
		i.t.Fatal(err)
	}
	return i.storeAs(secret.Data["root.crt"], secret.Data["root.key"])
}

// storeAs opens the installation's etcd with a client certificate.
func (i *installation) storeAs(cert, key []byte) *clientv3.Client {
	i.t.Helper()
	c, admin := i.admin(), &v1alpha1.DataStore{}
	if err := c.Get(i.t.Context(), client.ObjectKey{Name: "default"}, admin); err != nil {
		i.t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := c.Get(i.t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "datastore-default"}, secret); err != nil {
		i.t.Fatal(err)
	}
	return i.etcdAt(admin.Spec.Endpoints[0], secret.Data["ca.crt"], cert, key)
}

// gateAs opens the gate of the installation's etcd, which API servers call, with a client certificate.
func (i *installation) gateAs(cert, key []byte) *clientv3.Client {
	i.t.Helper()
	authority, err := os.ReadFile(filepath.Join(i.dir, "run", "workloads", "store-gate", "ca.crt"))
	if err != nil {
		i.t.Fatal(err)
	}
	return i.etcdAt("https://"+i.argument("store-gate", "--listen"), authority, cert, key)
}

// argument is what follows a flag in the arguments of a component.
func (i *installation) argument(component, flag string) string {
	i.t.Helper()
	for _, p := range i.processes() {
		if at := slices.Index(p.args, flag); p.component == component && at >= 0 && at+1 < len(p.args) {
			return p.args[at+1]
		}
	}
	i.t.Fatalf("no %s runs with %s", component, flag)
	return ""
}

func (i *installation) etcdAt(endpoint string, authority, cert, key []byte) *clientv3.Client {
	i.t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{endpoint},
		DialTimeout: 10 * time.Second,
		TLS:         &tls.Config{RootCAs: pool, GetClientCertificate: always(i.t, cert, key)},
		Logger:      zap.NewNop(),
	})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = etcd.Close() })
	return etcd
}

// adminStore opens the etcd of the admin plane as its root user.
func (i *installation) adminStore() *clientv3.Client {
	i.t.Helper()
	var keys map[string][]byte
	var ports struct{ Client int }
	for file, into := range map[string]any{filepath.Join("keys", "admin-store.json"): &keys, filepath.Join("run", "workloads", "etcd-admin", "ports.json"): &ports} {
		data, err := os.ReadFile(filepath.Join(i.dir, file))
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			i.t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(keys["ca.crt"])
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{fmt.Sprintf("https://127.0.0.1:%d", ports.Client)},
		DialTimeout: 10 * time.Second,
		TLS:         &tls.Config{RootCAs: pool, GetClientCertificate: always(i.t, keys["root.crt"], keys["root.key"])},
		Logger:      zap.NewNop(),
	})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = etcd.Close() })
	return etcd
}

// always presents a certificate whatever authorities the server asks for: a polite client would keep it back,
// and the server's refusal would not be tested.
func always(t *testing.T, cert, key []byte) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
}

// tenants are what clusters leave traces of: their names and the UIDs of their control planes.
type tenants struct{ names, uids []string }

// tenants looks up the control planes that there are.
func (i *installation) tenants() tenants {
	i.t.Helper()
	list := &v1alpha1.ControlPlaneList{}
	if err := i.admin().List(i.t.Context(), list); err != nil {
		i.t.Fatal(err)
	}
	var out tenants
	for _, cp := range list.Items {
		out.names = append(out.names, cp.Name)
		out.uids = append(out.uids, string(cp.UID))
	}
	return out
}

// only are the tenants of these names.
func (t tenants) only(names ...string) tenants {
	var out tenants
	for n, name := range t.names {
		if slices.Contains(names, name) {
			out.names, out.uids = append(out.names, name), append(out.uids, t.uids[n])
		}
	}
	return out
}

// named says whether a text speaks of one of them.
func (t tenants) named(text string) bool {
	return slices.ContainsFunc(slices.Concat(t.names, t.uids), func(word string) bool { return strings.Contains(text, word) })
}

// traces are all that is left of tenants anywhere: objects and keys, users and roles in etcd, processes, files, ports.
func (i *installation) traces(of tenants) []string {
	i.t.Helper()
	if len(of.names) == 0 || len(of.uids) == 0 {
		i.t.Fatal("there is no user to look for")
	}
	etcd, ctx := i.store(), i.t.Context()
	keys, err := etcd.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithKeysOnly())
	if err != nil {
		i.t.Fatal(err)
	}
	users, err := etcd.UserList(ctx)
	if err != nil {
		i.t.Fatal(err)
	}
	roles, err := etcd.RoleList(ctx)
	if err != nil {
		i.t.Fatal(err)
	}
	var out []string
	see := func(kind, text string) {
		if of.named(text) {
			out = append(out, kind+" "+text)
		}
	}
	own, err := i.adminStore().Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithKeysOnly())
	if err != nil {
		i.t.Fatal(err)
	}
	for _, kv := range slices.Concat(keys.Kvs, own.Kvs) {
		// Events tell what was; they go by themselves after an hour.
		if !strings.HasPrefix(string(kv.Key), adminPrefix+"events/") {
			see("key", string(kv.Key))
		}
	}
	for _, user := range users.Users {
		see("user", user)
	}
	for _, role := range roles.Roles {
		see("role", role)
	}
	for _, p := range i.processes() {
		see("process", p.String())
	}
	for _, file := range files(i.t, i.dir) {
		see("file", file)
	}
	return out
}

// files are the paths of everything below a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // it went meanwhile
			return nil
		}
		if path != dir {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
