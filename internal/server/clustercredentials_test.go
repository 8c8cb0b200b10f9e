package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// someAdopted are clusters of the provisioner imported. They take what does not begin with "wrong".
type someAdopted struct{}

func (someAdopted) Adopted(_ context.Context, c *v1alpha1.Cluster) (bool, error) {
	return c.Spec.ProvisionerRef.Name == "imported", nil
}

func (someAdopted) CheckCredentials(_ context.Context, _ *v1alpha1.Cluster, values map[string][]byte) (map[string][]byte, error) {
	switch given := string(values["kubeconfig"]); {
	case given == "exec":
		return nil, invalid.New("kubeconfig.users[0].user.exec", "no program is run")
	case given == "":
		return nil, invalid.New("credentials.kubeconfig", "is not set")
	case strings.HasPrefix(given, "wrong"):
		return values, errors.New("the cluster refuses the credentials")
	}
	return values, nil
}

// adopt makes an adopted cluster of the organization blue.
func (h *fixture) adopt(t *testing.T) *v1alpha1.Cluster {
	t.Helper()
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org-blue", Name: "adopted"}}
	c.Spec.ProvisionerRef = v1alpha1.ProvisionerReference{Name: "imported", Namespace: v1alpha1.SystemNamespace}
	if err := h.plane.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClusterCredentials: what the cluster refuses is not set unasked, what was set belongs to the cluster, and is never shown.
func TestClusterCredentials(t *testing.T) {
	h := newFixture(t)
	c := h.adopt(t)
	const at, marker = "/api/v1/organizations/blue/clusters/adopted/credentials", "MARKER-of-a-secret"
	key := client.ObjectKey{Namespace: c.Namespace, Name: c.CredentialsSecret()}
	kept := func(want string) {
		t.Helper()
		secret := &corev1.Secret{}
		err := h.plane.Get(t.Context(), key, secret)
		if want == "" && apierrors.IsNotFound(err) {
			return
		}
		if err != nil || string(secret.Data["kubeconfig"]) != want || !metav1.IsControlledBy(secret, c) || secret.Type != v1alpha1.SecretTypeClusterCredentials {
			t.Errorf("kept is %q, want %q (%v)", secret.Data["kubeconfig"], want, err)
		}
	}
	put := func(query, value string, want int) answer {
		t.Helper()
		body, err := json.Marshal(map[string]string{"kubeconfig": value})
		if err != nil {
			t.Fatal(err)
		}
		a := h.do(t.Context(), t, "operator", "PUT", at+query, string(body))
		if a.status != want || bytes.Contains(a.body, []byte(marker)) {
			t.Errorf("set%s: %d, want %d: %s", query, a.status, want, a.body)
		}
		return a
	}
	put("?dryRun=true", marker, 204)
	kept("")
	put("", marker+"1", 204)
	kept(marker + "1")
	a := put("", "wrong"+marker, 422)
	if said := a.problem(t).Detail; !strings.Contains(said, "refuses") || !strings.Contains(said, "force") {
		t.Errorf("it says %q", said)
	}
	kept(marker + "1")
	put("?force=true", "wrong"+marker, 204)
	kept("wrong" + marker)
	put("", marker+strings.Repeat("x", 100<<10), 204) // longer than a credential of a provisioner
	a = put("?force=true", "exec", 422)
	if got := a.problem(t).Errors; !cmp.Equal(got, []rest.FieldError{{Pointer: "/kubeconfig", Detail: "users[0].user.exec: no program is run"}}) {
		t.Errorf("got %+v", got)
	}
	put("", strings.Repeat("x", 300<<10), 422)
	if a := h.do(t.Context(), t, "operator", "PUT", at, `{"other":"x"}`); a.status != 422 || !cmp.Equal(a.problem(t).Errors, []rest.FieldError{{Pointer: "/kubeconfig", Detail: "is not set"}}) {
		t.Errorf("another key: %d %s", a.status, a.body)
	}
	var keys rest.CredentialKeys
	a = h.do(t.Context(), t, "viewer", "GET", at, "")
	if err := json.Unmarshal(a.body, &keys); err != nil || !cmp.Equal(keys.Keys, []string{"kubeconfig"}) || keys.SetAt == nil {
		t.Errorf("told is %d %s", a.status, a.body)
	}
	for _, path := range []string{at, "/api/v1/organizations/blue/clusters/adopted", "/api/v1/organizations/blue/clusters", "/api/v1/organizations/blue/audit", "/api/v1/organizations/blue/events"} {
		if a := h.do(t.Context(), t, "admin", "GET", path, ""); a.status != http.StatusOK || bytes.Contains(a.body, []byte(marker)) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for range 2 {
		if a := h.do(t.Context(), t, "operator", "DELETE", at, ""); a.status != http.StatusNoContent {
			t.Errorf("remove: %d %s", a.status, a.body)
		}
	}
	kept("")
	page, err := h.audit.List(t.Context(), audit.Filter{Organization: "blue", Action: "set-credentials", OldestFirst: true, Outcome: audit.Succeeded})
	if err != nil || len(page.Records) < 2 || page.Records[1].Object.Kind != "Cluster" || page.Records[1].Object.UID != string(c.UID) || page.Records[1].Detail["keys"] != "kubeconfig" {
		t.Errorf("the records are %+v (%v)", page.Records, err)
	}
}

// TestClusterCredentialsAttacks: neither viewers nor other organizations set them.
func TestClusterCredentialsAttacks(t *testing.T) {
	h := newFixture(t)
	h.adopt(t)
	for _, tc := range []struct {
		who, path string
		want      int
	}{
		{"red", "/api/v1/organizations/blue/clusters/adopted/credentials", 404},
		{"red", "/api/v1/organizations/red/clusters/adopted/credentials", 404},
		{"viewer", "/api/v1/organizations/blue/clusters/adopted/credentials", 403},
		{"operator", "/api/v1/organizations/blue/clusters/..%2Fadopted/credentials", 404},
	} {
		for method, body := range map[string]string{"PUT": `{"kubeconfig":"x"}`, "DELETE": ""} {
			if a := h.do(t.Context(), t, tc.who, method, tc.path, body); a.status != tc.want {
				t.Errorf("%s %s as %s: %d, want %d: %s", method, tc.path, tc.who, a.status, tc.want, a.body)
			}
		}
	}
}
