package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// purpose is the one act that a one-time token is good for.
type purpose string

const (
	setUp          purpose = "setUp"        // make the first administrator
	choosePass     purpose = "password"     // choose a password
	exchangeCode   purpose = "code"         // get a session for an authorization code
	finishSigning  purpose = "provider"     // come back from an identity provider
	setUpLife              = time.Hour      // of the token that setUp takes
	choosePassLife         = 24 * time.Hour // long enough for a message to be read
)

// again marks a token of setUp that is good when there are users, too.
const again = "again"

// once is a row: something that is good for one act.
type once struct {
	id      string
	purpose purpose
	// account whose it is, and its epoch then; empty when it has no account.
	account string
	epoch   int64
	// source is where it was asked for, when every caller may ask.
	source  string
	data    string
	expires time.Time
}

// OneTime is a new one-time token.
type OneTime struct {
	// Token is the secret. It is shown here and never again.
	Token   token.Secret
	Expires time.Time
}

// makeOnce writes down a one-time token.
func (s *store) makeOnce(ctx context.Context, tx *sql.Tx, o once, lifetime time.Duration) (OneTime, error) {
	made := token.New(token.OneTime, s.clock())
	expires := s.now().Add(lifetime)
	_, err := tx.ExecContext(ctx, `INSERT INTO access_once (id, purpose, hash, account, epoch, source, data, expires)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		made.ID, o.purpose, made.Hash(), sql.NullString{String: o.account, Valid: o.account != ""}, o.epoch, o.source,
		o.data, database.Time(expires))
	if err != nil {
		return OneTime{}, fmt.Errorf("write down a one-time token: %w", err)
	}
	return OneTime{Token: made.Text(), Expires: expires}, nil
}

// findOnce reads what a one-time token is for, and uses nothing up: a caller who knows only its id cannot spoil it, and
// one who is told that something else was wrong can try again. Errors: ErrSpent.
func (s *store) findOnce(ctx context.Context, q querier, want purpose, text string) (once, error) {
	parts, err := token.Parse(text)
	if err != nil || parts.Kind != token.OneTime {
		return once{}, ErrSpent
	}
	o := once{id: parts.ID, purpose: want}
	var hash []byte
	var name sql.NullString
	var expires int64
	err = q.QueryRowContext(ctx, `SELECT hash, account, epoch, source, data, expires FROM access_once
		WHERE id = $1 AND purpose = $2`, parts.ID, want).Scan(&hash, &name, &o.epoch, &o.source, &o.data, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return once{}, ErrSpent
	}
	if err != nil {
		return once{}, err
	}
	o.account, o.expires = name.String, database.FromTime(expires)
	if !parts.Is(hash) || !s.clock().Before(o.expires) {
		return once{}, ErrSpent
	}
	return o, nil
}

// use uses a one-time token up. Of many at once one succeeds, and others get ErrSpent.
func (o once) use(ctx context.Context, tx *sql.Tx) error {
	err := changed(tx.ExecContext(ctx, `DELETE FROM access_once WHERE id = $1`, o.id))
	if errors.Is(err, ErrNotFound) {
		return ErrSpent
	}
	return err
}
