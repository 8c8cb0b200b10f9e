//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

const organizations = `
apiVersion: kqueen.io/v1alpha1
kind: Organization
metadata: {name: c}
---
apiVersion: kqueen.io/v1alpha1
kind: Organization
metadata: {name: b-c}
`

// party is one of two tenants whose names, put together with a dash, are the same.
type party struct {
	organization, name string
	config             *rest.Config
	plane              *v1alpha1.ControlPlane
	keys               map[string][]byte
}

func (p *party) prefix() string { return "/kqueen/" + string(p.plane.UID) + "/" }

func TestIsolation(t *testing.T) {
	parallel(t, 4*time.Minute)
	i := started(t)
	i.kubectl(i.adminKubeconfig(), organizations, "apply", "-f", "-")
	i.kubectl(i.adminKubeconfig(), "", "wait", "--for=condition=Ready", "organizations", "--all", "--timeout=6m")
	a, b := &party{organization: "c", name: "a-b"}, &party{organization: "b-c", name: "a"}
	for _, p := range []*party{a, b} {
		i.ok("cluster", "create", p.name, "--org", p.organization)
	}
	for _, p := range []*party{a, b} {
		i.ok("cluster", "wait", p.name, "--org", p.organization, "--timeout", "5m")
		p.load(t, i)
	}
	t.Run("Names", func(t *testing.T) { separateNames(t, a, b) })
	t.Run("APIServers", func(t *testing.T) { refusedByOthers(t, i, a, b) })
	t.Run("Store", func(t *testing.T) { refusedByStore(t, i, a, b) })
	t.Run("Webhooks", func(t *testing.T) { callNoHost(t, a) })
	t.Run("Conversion", func(t *testing.T) { convertNoHost(t, a) })
	t.Run("Egress", func(t *testing.T) { callAllowed(t, i, a, b) })
	t.Run("Nodes", func(t *testing.T) { callNoStranger(t, a) })
	t.Run("Secrets", func(t *testing.T) { secretsStaySecret(t, i, a) })
	t.Run("Programs", func(t *testing.T) { confined(t, i, a, b) })
	t.Run("Quota", func(t *testing.T) { refusesGrowth(t, i, a, b) })
}

func (p *party) load(t *testing.T, i *installation) {
	t.Helper()
	p.config, p.plane = i.tenant(p.organization, p.name), &v1alpha1.ControlPlane{}
	c, key := i.admin(), client.ObjectKey{Namespace: "org-" + p.organization, Name: p.name}
	if err := c.Get(t.Context(), key, p.plane); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: key.Namespace, Name: p.plane.KeysSecret()}, secret); err != nil {
		t.Fatal(err)
	}
	p.keys = secret.Data
}

func separateNames(t *testing.T, a, b *party) {
	ea, eb := a.plane.Status.Endpoint, b.plane.Status.Endpoint
	if ea.ServerName == eb.ServerName || ea.Port == eb.Port || a.plane.UID == b.plane.UID {
		t.Errorf("the two clusters share a server name, port or UID: %+v and %+v", ea, eb)
	}
	for _, p := range []*party{a, b} {
		if want := p.name + "." + p.organization + "."; !strings.HasPrefix(p.plane.Status.Endpoint.ServerName, want) {
			t.Errorf("server name %q does not begin with %q", p.plane.Status.Endpoint.ServerName, want)
		}
	}
	if strings.HasPrefix(a.prefix(), b.prefix()) || strings.HasPrefix(b.prefix(), a.prefix()) {
		t.Errorf("prefixes %s and %s nest", a.prefix(), b.prefix())
	}
}

// credential is one way to say who one is.
type credential struct {
	cert, key []byte
	header    http.Header
}

// credentials are all that the holder of a control plane's keys, or a program in its cluster, can present.
func (p *party) credentials(t *testing.T) map[string]credential {
	t.Helper()
	out := map[string]credential{
		"a service account's token": {header: http.Header{"Authorization": {"Bearer " + tokenOf(t, p.config)}}},
	}
	for _, name := range []string{"admin", "apiserver-kubelet-client", "controller-manager", "scheduler", "etcd-client", "apiserver"} {
		out["certificate "+name] = credential{cert: p.keys[name+".crt"], key: p.keys[name+".key"]}
	}
	out["certificate front-proxy-client"] = credential{
		cert: p.keys["front-proxy-client.crt"], key: p.keys["front-proxy-client.key"],
		header: http.Header{"X-Remote-User": {"kubernetes-admin"}, "X-Remote-Group": {"system:masters"}},
	}
	return out
}

