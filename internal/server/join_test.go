package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// TestJoinToken hands out what a machine joins with to who may change the machine, and writes the token down nowhere.
func TestJoinToken(t *testing.T) {
	h := newFixture(t)
	meta := metav1.ObjectMeta{Namespace: "org-blue", Name: "joins"}
	c := &v1alpha1.Cluster{ObjectMeta: meta, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
	m := &v1alpha1.Machine{ObjectMeta: meta, Spec: v1alpha1.MachineSpec{ClusterName: "joins", Version: "v1.36.3", Provider: v1alpha1.ProviderManual}}
	if err := h.plane.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := h.plane.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	const at = "/api/v1/organizations/blue/machines/joins/join"
	refused := func(why string) {
		t.Helper()
		a := h.do(t.Context(), t, "operator", "POST", at, "")
		if a.status != http.StatusConflict || !strings.Contains(a.problem(t).Detail, why) {
			t.Errorf("want 409 because %q, got %d %s", why, a.status, a.body)
		}
	}
	refused("cannot be joined yet")
	c.Status.Join = &v1alpha1.JoinEndpoint{Server: "10.9.0.1:20000", CA: controlplanetest.Config(t).CAData}
	if err := h.plane.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	refused("is not there yet")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.JoinSecret()},
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey: []byte("abcdef"), bootstrapapi.BootstrapTokenSecretKey: []byte("0123456789abcdef"),
			bootstrapapi.BootstrapTokenExpirationKey: []byte(time.Now().Add(time.Hour).UTC().Format(time.RFC3339)),
		},
	}
	if err := h.plane.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	var got rest.JoinToken
	a := h.do(t.Context(), t, "operator", "POST", at, "")
	if err := json.Unmarshal(a.body, &got); err != nil || a.status != http.StatusOK || got.Token != "abcdef.0123456789abcdef" || got.Server != "10.9.0.1:20000" ||
		got.Cluster != "joins" || len(got.CACertHashes) == 0 || time.Until(got.Expires) <= 0 {
		t.Errorf("got %d %s", a.status, a.body)
	}
	for who, want := range map[string]int{"developer": 403, "viewer": 403, "red": 404, "nobody": 404} {
		if a := h.do(t.Context(), t, who, "POST", at, ""); a.status != want || strings.Contains(string(a.body), "0123456789abcdef") {
			t.Errorf("%s: %d %s", who, a.status, a.body)
		}
	}
	now := metav1.Now()
	m.Status.JoinTime = &now
	if err := h.plane.Status().Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	refused("has joined already")
	page, err := h.audit.List(t.Context(), audit.Filter{Organization: "blue", Action: "create-join-token"})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[audit.Outcome]int{}
	for i := range page.Records {
		r := &page.Records[i]
		outcomes[r.Outcome]++
		said, err := json.Marshal(r)
		if err != nil || strings.Contains(string(said), "0123456789abcdef") || r.Object.Kind != "Machine" || r.Object.Name != "joins" {
			t.Errorf("the audit log says %s, %v", said, err)
		}
	}
	if outcomes[audit.Succeeded] != 1 || outcomes[audit.Failed] != 3 || outcomes[audit.Denied] < 2 {
		t.Errorf("the audit log has %v", outcomes)
	}
}
