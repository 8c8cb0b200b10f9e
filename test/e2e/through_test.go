//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"kqueen.io/kqueen/api/rest"
)

// memberEntersThrough uses a member's credential for a hosted cluster by KQueen, as a page in a browser does: by calls, and by a WebSocket
// that brings it as a subprotocol.
func memberEntersThrough(t *testing.T, member *api, organization, cluster string) {
	t.Helper()
	var credential rest.ClusterCredential
	member.want(http.StatusOK, "POST", "/organizations/"+organization+"/clusters/"+cluster+"/credential", rest.CredentialRequest{}, &credential)
	member.keep("ClusterCredential.token", credential.Token)
	inside := *member
	inside.url, inside.token = strings.TrimSuffix(member.url, rest.Prefix)+rest.ClustersPath+"/"+organization+"/"+cluster, credential.Token
	review := authenticationv1.SelfSubjectReview{}
	review.APIVersion, review.Kind = "authentication.k8s.io/v1", "SelfSubjectReview"
	inside.want(http.StatusCreated, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, &review)
	if got := review.Status.UserInfo.Username; got != "kqueen:dora" {
		t.Errorf("through KQueen dora is %q", got)
	}
	inside.want(http.StatusOK, "GET", "/api/v1/namespaces/default/pods", nil, nil)
	inside.want(http.StatusForbidden, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", map[string]any{"metadata": map[string]string{"name": "all"}}, nil)
	inside.token = member.token
	inside.want(http.StatusUnauthorized, "GET", "/version", nil, nil)

	protocol := "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(credential.Token))
	const pods = "/api/v1/namespaces/default/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	answer, stream := webSocket(t, member, inside.url+pods, "text.channel.k8s.io")
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a WebSocket with a cookie alone is answered with %s", answer.Status)
	}
	_ = stream.Close()
	answer, stream = webSocket(t, member, inside.url+pods, "text.channel.k8s.io, "+protocol)
	defer stream.Close()
	if answer.StatusCode != http.StatusSwitchingProtocols || strings.Contains(fmt.Sprint(answer.Header), protocol) {
		t.Fatalf("a WebSocket with a credential is answered with %s %v", answer.Status, answer.Header)
	}
	var seen bytes.Buffer
	for buffer := make([]byte, 4096); !strings.Contains(seen.String(), "BOOKMARK"); {
		n, err := stream.Read(buffer)
		seen.Write(buffer[:n])
		if err != nil {
			t.Fatalf("the watch ended with %q: %v", seen.String(), err)
		}
	}
}

// webSocket begins a WebSocket as the page of another origin does, which has the browser send the member's session as a cookie.
func webSocket(t *testing.T, member *api, url, protocols string) (*http.Response, io.ReadCloser) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
		"Sec-WebSocket-Protocol": protocols, "Origin": "https://evil.example", "Cookie": "__Host-kqueen=" + member.token + "; kqueen=" + member.token,
	} {
		req.Header.Set(name, value)
	}
	config := member.client.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", req.URL.Host)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, req)
	if err != nil {
		t.Fatal(err)
	}
	return answer, struct {
		io.Reader
		io.Closer
	}{in, conn}
}
