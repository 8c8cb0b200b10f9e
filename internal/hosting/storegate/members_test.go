package storegate

import (
	"crypto/tls"
	"log/slog"
	"net"
	"testing"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// TestMembers: of several members the first that answers is spoken to, be it named or numbered.
func TestMembers(t *testing.T) {
	_, port, err := net.SplitHostPort(env.address)
	if err != nil {
		t.Fatal(err)
	}
	k := keyspace(t, "aaaaaaaa-9601")
	if err := env.store.Ensure(deadline(t), k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	credential, err := tls.X509KeyPair(issued(t, env.keys, k.User()))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		members []string
		reached bool
	}{
		"the second one":         {[]string{"127.0.0.1:1", env.address}, true},
		"by a name":              {[]string{net.JoinHostPort("localhost", port)}, true},
		"none that would answer": {[]string{"127.0.0.1:1"}, false},
	} {
		of, err := newTenant(t.Context(), store{tc.members, pool(env.keys["ca.crt"])}, k, newGroup(), shared{make(chan struct{}, 1), newSpace()}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		of.credential.Store(&credential)
		if answer, err := of.askStore(); (err == nil) != tc.reached {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
		of.close()
	}
	if err := env.store.Remove(deadline(t), k); err != nil {
		t.Error(err)
	}
}
