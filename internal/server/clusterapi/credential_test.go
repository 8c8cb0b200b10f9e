package clusterapi

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// bearing is a credential as a subprotocol.
func bearing(token string) string {
	return bearerProtocol + base64.RawURLEncoding.EncodeToString([]byte(token))
}

// TestTakeCredential: a credential is in one place, and nothing of it is left where the request goes on with what it brings.
func TestTakeCredential(t *testing.T) {
	good := bearing("secret")
	for name, tc := range map[string]struct {
		header http.Header
		want   string
		left   string // of the subprotocols
		status int    // 0 where there is no error
	}{
		"Header":        {http.Header{"Authorization": {"Bearer secret"}}, "secret", "", 0},
		"HeaderAndMore": {http.Header{"Authorization": {"Bearer secret"}, "Sec-Websocket-Protocol": {"v4.channel.k8s.io"}}, "secret", "v4.channel.k8s.io", 0},
		"Nothing":       {http.Header{}, "", "", 0},
		"Protocol":      {http.Header{"Sec-Websocket-Protocol": {good + ", v5.channel.k8s.io,v4.channel.k8s.io"}}, "secret", "v5.channel.k8s.io, v4.channel.k8s.io", 0},
		"Later":         {http.Header{"Sec-Websocket-Protocol": {"v5.channel.k8s.io", " " + good}}, "secret", "v5.channel.k8s.io", 0},
		"Alone":         {http.Header{"Sec-Websocket-Protocol": {good}}, "", "", http.StatusBadRequest},
		"Twice":         {http.Header{"Sec-Websocket-Protocol": {good + "," + good + ",a"}}, "", "a", http.StatusUnauthorized},
		"BothWays":      {http.Header{"Authorization": {"Bearer secret"}, "Sec-Websocket-Protocol": {good + ",a"}}, "", "a", http.StatusUnauthorized},
		"Padded":        {http.Header{"Sec-Websocket-Protocol": {bearerProtocol + "YQ==,a"}}, "", "a", http.StatusUnauthorized},
		"NotBase64":     {http.Header{"Sec-Websocket-Protocol": {bearerProtocol + "!,a"}}, "", "a", http.StatusUnauthorized},
		"LineBreak":     {http.Header{"Sec-Websocket-Protocol": {bearing("a\nb") + ",a"}}, "", "a", http.StatusUnauthorized},
		"Empty":         {http.Header{"Sec-Websocket-Protocol": {bearerProtocol + ",a"}}, "", "a", 0},
		"NoWebSocket":   {http.Header{"Sec-Websocket-Protocol": {good + ",a"}, "Upgrade": {"SPDY/3.1"}}, "", "a", http.StatusUnauthorized},
		"NoUpgrade":     {http.Header{"Sec-Websocket-Protocol": {good + ",a"}, "Connection": {"keep-alive"}}, "", "a", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/clusters/blue/shop/api", nil)
			r.Header = http.Header{"Upgrade": {"websocket"}, "Connection": {"keep-alive, Upgrade"}}
			maps.Copy(r.Header, tc.header)
			got, err := takeCredential(r)
			status := 0
			if err != nil {
				status = problem.Of(problem.ExplainAccess(err)).Status
			}
			if diff := cmp.Diff([]any{tc.want, tc.left, tc.status}, []any{got, r.Header.Get(protocolsHeader), status}); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error repeats the credential: %v", err)
			}
		})
	}
}

// TestPagesOfOthers: a page of another origin can have a browser begin a WebSocket, with whatever cookies it has. Only a credential lets it
// in, which such a page does not have. What a browser says of the page does not pass:
// the cluster is told its own origin.
func TestPagesOfOthers(t *testing.T) {
	var got http.Header
	far := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(both, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: %s\r\n\r\n", r.Header.Get(protocolsHeader))
		_ = both.Flush()
	}))
	defer far.Close()
	h := newHandler(t, far)
	near := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.serve(w, r); errors.Is(err, access.ErrUnauthenticated) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer near.Close()
	begin := func(cluster, protocols string) *http.Response {
		t.Helper()
		conn, err := net.Dial("tcp", near.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "GET /clusters/blue/%s/api/v1/namespaces/a/pods/b/exec HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\n"+
			"Cookie: kqueen=good-u1; __Host-kqueen=good-u2\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: %s\r\n\r\n", cluster, protocols)
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
	for cluster, uid := range map[string]string{"shop": "u1", "own": "u2"} {
		got = nil
		if answer := begin(cluster, "v5.channel.k8s.io"); answer.StatusCode != http.StatusUnauthorized || got != nil {
			t.Errorf("%s: with cookies alone the answer is %s, and the cluster got %v", cluster, answer.Status, got)
		}
		answer := begin(cluster, "v5.channel.k8s.io, "+bearing("good-"+uid))
		if answer.StatusCode != http.StatusSwitchingProtocols || answer.Header.Get(protocolsHeader) != "v5.channel.k8s.io" {
			t.Errorf("%s: with a credential the answer is %s %v", cluster, answer.Status, answer.Header)
		}
		if got.Get("Cookie") != "" || got.Get("Origin") != far.URL || strings.Contains(got.Get(protocolsHeader), bearerProtocol) {
			t.Errorf("%s: the cluster got %v", cluster, got)
		}
	}
}
