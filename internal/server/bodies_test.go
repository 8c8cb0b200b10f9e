package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
)

// operation is one of the document, as the matrix asks it.
type operation struct {
	id, method, path, body string
	headers                []string
}

// operations are all of the document.
func operations(t *testing.T, h *fixture) []operation {
	t.Helper()
	var all []operation
	known := matrix()
	for path, item := range h.api.OpenAPI().Paths {
		for _, o := range chain.OperationsOf(item) {
			r := known[o.OperationID]
			body := strings.ReplaceAll(r.body, "2999-01-01T00:00:00Z", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
			if strings.Contains(body, "%d") {
				body = fmt.Sprintf(body, len(all))
			}
			headers := []string{"If-Match", "*"}
			if o.Method == http.MethodPatch {
				headers = append(headers, "Content-Type", "application/merge-patch+json")
			}
			if body != "" && body[0] != '{' {
				headers = append(headers, "Content-Type", "application/x-www-form-urlencoded")
			}
			all = append(all, operation{o.OperationID, o.Method, path, body, headers})
		}
	}
	return all
}

// at is the path with names of what is there.
func (o operation) at(change map[string]string) string {
	values := map[string]string{"organization": "blue", "release": "v1.36.3", "credential": "kqx", "member": "user:some%2Fbody"}
	for _, k := range rest.Kinds() {
		if values[k.Parameter()] == "" {
			values[k.Parameter()] = "thing"
		}
	}
	maps.Copy(values, change)
	path := o.path
	for name, value := range values {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return path
}

// parameters are the names in a path.
func (o operation) parameters() []string {
	var all []string
	for _, part := range strings.Split(o.path, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		all = append(all, name)
	}
	return all
}

// TestNamesThatNothingHas: an operation that is asked about a name that leads elsewhere answers as for any other that is
// not there, whatever it is about.
func TestNamesThatNothingHas(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	for _, o := range operations(t, h) {
		for _, parameter := range o.parameters() {
			for _, name := range []string{"x%2fy", "..%2Fx", "%2e%2e%2f", "a%25b"} {
				at := o.at(map[string]string{parameter: name})
				a := h.do(t.Context(), t, "admin", o.method, at, o.body, o.headers...)
				if a.status >= http.StatusInternalServerError {
					t.Errorf("%s %s (%s): %d %s", o.method, at, o.id, a.status, a.body)
				}
			}
		}
	}
	for _, at := range []string{"organizations/blue/machines/x%2fy/join", "organizations/blue/clusters/x%2fy/credential"} {
		if a := h.do(t.Context(), t, "admin", "POST", rest.Prefix+"/"+at, "{}"); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", at, a.status, a.body)
		}
	}
}

// freeKeys are the operations whose callers choose the keys of the body.
var freeKeys = []string{"setProvisionerCredentials", "setClusterCredentials"}

// TestBodiesAreExact: what is in a body twice, or in other letters than the document has, is refused and not taken for
// what it resembles.
func TestBodiesAreExact(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	asked := 0
	for _, o := range operations(t, h) {
		var keys map[string]json.RawMessage
		if o.body == "" || json.Unmarshal([]byte(o.body), &keys) != nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			asked++
			twice := fmt.Sprintf(`{%q:%s,%s`, key, keys[key], o.body[1:])
			if a := h.do(t.Context(), t, "admin", o.method, o.at(nil), twice, o.headers...); a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "twice") {
				t.Errorf("%s with %s: %d %s", o.id, twice, a.status, a.body)
			}
			other := strings.Replace(o.body, `"`+key+`"`, `"`+strings.ToUpper(key[:1])+key[1:]+`"`, 1)
			if slices.Contains(freeKeys, o.id) {
				continue
			}
			if a := h.do(t.Context(), t, "admin", o.method, o.at(nil), other, o.headers...); a.status != http.StatusUnprocessableEntity {
				t.Errorf("%s with %s: %d %s", o.id, other, a.status, a.body)
			}
		}
	}
	if asked < 40 {
		t.Errorf("only %d keys were tried", asked)
	}
	// At every depth.
	const clusters = rest.Prefix + "/organizations/blue/clusters"
	for body, want := range map[string]int{
		`{"name":"twice","spec":{"version":"v1.36.3","version":"v1.36.3"}}`:                                         http.StatusBadRequest,
		`{"name":"twice","spec":{"version":"v1.36.3","network":{"podCIDR":"10.1.0.0/16","podCIDR":"10.2.0.0/16"}}}`: http.StatusBadRequest,
		`{"name":"letters","spec":{"Version":"v1.36.3"}}`:                                                           http.StatusUnprocessableEntity,
		`{"name":"letters","spec":{"version":"v1.36.3","network":{"podcidr":"10.1.0.0/16"}}}`:                       http.StatusUnprocessableEntity,
	} {
		if a := h.do(t.Context(), t, "operator", "POST", clusters, body); a.status != want {
			t.Errorf("%s: %d, want %d: %s", body, a.status, want, a.body)
		}
	}
	patched := h.do(t.Context(), t, "operator", "PATCH", clusters+"/thing", `{"labels":{"a":"1","a":"2"}}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
	if patched.status != http.StatusBadRequest {
		t.Errorf("a patch that says a label twice: %d %s", patched.status, patched.body)
	}
}
