//go:build linux

package app

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// databaseFile is what is kept in SQL when nobody names another database, in the data directory.
const databaseFile = "kqueen.db"

// Setup is how an administrator comes to be who was made by none.
type Setup struct {
	// API is the address of the REST API.
	API string `json:"api"`
	// Token is good once, until Expires; it replaces the one before. Empty when there is a user already.
	Token   string    `json:"token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
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

// serveSetup hands out a token to whoever can enter the data directory, who is the installation's owner anyhow.
func (a *App) serveSetup(w http.ResponseWriter, r *http.Request) {
	a.serveToken(w, func(d *door) (access.OneTime, error) {
		once, err := d.access.SetupToken(r.Context())
		if errors.Is(err, access.ErrSetUp) {
			return access.OneTime{}, nil
		}
		return once, err
	})
}

// serveRecovery hands out a token to the same, which administrators find in the action log.
func (a *App) serveRecovery(w http.ResponseWriter, r *http.Request) {
	a.serveToken(w, func(d *door) (access.OneTime, error) {
		_, err := d.audit.Append(r.Context(), audit.Record{
			Actor: audit.Actor{Kind: audit.Owner}, Action: "create-recovery-token",
			Object: audit.Object{Kind: "User"}, Outcome: audit.Succeeded,
		})
		if err != nil {
			return access.OneTime{}, err
		}
		return d.access.RecoveryToken(r.Context())
	})
}

func (a *App) serveToken(w http.ResponseWriter, issue func(*door) (access.OneTime, error)) {
	d := a.door.Load()
	if d == nil {
		http.Error(w, "the door does not serve yet", http.StatusServiceUnavailable)
		return
	}
	once, err := issue(d)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	data, err := json.Marshal(Setup{API: a.apiAddress(), Token: once.Token.Reveal(), Expires: once.Expires})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}
