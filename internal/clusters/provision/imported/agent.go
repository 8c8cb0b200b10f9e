//go:build linux

package imported

import (
	"context"
	"errors"
	"net/http"

	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/tunnel"
)

// observeByAgent asks the API server by the agent beside it. The cluster has no address that KQueen knows.
func (d *Driver) observeByAgent(ctx context.Context, of provision.Target) (provision.Observed, error) {
	answers, err := connection.AskAgent(ctx, d.Agents, of.UID, d.Version, asked()...)
	if err != nil {
		return provision.Observed{}, lost(err)
	}
	if answers[0].Status == http.StatusBadGateway {
		return provision.Observed{}, unreachable("the agent in it does not reach the API server; see its log")
	}
	return observed(answers, "")
}

// lost says why there was no answer by an agent. It is pure.
func lost(err error) error {
	offline, ok := errors.AsType[*tunnel.OfflineError](err)
	switch {
	case !ok:
		return unreachable("%v", err)
	case offline.Lost:
		return &agentError{provision.ErrOffline, offline.Error() + "; see whether it runs there: kubectl -n kqueen get pods"}
	}
	return unreachable("its agent is about to connect again")
}

// agentError is an error of package provision in words about an agent.
type agentError struct {
	is  error
	why string
}

func (e *agentError) Error() string        { return e.why }
func (e *agentError) Is(target error) bool { return target == e.is }
