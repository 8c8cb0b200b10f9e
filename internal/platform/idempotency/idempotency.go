// Package idempotency keeps answers for 24 hours, so that a request that is sent
// again with the same Idempotency-Key gets the answer of the first one and is not
// carried out twice.
//
// It hides who of several equal requests is the first, over all replicas, and
// what becomes of the key when the first one dies. An answer is given to the credential
// that got it and to no other one. Whether its holder may still do what was asked for is
// decided before Begin, and secrets are left out of answers before Finish; what is kept is
// encrypted all the same, and neither callers nor keys are kept in clear. A package that
// answers requests may import it; it knows nothing of HTTP.
package idempotency

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// Lifetime is how long an answer is kept.
	Lifetime = 24 * time.Hour
	// Lease is how long a first request keeps its key without an answer: one that died frees it then. Requests have
	// to take less.
	Lease = 5 * time.Minute
	// MaxKey is the length of a key, in bytes.
	MaxKey = 255
	// MaxBody is the longest body that is kept, in bytes.
	MaxBody = 256 << 10
	// MaxPerCaller is how many keys of one account are kept at once, whatever credentials it used.
	MaxPerCaller = 1000

	// sweepInterval is how often one process looks for what is too old.
	sweepInterval = time.Minute
	// finishTimeout bounds the keeping of an answer, whose client may be gone already.
	finishTimeout = 10 * time.Second
)

// Store keeps answers in a database. It is safe for concurrent use, and several replicas may share one.
type Store struct {
	db   *database.DB
	keys keys
	now  func() time.Time

	mu    sync.Mutex
	swept time.Time
}

// Caller is who sends a request, and with what.
type Caller struct {
	// Account has a name that no other account has. Keys are counted by it.
	Account string
	// Credential is the session or token, with all that must not have changed for an answer to be given again: the
	// life of the account, for one. The same key with another credential is another key.
	Credential string
}

// Answer is what was answered to a request.
type Answer struct {
	Body []byte `json:"body,omitempty"`
	// TooLong says that the body had more than MaxBody bytes, and is not kept.
	TooLong bool `json:"tooLong,omitempty"`
}

// ReusedError is the error of a request that has the key of another one.
type ReusedError struct{}

func (*ReusedError) Error() string {
	return "Idempotency-Key was used for another request; want a new key for each request, and the same one only to repeat it"
}

// RunningError is the error of a request whose first sending has no answer yet.
type RunningError struct {
	// RetryAfter is how long the first one may take at most.
	RetryAfter time.Duration
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("the first request with this Idempotency-Key is still running; ask again, within %s at most", e.RetryAfter)
}

// TooManyError is the error of a caller who has MaxPerCaller keys already.
type TooManyError struct{}

func (*TooManyError) Error() string {
	return fmt.Sprintf("more than %d requests with an Idempotency-Key within %s", MaxPerCaller, Lifetime)
}

// LostError is the error of a claim that took longer than Lease.
type LostError struct{}

func (*LostError) Error() string {
	return fmt.Sprintf("the request took longer than %s, and lost its Idempotency-Key", Lease)
}

// Open is [New] and [Store.Migrate].
func Open(ctx context.Context, db *database.DB, key []byte) (*Store, error) {
	s, err := New(db, key)
	if err != nil {
		return nil, err
	}
	if err := s.Migrate(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// New makes no call to the database. Key has KeySize bytes; with another key it knows nothing of what was kept.
func New(db *database.DB, key []byte) (*Store, error) {
	derived, err := newKeys(key)
	if err != nil {
		return nil, err
	}
	return &Store{db: db, keys: derived, now: time.Now}, nil
}

// Migrate brings the tables up to date. It comes before everything else.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.db.Migrate(ctx, "idempotency", migrations); err != nil {
		return fmt.Errorf("open the store of answers: %w", err)
	}
	return nil
}

// Claim is the right to carry out a request. Its holder calls Finish or Release.
type Claim struct {
	store *Store
	row   row
	token string
}

