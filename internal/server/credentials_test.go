package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// keys returns what is told of a provisioner's credentials.
func (h *fixture) keys(t *testing.T, who string) rest.CredentialKeys {
	t.Helper()
	a := h.do(t.Context(), t, who, "GET", "/api/v1/organizations/blue/provisioners/thing/credentials", "")
	var keys rest.CredentialKeys
	if err := json.Unmarshal(a.body, &keys); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return keys
}

// TestCredentials: credentials go in, belong to the provisioner, and do not come out.
func TestCredentials(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	const at, marker = "/api/v1/organizations/blue/provisioners/thing/credentials", "MARKER-of-a-secret"
	p := &v1alpha1.Provisioner{}
	if err := h.plane.Get(t.Context(), client.ObjectKey{Namespace: "org-blue", Name: "thing"}, p); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "org-blue", Name: p.CredentialsSecret()}
	put := func(who, query, body string, want int) {
		t.Helper()
		a := h.do(t.Context(), t, who, "PUT", at+query, body)
		if a.status != want || bytes.Contains(a.body, []byte(marker)) {
			t.Errorf("set: %d, want %d: %s", a.status, want, a.body)
		}
	}
	put("owner", "?dryRun=true", `{"token":"`+marker+`"}`, 204)
	if err := h.plane.Get(t.Context(), key, secret); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a dry run made it: %v", err)
	}
	put("owner", "", `{"token":"`+marker+`","user":"`+marker+`"}`, 204)
	put("owner", "", `{"token":"`+marker+`2"}`, 204)
	if err := h.plane.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	owners := secret.OwnerReferences
	if string(secret.Data["token"]) != marker+"2" || len(secret.Data) != 1 || len(owners) != 1 || owners[0].UID != p.UID || secret.Type != v1alpha1.SecretTypeProvisionerCredentials {
		t.Errorf("what is kept is %v of %v", secret.Type, owners)
	}
	if got := h.keys(t, "viewer"); !cmp.Equal(got.Keys, []string{"token"}) || got.SetAt == nil {
		t.Errorf("what is told of it is %+v", got)
	}
	for _, bad := range []string{
		`{"token":["` + marker + `"]}`, `{"token":{"x":"` + marker + `"}}`, `"` + marker + `"`, `["` + marker + `"]`, `{"token":""}`, `{}`, marker, `{"` + "a b" + `":"` + marker + `"}`,
	} {
		a := h.do(t.Context(), t, "owner", "PUT", at, bad)
		if a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest || bytes.Contains(a.body, []byte(marker)) {
			t.Errorf("set %s: %d %s", bad, a.status, a.body)
		}
	}
	for _, path := range []string{
		at, "/api/v1/organizations/blue/provisioners/thing", "/api/v1/organizations/blue/provisioners", "/api/v1/provisioners",
		"/api/v1/organizations/blue/audit", "/api/v1/audit/export", "/api/v1/organizations/blue/events",
	} {
		if a := h.do(t.Context(), t, "admin", "GET", path, ""); a.status != http.StatusOK || bytes.Contains(a.body, []byte(marker)) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for range 2 {
		if a := h.do(t.Context(), t, "owner", "DELETE", at, ""); a.status != http.StatusNoContent {
			t.Errorf("remove: %d %s", a.status, a.body)
		}
	}
	if got := h.keys(t, "viewer"); len(got.Keys) > 0 || got.SetAt != nil {
		t.Errorf("after the end, what is told is %+v", got)
	}
	page, err := h.audit.List(t.Context(), audit.Filter{Organization: "blue", Action: "set-credentials", OldestFirst: true, Outcome: audit.Succeeded})
	if err != nil || len(page.Records) != 3 {
		t.Fatalf("the log has %d records (%v)", len(page.Records), err)
	}
	if r := page.Records[1]; r.Detail["keys"] != "token,user" || r.Object.Kind != "Provisioner" || r.Object.Name != "thing" || r.Actor.Name != "owner" || r.After != "" {
		t.Errorf("the record is %+v", r)
	}
}

