package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// Identity is what an agent proves itself with. KQueen knows a hash of it.
type Identity struct {
	// Current is a secret, made by the agent: a token of KQueen's form.
	Current string `json:"current,omitempty"`
	// Next is to take its place; whether KQueen knows it yet is not known.
	Next string `json:"next,omitempty"`
	// Since is when Current was made.
	Since time.Time `json:"since,omitzero"`
}

// Store keeps the identity where it outlives the agent's process.
type Store interface {
	// Load returns the identity; an empty one where there is none, or none that can be read.
	Load(ctx context.Context) (Identity, error)
	Save(ctx context.Context, i Identity) error
}

func newSecret() string { return token.New(token.Agent, time.Now()).Text().Reveal() }

func (a *Agent) path(of string) string {
	return a.Server + rest.AgentsPath + "/" + a.Organization + "/" + a.Cluster + "/" + of
}

// header proves who the agent is.
func (a *Agent) header(secret string) http.Header {
	h := http.Header{}
	h.Set("Authorization", "Bearer "+secret)
	h.Set("User-Agent", "kqueen-agent/"+a.Version)
	h.Set(rest.AgentInstanceHeader, a.instance)
	return h
}

// enrol has KQueen take a new identity, by the one-time token. why is what KQueen says of the one before. The identity is kept before
// KQueen hears of it: whatever happens then, the agent has what KQueen knows. The token can be used once more with the same identity.
func (a *Agent) enrol(ctx context.Context, why error) (Identity, error) {
	oneTime, err := a.Token()
	if err != nil {
		return Identity{}, fmt.Errorf("read the one-time token: %w", err)
	}
	if oneTime == "" {
		return Identity{}, why
	}
	fresh := Identity{Current: newSecret(), Since: time.Now()}
	if err := a.Identity.Save(ctx, fresh); err != nil {
		return fresh, fmt.Errorf("keep the agent's identity: %w", err)
	}
	if err := a.post(ctx, "enroll", oneTime, fresh.Current); err != nil {
		return fresh, fmt.Errorf("enroll with the one-time token: %w", err)
	}
	a.Log.Info("KQueen knows this agent now", "cluster", a.Cluster)
	return fresh, nil
}

// renew replaces the identity when it is old, until ctx ends.
func (a *Agent) renew(ctx context.Context, have Identity) {
	for {
		wait := time.NewTimer(max(time.Until(have.Since.Add(rotateAfter)), time.Minute))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		next, err := a.rotate(ctx, have)
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("the agent's identity is not renewed", "error", err)
			next.Since = time.Now().Add(time.Hour - rotateAfter)
		}
		have = next
	}
}

// rotate gives the agent another secret. KQueen takes both until the new one was used.
func (a *Agent) rotate(ctx context.Context, have Identity) (Identity, error) {
	have.Next = newSecret()
	if err := a.Identity.Save(ctx, have); err != nil {
		return have, fmt.Errorf("keep the next identity: %w", err)
	}
	if err := a.post(ctx, "rotate", have.Current, have.Next); err != nil {
		return have, fmt.Errorf("have KQueen take the next identity: %w", err)
	}
	after := Identity{Current: have.Next, Since: time.Now()}
	return after, a.Identity.Save(ctx, after)
}

// mostAnswered is how much of an answer of KQueen is read.
const mostAnswered = 16 << 10

func (a *Agent) post(ctx context.Context, to, secret, identity string) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	body, err := json.Marshal(rest.AgentIdentity{Identity: identity})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.path(to), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = a.header(secret)
	req.Header.Set("Content-Type", "application/json")
	answer, err := a.client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswered))
	err = errors.Join(err, answer.Body.Close())
	if answer.StatusCode != http.StatusNoContent {
		return &tunnel.RefusedError{Status: answer.StatusCode}
	}
	return err
}
