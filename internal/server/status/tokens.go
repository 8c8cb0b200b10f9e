//go:build linux

package status

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// Setup is how an administrator comes to be who was made by none.
type Setup struct {
	// API is the address of the REST API.
	API string `json:"api"`
	// Token is good once, until Expires; it replaces the one before. Empty when there is a user already.
	Token   string    `json:"token,omitempty"`
	Expires time.Time `json:"expiresAt,omitzero"`
}

// SetupTokens make the tokens, as access.Setup does.
type SetupTokens interface {
	Token(ctx context.Context) (access.OneTime, error)
	RecoveryToken(ctx context.Context) (access.OneTime, error)
}

// Tokens are from where the tokens come, and where it is recorded.
type Tokens struct {
	Setup SetupTokens
	Audit *audit.Log
}

const (
	setupPath    = "/setup-token"
	recoveryPath = "/recovery-token"
)

// NewSetup asks the installation in dir for a token with which the first administrator is made. ErrNotRunning when
// none answers.
func NewSetup(ctx context.Context, dir string) (*Setup, error) {
	setup := &Setup{}
	return setup, ask(ctx, dir, http.MethodPost, setupPath, setup)
}

// NewRecovery asks the installation in dir for a token with which another administrator is made. ErrNotRunning when none
// answers.
func NewRecovery(ctx context.Context, dir string) (*Setup, error) {
	setup := &Setup{}
	return setup, ask(ctx, dir, http.MethodPost, recoveryPath, setup)
}

// serveSetup hands out a token to the owner, to whom alone the socket listens.
func (s *Socket) serveSetup(w http.ResponseWriter, r *http.Request) {
	s.serveToken(w, func(t *Tokens) (access.OneTime, error) {
		once, err := t.Setup.Token(r.Context())
		if errors.Is(err, access.ErrSetUp) {
			return access.OneTime{}, nil
		}
		return once, err
	})
}

// serveRecovery hands out a token to the same, which administrators find in the audit log.
func (s *Socket) serveRecovery(w http.ResponseWriter, r *http.Request) {
	s.serveToken(w, func(t *Tokens) (access.OneTime, error) {
		_, err := t.Audit.Append(r.Context(), audit.Record{
			Actor: audit.Actor{Kind: audit.Owner}, Action: "create-recovery-token",
			Object: audit.Object{Kind: "User"}, Outcome: audit.Succeeded,
		})
		if err != nil {
			return access.OneTime{}, err
		}
		return t.Setup.RecoveryToken(r.Context())
	})
}

func (s *Socket) serveToken(w http.ResponseWriter, issue func(*Tokens) (access.OneTime, error)) {
	t := s.Tokens()
	if t == nil {
		http.Error(w, "the REST API is not ready yet", http.StatusServiceUnavailable)
		return
	}
	once, err := issue(t)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	data, err := json.Marshal(Setup{API: s.API(), Token: once.Token.Reveal(), Expires: once.Expires})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}
