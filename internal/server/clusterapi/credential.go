package clusterapi

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

const (
	protocolsHeader = "Sec-WebSocket-Protocol"
	// bearerProtocol begins the subprotocol that is a credential in base64url without padding, as Kubernetes' API servers take it from
	// browsers, which set no headers of WebSockets.
	bearerProtocol = "base64url.bearer.authorization.k8s.io." //nolint:gosec // it begins a credential, and is none
)

// takeCredential returns the credential that a request brings: in its header, or, of a WebSocket, as a subprotocol. It takes the latter out
// of the request, also where it is not good, so that nothing behind sees it. Errors hold nothing of it.
func takeCredential(r *http.Request) (string, error) {
	brought, others := splitProtocols(r.Header.Values(protocolsHeader))
	if len(brought) == 0 {
		return chain.BearerOf(r), nil
	}
	r.Header.Del(protocolsHeader)
	if len(others) > 0 {
		r.Header.Set(protocolsHeader, strings.Join(others, ", "))
	}
	if len(brought) > 1 || r.Header.Get("Authorization") != "" || !isWebSocket(r) {
		return "", access.ErrUnauthenticated
	}
	if len(others) == 0 {
		return "", problem.New(http.StatusBadRequest, rest.CodeInvalid, "the request is not valid", rest.FieldError{
			Pointer: ":Sec-WebSocket-Protocol", Detail: "offers the credential alone, which no server answers with; offer another protocol beside it, such as v5.channel.k8s.io",
		})
	}
	token, err := base64.RawURLEncoding.Strict().DecodeString(brought[0])
	if err != nil || slices.ContainsFunc(token, func(b byte) bool { return b <= ' ' || b >= 0x7f }) {
		return "", access.ErrUnauthenticated
	}
	return string(token), nil
}

// splitProtocols tells the credentials among the subprotocols that are offered from the others.
func splitProtocols(values []string) (brought, others []string) {
	for _, value := range values {
		for protocol := range strings.SplitSeq(value, ",") {
			protocol = strings.TrimSpace(protocol)
			if token, ok := strings.CutPrefix(protocol, bearerProtocol); ok {
				brought = append(brought, token)
			} else if protocol != "" {
				others = append(others, protocol)
			}
		}
	}
	return brought, others
}

// isWebSocket says whether a request begins a WebSocket.
func isWebSocket(r *http.Request) bool {
	if r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return false
	}
	return slices.ContainsFunc(strings.Split(strings.Join(r.Header.Values("Connection"), ","), ","), func(token string) bool {
		return strings.EqualFold(strings.TrimSpace(token), "upgrade")
	})
}
