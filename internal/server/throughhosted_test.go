package server

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	apirest "kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/clusterapi"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// hostedCluster has a hosted cluster of blue, whose API server notes with what it is called.
func (h *fixture) hostedCluster(t *testing.T) (called *atomic.Pointer[http.Header]) {
	t.Helper()
	called = &atomic.Pointer[http.Header]{}
	far := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called.Store(&r.Header)
		if r.Header.Get("Upgrade") == "" {
			_, _ = w.Write([]byte("{}"))
			return
		}
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(both, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: %s\r\n\r\n", r.Header.Get("Sec-WebSocket-Protocol"))
		_ = both.Flush()
	}))
	t.Cleanup(far.Close)
	server, err := url.Parse(far.URL)
	if err != nil {
		t.Fatal(err)
	}
	h.hosted = func() (clusterapi.Way, error) {
		return clusterapi.Way{Server: server, Transport: far.Client().Transport, TakesCredentials: true}, nil
	}
	h.cluster(t, "blue", "hosted")
	return called
}

// credentialFor is a credential of a caller's for the hosted cluster.
func (h *fixture) credentialFor(t *testing.T, who string) string {
	t.Helper()
	var credential apirest.ClusterCredential
	a := h.do(t.Context(), t, who, "POST", "/api/v1/organizations/blue/clusters/hosted/credential", "{}")
	if err := json.Unmarshal(a.body, &credential); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %s", who, a.status, a.body)
	}
	return credential.Token
}

// session begins a WebSocket to the hosted cluster as a browser does.
func (h *fixture) session(t *testing.T, protocols, cookies string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /clusters/blue/hosted/api/v1/namespaces/a/pods/b/exec?command=sh HTTP/1.1\r\nHost: %s\r\nOrigin: https://evil.example\r\nCookie: %s\r\n"+
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: %s\r\n\r\n", h.Listener.Addr(), cookies, protocols)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer
}

// TestEnterHosted: a member enters a hosted cluster through KQueen with the credential for it and nothing else.
func TestEnterHosted(t *testing.T) {
	h := newFixture(t)
	called := h.hostedCluster(t)
	token := h.credentialFor(t, "viewer")
	const pods = apirest.ClustersPath + "/blue/hosted/api/v1/pods"
	for name, token := range map[string]string{"a session": h.tokens["owner"], "a credential for another cluster": func() string { h.adopt(t); return h.enter(t, "owner").Token }(), "nothing": ""} {
		a := h.do(t.Context(), t, "", "GET", pods, "", "Authorization", "Bearer "+token, "Cookie", "kqueen="+h.tokens["owner"])
		if a.status != http.StatusUnauthorized || called.Load() != nil {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	a := h.do(t.Context(), t, "", "GET", pods, "", "Authorization", "Bearer "+token, "Cookie", "kqueen="+h.tokens["owner"])
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	want := http.Header{"Authorization": {"Bearer " + token}, "Accept-Encoding": {"gzip"}, "User-Agent": {"Go-http-client/1.1"}}
	if diff := cmp.Diff(want, *called.Load()); diff != "" {
		t.Errorf("the cluster got (-want +got):\n%s", diff)
	}
	h.hosted = func() (clusterapi.Way, error) { return clusterapi.Way{}, errors.New("it has no kubeconfig") }
	if a := h.do(t.Context(), t, "", "GET", pods, "", "Authorization", "Bearer "+token); a.status != http.StatusServiceUnavailable {
		t.Errorf("of a cluster that is not there yet: %d %s", a.status, a.body)
	}
}

// TestEnterByBrowser: a browser enters by a credential in a subprotocol, which neither the cluster, nor the log, nor the audit log sees. No
// cookie lets a page in, whichever has it sent.
func TestEnterByBrowser(t *testing.T) {
	h := newFixture(t)
	called := h.hostedCluster(t)
	token := h.credentialFor(t, "developer")
	brought := base64.RawURLEncoding.EncodeToString([]byte(token))
	const bearer, channel = "base64url.bearer.authorization.k8s.io.", "v5.channel.k8s.io"
	cookies := "kqueen=" + h.tokens["owner"] + "; __Host-kqueen=" + h.tokens["owner"] + "; kqueen_session=" + h.tokens["owner"] + "; token=" + token
	if answer := h.session(t, channel, cookies); answer.StatusCode != http.StatusUnauthorized || called.Load() != nil {
		t.Errorf("with cookies alone: %s", answer.Status)
	}
	if answer := h.session(t, bearer+brought, "a=b"); answer.StatusCode != http.StatusBadRequest || called.Load() != nil {
		t.Errorf("without another protocol: %s", answer.Status)
	}
	answer := h.session(t, channel+", "+bearer+brought, cookies)
	if answer.StatusCode != http.StatusSwitchingProtocols || answer.Header.Get("Sec-WebSocket-Protocol") != channel {
		t.Fatalf("%s %v", answer.Status, answer.Header)
	}
	got := *called.Load()
	if got.Get("Authorization") != "Bearer "+token || got.Get("Sec-WebSocket-Protocol") != channel || got.Get("Cookie") != "" || strings.Contains(got.Get("Origin"), "evil") {
		t.Errorf("the cluster got %v", got)
	}
	var page audit.Page
	h.await(t, func() (ok bool) {
		var err error
		if page, err = h.audit.List(t.Context(), audit.Filter{Organization: "blue", Action: "cluster-connect", Actor: "developer"}); err != nil {
			t.Fatal(err)
		}
		return len(page.Records) == 1 && strings.Count(h.said.String(), "pods/b/exec") == 3
	})
	recorded, err := json.Marshal(page.Records)
	if err != nil {
		t.Fatal(err)
	}
	for _, marker := range []string{token, brought} {
		if strings.Contains(h.said.String(), marker) || strings.Contains(string(recorded), marker) {
			t.Error("the credential is in a log")
		}
	}
}
