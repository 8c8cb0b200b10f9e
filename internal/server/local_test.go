package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// openSocket serves the same handler on a local socket.
func (h *fixture) openSocket(t *testing.T) {
	t.Helper()
	folder, err := os.MkdirTemp("", "kq") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	h.socket = filepath.Join(folder, "api.sock")
	l, err := socket.Listen(h.socket, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: answered.recorded(h.api), ConnContext: socket.With}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); _ = os.RemoveAll(folder) })
}

// clientOf is how a caller calls, and urlOf where.
func (h *fixture) clientOf(who string) *http.Client {
	if who != local {
		return h.Client()
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", h.socket)
	}}}
}

func (h *fixture) urlOf(who string) string {
	if who != local {
		return h.URL
	}
	return "http://" + rest.LocalHost
}

// TestOwnerOfTheMachine wants the owner's call and a member's to take the same path: same answer, same refusal, both in
// the audit log.
func TestOwnerOfTheMachine(t *testing.T) {
	h := newFixture(t)
	const clusters = "/api/v1/organizations/blue/clusters"
	for who, name := range map[string]string{local: "by-owner", "operator": "by-member"} {
		body := `{"name":"` + name + `","spec":{"version":"v1.36.3"}}`
		if a := h.do(t.Context(), t, who, "POST", clusters, body); a.status != http.StatusCreated || a.object(t).Name != name {
			t.Errorf("%s: %d %s", who, a.status, a.body)
		}
		a := h.do(t.Context(), t, who, "PATCH", clusters+"/"+name, `{}`, "Content-Type", "application/merge-patch+json")
		if a.status != http.StatusPreconditionRequired || a.header.Get("X-Request-ID") == "" {
			t.Errorf("%s: %d %s", who, a.status, a.body)
		}
		page, err := h.audit.List(t.Context(), audit.Filter{Organization: "blue", ObjectName: name, Action: "create", Limit: 10})
		if err != nil || len(page.Records) != 1 || page.Records[0].Outcome != audit.Succeeded {
			t.Fatalf("%s: %+v, %v", who, page, err)
		}
		r := page.Records[0]
		if owner := r.Actor == (audit.Actor{Kind: audit.Owner, Name: chain.OwnerName}) && strings.HasPrefix(r.Source, "uid="); owner != (who == local) {
			t.Errorf("%s: %+v", who, r)
		}
	}
}

// TestLocalSocketTakesNoBrowser sends what a page of another site could send through a proxy that leads to the socket.
func TestLocalSocketTakesNoBrowser(t *testing.T) {
	h := newFixture(t)
	for name, header := range map[string][2]string{
		"origin": {"Origin", "https://evil.example.com"}, "site": {"Sec-Fetch-Site", "cross-site"}, "cookie": {"Cookie", chain.SessionCookie + "=x"},
		"token": {"Authorization", "Bearer " + h.tokens["viewer"]}, "impersonation": {"Impersonate-User", "admin"},
	} {
		t.Run(name, func(t *testing.T) {
			a := h.do(t.Context(), t, local, "GET", "/api/v1/me", "", header[0], header[1])
			if a.status != http.StatusBadRequest || a.problem(t).Errors[0].Pointer != ":"+header[0] {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/me", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := h.clientOf(local).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("another host: %d", resp.StatusCode)
	}
	if a := h.do(t.Context(), t, local, "GET", "/api/v1/me", ""); a.status != http.StatusOK || !strings.Contains(string(a.body), chain.OwnerName) {
		t.Errorf("%d %s", a.status, a.body)
	}
}