// Begin returns the answer of an earlier request with this key, or the claim to carry out this one: one of the two is
// nil. key is what the caller has chosen; request is a hash of all that the request says, at least its method, its path
// and its body. Call it when the caller is known to be allowed what the request asks for.
//
// The error is an [*invalid.Error], a [*ReusedError], a [*RunningError] or a [*TooManyError], or the database's.
//
// A request that died after it had done its work and before Finish is carried out again when it is repeated after
// Lease: what it does has to bear that.
func (s *Store) Begin(ctx context.Context, caller Caller, key string, request [32]byte) (*Answer, *Claim, error) {
	if err := checkKey(key); err != nil {
		return nil, nil, err
	}
	if err := s.sweepSometimes(ctx); err != nil {
		return nil, nil, err
	}
	r := s.keys.row(caller, key, request)
	var answer *Answer
	token := rand.Text()
	err := s.db.Do(ctx, "idempotency/"+r.id, func(tx *sql.Tx) (err error) {
		answer, err = s.begin(ctx, tx, r, token)
		return err
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("begin a request with an Idempotency-Key: %w", err)
	case answer != nil:
		return answer, nil, nil
	}
	return nil, &Claim{store: s, row: r, token: token}, nil
}

func (s *Store) begin(ctx context.Context, tx *sql.Tx, r row, token string) (*Answer, error) {
	var request, keyID string
	var expires int64
	var sealed []byte
	err := tx.QueryRowContext(ctx, `SELECT request, expires, key_id, answer FROM idempotency_answers WHERE id = $1`, r.id).
		Scan(&request, &expires, &keyID, &sealed)
	now := s.now()
	left := database.FromTime(expires).Sub(now)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return nil, err
	case left <= 0:
		if _, err := tx.ExecContext(ctx, `DELETE FROM idempotency_answers WHERE id = $1`, r.id); err != nil {
			return nil, err
		}
	case request != r.request:
		return nil, &ReusedError{}
	case sealed == nil:
		return nil, &RunningError{RetryAfter: left.Round(time.Second)}
	default:
		return s.keys.open(r, keyID, sealed)
	}
	var kept int
	err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM idempotency_answers WHERE caller = $1 AND expires > $2`,
		r.caller, database.Time(now)).Scan(&kept)
	if err != nil {
		return nil, err
	}
	if kept >= MaxPerCaller {
		return nil, &TooManyError{}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO idempotency_answers (id, caller, request, claim, expires, key_id)
		VALUES ($1, $2, $3, $4, $5, $6)`, r.id, r.caller, r.request, token, database.Time(now.Add(Lease)), s.keys.id)
	return nil, err
}

// Finish keeps the answer, which has no secrets, also when ctx has ended because the client is gone. Its error is a [*LostError] where the
// request took longer than Lease.
func (c *Claim) Finish(ctx context.Context, a Answer) error {
	sealed, err := c.store.keys.seal(c.row, bounded(a))
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	expires := database.Time(c.store.now().Add(Lifetime))
	err = c.change(ctx, `UPDATE idempotency_answers SET answer = $3, expires = $4 WHERE id = $1 AND claim = $2 AND answer IS NULL`,
		sealed, expires)
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return nil
}

// Release frees the key of a request that did nothing, so that it may be sent again at once.
func (c *Claim) Release(ctx context.Context) error {
	err := c.change(ctx, `DELETE FROM idempotency_answers WHERE id = $1 AND claim = $2 AND answer IS NULL`)
	if err != nil {
		return fmt.Errorf("free an Idempotency-Key: %w", err)
	}
	return nil
}

// change changes the row of the claim, which has to be there.
func (c *Claim) change(ctx context.Context, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	return c.store.db.Do(ctx, "idempotency/"+c.row.id, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement, append([]any{c.row.id, c.token}, args...)...)
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		if err == nil && changed == 0 {
			return &LostError{}
		}
		return err
	})
}

// sweepSometimes sweeps when this process has not done so for a while.
func (s *Store) sweepSometimes(ctx context.Context) error {
	s.mu.Lock()
	now := s.now()
	due := now.Sub(s.swept) >= sweepInterval
	if due {
		s.swept = now
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	return s.Sweep(ctx)
}

// Sweep removes what is too old. Begin does it every minute; a caller that wants answers gone without a Begin calls it, too.
func (s *Store) Sweep(ctx context.Context) error {
	err := s.db.Do(ctx, "idempotency sweep", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM idempotency_answers WHERE expires <= $1`, database.Time(s.now()))
		return err
	})
	if err != nil {
		return fmt.Errorf("remove old answers: %w", err)
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return invalid.New("Idempotency-Key", "has %d bytes; want 1 to %d", len(key), MaxKey)
	}
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return invalid.New("Idempotency-Key", "has other bytes than printable ASCII; want a random text such as a UUID")
		}
	}
	return nil
}
