//go:build linux

package connection

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/platform/kube"
)

// Agents reach clusters by the agents in them.
type Agents interface {
	// Open opens a connection to the agent of the cluster of that UID.
	Open(cluster string) (net.Conn, error)
}

// tunnelled returns the way to a cluster by its agent, which calls the API server beside it with credentials of its own.
func tunnelled(a Agents, cluster types.UID) *way {
	dialed := &http.Transport{
		DialContext:           func(context.Context, string, string) (net.Conn, error) { return a.Open(string(cluster)) },
		ResponseHeaderTimeout: headersWithin, MaxResponseHeaderBytes: mostHeaders,
		MaxConnsPerHost: mostTunnelled, MaxIdleConnsPerHost: 2, IdleConnTimeout: idleTunnelled,
	}
	// The name is for messages alone: nothing is resolved, and what is sent is as secret as the agent's own connection.
	return &way{server: &url.URL{Scheme: "http", Host: "agent.of.the.cluster"}, dialed: dialed, next: &capped{next: kube.Bounded(dialed)}}
}

// AskAgent asks the API server of a cluster by its agent, as [Guard.Ask] does by a kubeconfig.
func AskAgent(ctx context.Context, a Agents, cluster types.UID, version string, paths ...string) ([]Answer, error) {
	return tunnelled(a, cluster).askAll(ctx, version, paths)
}
