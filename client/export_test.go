package client

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/rest"
)

// TestExport wants an export to be handed on as it is, and a refusal to be a problem.
func TestExport(t *testing.T) {
	a := newAuthority(t, "kqueen-api")
	server := serve(t, a.chain(t, []*authority{a}), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/audit/export" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"status":403,"code":"forbidden","detail":"not you"}`))
			return
		}
		_, _ = w.Write([]byte("{\"record\":{}}\n{\"seal\":{}}\n"))
	})
	c, err := New(Config{Connection: Connection{Server: server.URL, CA: a.pem()}, MaxAnswer: 8})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := c.ExportAudit(t.Context(), "", &out); err != nil || out.String() != "{\"record\":{}}\n{\"seal\":{}}\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	c.config.MaxAnswer = defaultMaxAnswer
	err = c.ExportAudit(t.Context(), "blue", &out)
	if p, ok := errors.AsType[*rest.Problem](err); !ok || p.Code != "forbidden" {
		t.Errorf("got %v", err)
	}
}
