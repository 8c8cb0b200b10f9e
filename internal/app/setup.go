//go:build linux

package app

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"kqueen.io/kqueen/internal/access"
)

// databaseFile is what is kept in SQL when nobody names another database, in the data directory.
const databaseFile = "kqueen.db"

// Setup is how the first administrator comes to be.
type Setup struct {
	// API is the address of the REST API.
	API string `json:"api"`
	// Token is good once, until Expires; it replaces the one before. Empty when there is a user already.
	Token   string    `json:"token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
}

const setupPath = "/setup-token"

// NewSetup asks the installation in dir for a token with which the first administrator is made. ErrNotRunning when
// none answers.
func NewSetup(ctx context.Context, dir string) (*Setup, error) {
	setup := &Setup{}
	return setup, ask(ctx, dir, http.MethodPost, setupPath, setup)
}

// serveSetup hands out a token to whoever can enter the data directory, who is the installation's owner anyhow.
func (a *App) serveSetup(w http.ResponseWriter, r *http.Request) {
	setup, identities := Setup{API: a.apiAddress()}, a.identities.Load()
	if identities == nil {
		http.Error(w, "the door does not serve yet", http.StatusServiceUnavailable)
		return
	}
	once, err := identities.SetupToken(r.Context())
	if err != nil && !errors.Is(err, access.ErrSetUp) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	setup.Token, setup.Expires = once.Token.Reveal(), once.Expires
	data, err := json.Marshal(setup)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}
