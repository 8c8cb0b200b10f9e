package gateway

import (
	"log/slog"
	"net"
	"net/netip"
	"os"
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

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

func TestBackendOfAStatus(t *testing.T) {
	self := netip.MustParseAddr("192.0.2.1")
	at := func(address string, port int32) *v1alpha1.ControlPlaneEndpoint {
		return &v1alpha1.ControlPlaneEndpoint{ServerName: "another.org.test", Address: address, Port: port}
	}
	tests := map[string]struct {
		reason   string
		endpoint *v1alpha1.ControlPlaneEndpoint
		self     netip.Addr
		want     string // empty for none
	}{
		"None":       {"the control plane has no endpoint yet", nil, self, ""},
		"Elsewhere":  {"another host's API server is dialled there", at("192.0.2.2", 20001), self, "192.0.2.2:20001"},
		"Here":       {"this host may not reach itself by that address", at("192.0.2.1", 20001), self, "127.0.0.1:20001"},
		"OneAddress": {"the API server listens on no other address", at("192.0.2.1", 20001), netip.Addr{}, "192.0.2.1:20001"},
		"IPv6":       {"both families are dialled", at("2001:db8::1", 20001), self, "[2001:db8::1]:20001"},
		"NoPort":     {"nothing can be dialled", at("192.0.2.2", 0), self, ""},
		"BigPort":    {"it would be cut to another one", at("192.0.2.2", 65537), self, ""},
		"NoAddress":  {"nothing can be dialled", at("", 20001), self, ""},
		"HostName":   {"the gateway asks no name service", at("localhost", 20001), self, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cp := &v1alpha1.ControlPlane{Status: v1alpha1.ControlPlaneStatus{Endpoint: tc.endpoint}}
			got, ok := (&Routes{Self: tc.self}).backend(cp)
			if ok != (tc.want != "") || ok && got.String() != tc.want {
				t.Errorf("%s: got %s, %v; want %q", tc.reason, got, ok, tc.want)
			}
			cp.Spec.CopyOf = "0a1b2c3d-0000-4000-8000-000000000001"
			if got, ok := (&Routes{Self: tc.self}).backend(cp); ok {
				t.Errorf("a copy is dialled at %s", got)
			}
		})
	}
}

// TestRoutesFollowStatuses: a status is all that a gateway needs, so that each replica has the routes of all.
func TestRoutesFollowStatuses(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := controlplanetest.Namespace(t, c)
	g, addr := start(t, Config{})
	file := filepath.Join(t.TempDir(), "routes.json")
	table, err := OpenTable(file)
	if err != nil {
		t.Fatal(err)
	}
	process := follow(g, file, slog.New(slog.DiscardHandler))
	routes := &Routes{Table: table, Client: c, Name: func(of types.NamespacedName) string { return of.Name + ".org.test" }}
	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.3"}}
	if err := c.Create(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	look := func() {
		t.Helper()
		if _, err := routes.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(cp)}); err != nil {
			t.Fatal(err)
		}
		process.Look()
	}
	serve := func(endpoint *v1alpha1.ControlPlaneEndpoint) {
		t.Helper()
		cp.Status.Endpoint = endpoint
		if err := c.Status().Update(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		look()
	}
	look()
	expectAlert(t, say(t, addr, helloOf(t, "a.org.test")), alertUnrecognizedName)

	to := backend(t, echo).(*net.TCPAddr)
	endpoint := &v1alpha1.ControlPlaneEndpoint{ServerName: "victim.org.test", Gateway: addr, Address: to.IP.String(), Port: int32(to.Port)}
	serve(endpoint)
	open := dial(t, addr)
	mustExchange(t, open, helloOf(t, "a.org.test"))
	// A status gives its own control plane an address and no other one.
	expectAlert(t, say(t, addr, helloOf(t, "victim.org.test")), alertUnrecognizedName)

	serve(nil)
	if got := rest(t, open); len(got) != 0 {
		t.Errorf("got %q, want the end", got)
	}
	expectAlert(t, say(t, addr, helloOf(t, "a.org.test")), alertUnrecognizedName)

	serve(endpoint)
	mustExchange(t, dial(t, addr), helloOf(t, "a.org.test"))

	// What went while KQueen did not run, and a table that was lost.
	for _, restored := range []func() error{
		func() error {
			return table.Set("gone.org.test", Route{Backend: netip.MustParseAddrPort("127.0.0.1:1")})
		},
		func() error { return os.Remove(file) },
	} {
		if err := restored(); err != nil {
			t.Fatal(err)
		}
		if err := routes.Restore(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		process.Look()
		if d := cmp.Diff([]string{"a.org.test"}, g.hosts()); d != "" {
			t.Errorf("routes after a start: -want +got\n%s", d)
		}
	}
	mustExchange(t, dial(t, addr), helloOf(t, "a.org.test"))
	if err := c.Delete(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	look()
	expectAlert(t, say(t, addr, helloOf(t, "a.org.test")), alertUnrecognizedName)
}