func refusedByOthers(t *testing.T, i *installation, a, b *party) {
	admin, err := clientcmd.BuildConfigFromFlags("", i.adminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	// Even at home the certificate for etcd is that of no user, and a server's certificate does not make a client.
	strangers := []string{"certificate etcd-client", "certificate apiserver"}
	for what, c := range a.credentials(t) {
		want := http.StatusOK
		if slices.Contains(strangers, what) {
			want = http.StatusUnauthorized
		}
		if got, err := c.present(t, a.config); got != want {
			t.Errorf("%s at home: status %d (%v), want %d", what, got, err, want)
		}
		for where, target := range map[string]*rest.Config{"the other cluster": b.config, "the admin plane": admin} {
			if got, err := c.present(t, target); got != http.StatusUnauthorized {
				t.Errorf("%s at %s: status %d (%v), want %d", what, where, got, err, http.StatusUnauthorized)
			}
		}
	}
}

// present asks an API server for what every authenticated user may see.
func (c credential) present(t *testing.T, to *rest.Config) (int, error) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(to.CAData)
	config := &tls.Config{RootCAs: pool, ServerName: to.ServerName}
	if c.cert != nil {
		config.GetClientCertificate = always(t, c.cert, c.key)
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to.Host+"/api", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = c.header
	resp, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func refusedByStore(t *testing.T, i *installation, a, b *party) {
	etcd := i.gateAs(a.keys["etcd-client.crt"], a.keys["etcd-client.key"])
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r, err := etcd.Get(ctx, a.prefix(), clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil || r.Count == 0 {
		t.Fatalf("its own keys: %v (%v), want some", r, err)
	}
	get := func(key string, options ...clientv3.OpOption) func() error {
		return func() error { _, err := etcd.Get(ctx, key, options...); return err }
	}
	for what, try := range map[string]func() error{
		"read the other's keys":    get(b.prefix(), clientv3.WithPrefix()),
		"read one of the other's":  get(b.prefix() + "namespaces/default"),
		"read the admin plane's":   get(adminPrefix, clientv3.WithPrefix()),
		"read all":                 get("\x00", clientv3.WithFromKey()),
		"read beyond its own":      get(a.prefix(), clientv3.WithRange("/kqueen0")),
		"read without its slash":   get(strings.TrimSuffix(a.prefix(), "/"), clientv3.WithPrefix()),
		"write the other's":        func() error { _, err := etcd.Put(ctx, b.prefix()+"planted", "x"); return err },
		"write the admin plane's":  func() error { _, err := etcd.Put(ctx, adminPrefix+"planted", "x"); return err },
		"delete the other's":       func() error { _, err := etcd.Delete(ctx, b.prefix(), clientv3.WithPrefix()); return err },
		"list users":               func() error { _, err := etcd.UserList(ctx); return err },
		"make itself root":         func() error { _, err := etcd.UserGrantRole(ctx, "kqueen-"+string(a.plane.UID), "root"); return err },
		"turn access control off":  func() error { _, err := etcd.AuthDisable(ctx); return err },
		"take a snapshot":          func() error { return snapshot(ctx, etcd) },
		"watch the other's":        func() error { return watch(ctx, etcd, b.prefix()) },
		"read the other's, in txn": func() error { _, err := etcd.Txn(ctx).Then(clientv3.OpGet(b.prefix() + "x")).Commit(); return err },
	} {
		if err := try(); err == nil || !errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionDenied) {
			t.Errorf("%s: %v, want that permission is denied", what, err)
		}
	}
	lease, err := i.gateAs(b.keys["etcd-client.crt"], b.keys["etcd-client.key"]).Grant(ctx, 600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Revoke(ctx, lease.ID); !errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound) {
		t.Errorf("revoke the other's lease: %v, want that it is not found", err)
	}
	// Certificates of the cluster's own authorities open neither the gate nor the store, and the one for the gate does not
	// open the store.
	for _, name := range []string{"admin", "front-proxy-client", "apiserver-kubelet-client", "etcd-client"} {
		strangers := map[string]*clientv3.Client{"store": i.storeAs(a.keys[name+".crt"], a.keys[name+".key"])}
		if name != "etcd-client" {
			strangers["gate"] = i.gateAs(a.keys[name+".crt"], a.keys[name+".key"])
		}
		for where, stranger := range strangers {
			soon, cancel := context.WithTimeout(ctx, 2*time.Second)
			if r, err := stranger.Get(soon, a.prefix(), clientv3.WithPrefix(), clientv3.WithCountOnly()); err == nil {
				t.Errorf("the certificate %s reads %d keys at the %s", name, r.Count, where)
			}
			cancel()
		}
	}
}

// refusesGrowth gives an organization a quota of its stores that is used up long ago: its users read why nothing new is
// taken, what is there can be changed and deleted, and another organization does not notice.
func refusesGrowth(t *testing.T, i *installation, a, b *party) {
	ctx := t.Context()
	mine, other := clientset(t, a.config).CoreV1().ConfigMaps(corev1.NamespaceDefault), clientset(t, b.config).CoreV1().ConfigMaps(corev1.NamespaceDefault)
	of := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"test.kqueen.io/hold"}}, Data: map[string]string{"k": "value"}}
	}
	kept, err := mine.Create(ctx, of("kept"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "what clusters hold", func(context.Context) error { return i.counted(a, b) })
	quota := func(store string) {
		t.Helper()
		i.kubectl(i.adminKubeconfig(), "", "patch", "organization", a.organization, "--type=merge", "-p", `{"spec":{"quota":{"store":`+store+`}}}`)
	}
	quota(`"1Ki"`)
	eventually(t, "a refusal", func(ctx context.Context) error {
		_, err := mine.Create(ctx, of("more"), metav1.CreateOptions{})
		if err == nil {
			_, err := mine.Patch(ctx, "more", types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`), metav1.PatchOptions{})
			return errors.Join(errors.New("it was created"), err, mine.Delete(ctx, "more", metav1.DeleteOptions{}))
		}
		if !strings.Contains(err.Error(), "store quota exceeded: the organization's clusters hold ") {
			t.Errorf("the user reads %q", err)
		}
		return nil
	})
	if _, err := other.Create(ctx, of("more"), metav1.CreateOptions{}); err != nil {
		t.Errorf("another organization: %v", err)
	}
	kept.Data["k"] = "another"
	if _, err := mine.Update(ctx, kept, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("a change: %v", err)
	}
	// The object is marked first, which makes it larger, and goes when its finalizer does.
	if err := mine.Delete(ctx, "kept", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	if kept, err = mine.Get(ctx, "kept", metav1.GetOptions{}); err == nil {
		kept.Finalizers = nil
		_, err = mine.Update(ctx, kept, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Errorf("the end of a deletion: %v", err)
	}
	quota("null")
	eventually(t, "a write without a quota", func(ctx context.Context) error {
		_, err := mine.Create(ctx, of("free"), metav1.CreateOptions{})
		return err
	})
}

// counted says whether the store gate has told KQueen what control planes hold.
func (i *installation) counted(of ...*party) error {
	data, err := os.ReadFile(filepath.Join(i.dir, "run", "workloads", "store-gate", "usage", "usage.json"))
	if err != nil {
		return err
	}
	var told struct {
		Bytes map[types.UID]int64 `json:"bytes"`
		Left  string              `json:"left"`
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return err
	}
	if told.Left != "enough" {
		return fmt.Errorf("of the store %q is left", told.Left)
	}
	for _, p := range of {
		if told.Bytes[p.plane.UID] < 100<<10 {
			return fmt.Errorf("%s holds %d bytes", p.name, told.Bytes[p.plane.UID])
		}
	}
	return nil
}

func snapshot(ctx context.Context, etcd *clientv3.Client) error {
	r, err := etcd.Snapshot(ctx)
	if err != nil {
		return err
	}
	_, err = r.Read(make([]byte, 1))
	return errors.Join(err, r.Close())
}

func watch(ctx context.Context, etcd *clientv3.Client, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, open := <-etcd.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	err := r.Err()
	// A watch that is refused is told so in words alone.
	if err != nil && strings.HasSuffix(err.Error(), rpctypes.ErrorDesc(rpctypes.ErrGRPCPermissionDenied)) {
		return rpctypes.ErrPermissionDenied
	}
	if err != nil || !open {
		return errors.Join(err, ctx.Err())
	}
	return errors.New("the watch was created")
}

// distinctPart is a line of key material that stands for the whole.
func distinctPart(pem []byte) string {
	lines := slices.DeleteFunc(strings.Split(string(pem), "\n"), func(l string) bool { return len(l) < 40 || strings.HasPrefix(l, "-") })
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// privateParts are the recognizable parts of all private keys in a Secret.
func privateParts(t *testing.T, keys map[string][]byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if part := distinctPart(keys[name]); strings.HasSuffix(name, ".key") && part != "" {
			out["private key "+name] = part
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d private keys were found", len(out))
	}
	return out
}
