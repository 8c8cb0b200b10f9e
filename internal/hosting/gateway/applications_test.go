package gateway

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestApplicationsFollowStatuses: the names of a cluster lead to the address in its status, and nowhere without one or when it goes.
// The names in a status are not asked.
func TestApplicationsFollowStatuses(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := controlplanetest.Namespace(t, c)
	file := filepath.Join(t.TempDir(), "routes.json")
	table, err := OpenTable(file)
	if err != nil {
		t.Fatal(err)
	}
	applications := &Applications{Table: table, Client: c, Domains: func(of types.NamespacedName) []string {
		if of.Namespace != namespace {
			return nil // of another test
		}
		return []string{of.Name + ".example.org", of.Name + ".localhost"}
	}, Owns: owns(netip.MustParsePrefix("10.223.7.0/24"))}
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Finalizers: []string{"example.org/test"}},
		Spec:       v1alpha1.ClusterSpec{Version: "v1.36.3", ProvisionerRef: v1alpha1.ProvisionerReference{Namespace: namespace, Name: "p"}},
	}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cluster.Finalizers = nil
		_ = c.Update(t.Context(), cluster)
	})
	address := func(address string) {
		t.Helper()
		cluster.Status.Ingress = &v1alpha1.ClusterIngress{Domains: []string{"victim.example.org"}, CA: []byte("ca"), Address: address}
		if err := c.Status().Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, want map[string]Route) {
		t.Helper()
		got, err := readTable(file)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	look := func() {
		t.Helper()
		if _, err := applications.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(cluster)}); err != nil {
			t.Fatal(err)
		}
	}
	to := func(at string) map[string]Route {
		return map[string]Route{"*.demo.example.org": {Backend: netip.MustParseAddrPort(at)}, "*.demo.localhost": {Backend: netip.MustParseAddrPort(at)}}
	}
	look()
	want("no status", map[string]Route{})
	address("10.223.7.224")
	look()
	want("an address", to("10.223.7.224:443"))
	address("10.223.7.225")
	if err := applications.Restore(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	want("another one, after a start", to("10.223.7.225:443"))
	address("nonsense")
	look()
	want("no address", map[string]Route{})
	address("10.223.7.225")
	look()
	if err := c.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	look()
	want("the cluster goes", map[string]Route{})
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
}

// owns is of clusters whose addresses are those of a network.
func owns(network netip.Prefix) func(context.Context, client.Reader, *v1alpha1.Cluster, netip.Addr) (bool, error) {
	return func(_ context.Context, _ client.Reader, _ *v1alpha1.Cluster, address netip.Addr) (bool, error) {
		return network.Contains(address), nil
	}
}

// TestApplicationsOfAnother: an address in a status that is another cluster's by now is no route, at a start and later.
func TestApplicationsOfAnother(t *testing.T) {
	c := controlplanetest.Client(t)
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: controlplanetest.Namespace(t, c), Name: "demo"},
		Spec:       v1alpha1.ClusterSpec{Version: "v1.36.3"},
	}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Status.Ingress = &v1alpha1.ClusterIngress{Domains: []string{}, CA: []byte("ca"), Address: "10.223.7.224"}
	if err := c.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "routes.json")
	table, err := OpenTable(file)
	if err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(cluster)
	applications := &Applications{Table: table, Client: c, Domains: func(of types.NamespacedName) []string {
		if of != key {
			return nil // of another test
		}
		return []string{"demo.example.org"}
	}}
	for _, tc := range []struct {
		what, network string
		look          func() error
		want          int
	}{
		{"its own, at a start", "10.223.7.0/24", func() error { return applications.Restore(t.Context(), c) }, 1},
		{"another's", "10.223.8.0/24", func() error {
			_, err := applications.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			return err
		}, 0},
		{"another's, at a start", "10.223.8.0/24", func() error { return applications.Restore(t.Context(), c) }, 0},
	} {
		applications.Owns = owns(netip.MustParsePrefix(tc.network))
		err := tc.look()
		got, readErr := readTable(file)
		if err != nil || readErr != nil || len(got) != tc.want {
			t.Errorf("%s: got %v, want %d routes: %v, %v", tc.what, got, tc.want, err, readErr)
		}
	}
}
