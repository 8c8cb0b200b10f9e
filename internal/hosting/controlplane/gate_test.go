package controlplane

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// TestGate: the API server calls the gate, with a certificate that etcd does not take, and the gate calls etcd as the control
// plane's user, under its organization's quota, which it follows.
func TestGate(t *testing.T) {
	p, _, _ := inOrganization(t)
	gate, err := gateSigner()
	if err != nil {
		t.Fatal(err)
	}
	store, err := storeSigner()
	if err != nil {
		t.Fatal(err)
	}
	user := "kqueen-" + p.uid
	server := p.workloads[p.uid]
	if !slices.Contains(server.Components[0].Args, "--etcd-servers=https://127.0.0.1:2380") || !bytes.Equal(server.Files[fileStoreCA].Data, gate["ca.crt"]) {
		t.Errorf("the API server does not call the gate: %v", server.Components[0].Args)
	}
	for name, tc := range map[string]struct {
		certificate []byte
		of, not     []byte
	}{
		"the API server's": {server.Files["etcd-client.crt"].Data, gate["ca.crt"], store["ca.crt"]},
		"the gate's":       {p.gate[p.uid].Certificate, store["ca.crt"], gate["ca.crt"]},
	} {
		if got := signed(t, tc.certificate, tc.of); got != user {
			t.Errorf("%s certificate is that of %q, want %q", name, got, user)
		}
		if got := signed(t, tc.certificate, tc.not); got != "" {
			t.Errorf("%s certificate is taken on the other side, too", name)
		}
	}
	namespace := p.key.Namespace
	if d := cmp.Diff(map[string]int64{namespace: 1 << 20}, p.quotas); d != "" {
		t.Errorf("quotas: -want +got\n%s", d)
	}
	o := &v1alpha1.Organization{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Name: namespace[len(v1alpha1.NamespacePrefix):]}, o); err != nil {
		t.Fatal(err)
	}
	follow := func(want map[string]int64) {
		t.Helper()
		gates := lines{p.outside, &operatortest.Injector{}}.gates()
		if err := followQuota(t.Context(), p.client, gates, o.Name); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, p.quotas); d != "" {
			t.Errorf("quotas: -want +got\n%s", d)
		}
	}
	o.Spec.Quota.Store = ptr.To(resource.MustParse("3Ki"))
	if err := p.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	follow(map[string]int64{namespace: 3 << 10})
	o.Spec.Quota = nil
	if err := p.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	follow(map[string]int64{})
}

// comingGates are those that do not stand yet.
type comingGates struct{ FixedGates }

func (comingGates) Of(context.Context, *Store) (*Gate, error) { return nil, ErrGateNotReady }

// TestGateThatComesLater: until a gate stands nothing of a control plane calls the store past it, and none goes without being shut out.
func TestGateThatComesLater(t *testing.T) {
	r, cp, k := &reconciler{Config{Gates: comingGates{}}}, &v1alpha1.ControlPlane{}, datastore.AdminKeyspace()
	store := &Store{Endpoints: []string{"https://127.0.0.1:1"}}
	for name, try := range map[string]func() error{
		"its keys":       func() error { _, err := r.clientSigners(t.Context(), store); return err },
		"its components": func() error { _, err := r.storeAccess(t.Context(), store, k); return err },
		"its keyspace":   func() error { _, err := r.letThrough(t.Context(), cp, store, k); return err },
		"its removal":    func() error { return r.shutOut(t.Context(), store, k) },
	} {
		if err := try(); !errors.Is(err, ErrGateNotReady) {
			t.Errorf("%s: %v, want that the gate is awaited", name, err)
		}
	}
}

// signed is who a client certificate is for, when that authority has signed it.
func signed(t *testing.T, certificate, authority []byte) string {
	t.Helper()
	block, _ := pem.Decode(certificate)
	if block == nil {
		t.Fatal("there is no certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	if _, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return ""
	}
	return c.Subject.CommonName
}