// TestCredentialsAttacks: neither those of another organization nor those of all.
func TestCredentialsAttacks(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	for _, tc := range []struct {
		who, path string
		want      int
	}{
		{"red", "/api/v1/organizations/blue/provisioners/thing/credentials", 404},
		{"red", "/api/v1/organizations/red/provisioners/thing/credentials", 404},
		{"developer", "/api/v1/organizations/blue/provisioners/thing/credentials", 403},
		{"operator", "/api/v1/organizations/blue/provisioners/thing/credentials", 403},
		{"owner", "/api/v1/organizations/blue/provisioners/hosted/credentials", 404},
		{"admin", "/api/v1/organizations/blue/provisioners/hosted/credentials", 404},
		{"owner", "/api/v1/organizations/kqueen-system/provisioners/hosted/credentials", 404},
		{"owner", "/api/v1/organizations/blue/provisioners/..%2F..%2Fred/credentials", 404},
	} {
		for method, body := range map[string]string{"PUT": `{"token":"x"}`, "DELETE": ""} {
			if a := h.do(t.Context(), t, tc.who, method, tc.path, body); a.status != tc.want {
				t.Errorf("%s %s as %s: %d, want %d: %s", method, tc.path, tc.who, a.status, tc.want, a.body)
			}
		}
	}
	list := &corev1.SecretList{}
	if err := h.plane.List(t.Context(), list, client.MatchingFields{"type": string(v1alpha1.SecretTypeProvisionerCredentials)}); err != nil || len(list.Items) > 0 {
		t.Errorf("%d Secrets were made (%v)", len(list.Items), err)
	}
}

// TestBackupStoreCredentials: those for an S3 server are for administrators, are known by their keys, and do not come out.
func TestBackupStoreCredentials(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	const at, marker = "/api/v1/backupstores/thing/credentials", "MARKER-of-a-secret"
	s := &v1alpha1.BackupStore{}
	if err := h.plane.Get(t.Context(), client.ObjectKey{Name: "thing"}, s); err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]int{
		`{"accessKeyID":"a"}`: 422, `{"secretAccessKey":"` + marker + `"}`: 422, `{}`: 422, `{"accessKeyID":"a","secretAccessKey":""}`: 422,
		`{"accessKeyID":"a","secretAccessKey":"` + marker + `","other":"` + marker + `"}`: 422,
		`{"accessKeyID":"a","secretAccessKey":"` + marker + `"}`:                          204,
	} {
		if a := h.do(t.Context(), t, "admin", "PUT", at, body); a.status != want || bytes.Contains(a.body, []byte(marker)) {
			t.Errorf("%s: %d, want %d: %s", body, a.status, want, a.body)
		}
	}
	if a := h.do(t.Context(), t, "admin", "PUT", at, `{"accessKeyID":"b","secretAccessKey":"`+marker+`","sessionToken":"`+marker+`"}`); a.status != 204 {
		t.Fatalf("replace: %d %s", a.status, a.body)
	}
	secret := &corev1.Secret{}
	if err := h.plane.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: s.CredentialsSecret()}, secret); err != nil {
		t.Fatal(err)
	}
	if string(secret.Data[v1alpha1.BackupStoreAccessKeyID]) != "b" || secret.OwnerReferences[0].UID != s.UID || secret.Type != v1alpha1.SecretTypeBackupStoreCredentials {
		t.Errorf("what is kept is %v of %v", secret.Type, secret.OwnerReferences)
	}
	for _, path := range []string{at, "/api/v1/backupstores/thing", "/api/v1/backupstores", "/api/v1/audit/export"} {
		if a := h.do(t.Context(), t, "admin", "GET", path, ""); a.status != http.StatusOK || bytes.Contains(a.body, []byte(marker)) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := h.do(t.Context(), t, "owner", "GET", at, ""); a.status != http.StatusForbidden {
		t.Errorf("as the owner of an organization: %d %s", a.status, a.body)
	}
	directory := &v1alpha1.BackupStore{}
	directory.Name, directory.Spec.Directory = "directory", "/backups"
	if err := h.plane.Create(t.Context(), directory); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.plane.Delete(context.WithoutCancel(t.Context()), directory) })
	if a := h.do(t.Context(), t, "admin", "PUT", "/api/v1/backupstores/directory/credentials", `{"accessKeyID":"a","secretAccessKey":"b"}`); a.status != http.StatusConflict {
		t.Errorf("of a directory: %d %s", a.status, a.body)
	}
}
