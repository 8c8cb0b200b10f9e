package access

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/peer"
)

// step says how long all attempts are refused after so many failures in a row.
type step struct {
	failures int
	wait     time.Duration
}

var (
	// userSteps hold for one user name from one address, so that a stranger elsewhere does not lock the user out. Four
	// failures are free; after that the waits allow fewer than the 100 attempts a day that NIST SP 800-63B, section 3.2.2,
	// bounds guessing with.
	userSteps = []step{{5, 10 * time.Second}, {6, 30 * time.Second}, {7, time.Minute}, {8, 5 * time.Minute}, {9, 15 * time.Minute}}
	// strictSteps take their place while the account is under attack, at addresses from which its user has not signed in:
	// the first attempt of each is looked at, so that the user is let in, and the next one after a wait.
	strictSteps = []step{{1, 15 * time.Minute}}
	// addressSteps hold for one address, whatever it tries. Many users may share one.
	addressSteps = []step{{30, 10 * time.Second}, {40, time.Minute}, {60, 5 * time.Minute}, {100, 15 * time.Minute}}
)

// underAttack is from how many failures on an account is under attack, whatever the addresses.
const underAttack = 100

const (
	// guessMemory is how long after the last one failures count.
	guessMemory = day
	// maxGuesses is how many rows there are at most. Beyond it those with the fewest failures go first, so that a flood
	// of invented names does not make the failures of a real one forgotten.
	maxGuesses = 20_000
	// spareGuesses is how many go at a time.
	spareGuesses = 200
)

// waitAfter is the pure rule.
func waitAfter(steps []step, failures int) time.Duration {
	var wait time.Duration
	for _, s := range steps {
		if failures >= s.failures {
			wait = s.wait
		}
	}
	return wait
}

// guess is something that may be tried only so often.
type guess struct {
	target string
	steps  []step
	// own says that a success makes the failures before it forgotten. It does not for an address: an attacker with one
	// good account would start anew with it.
	own bool
	// free says that failures are counted and refuse nothing: the guess has other bounds.
	free bool
}

// guessTarget names what is guessed. The name is hashed: users type passwords into the wrong field.
func guessTarget(what, name string) string {
	sum := sha256.Sum256([]byte(name))
	return what + ":" + hex.EncodeToString(sum[:16])
}

// passwordGuesses are what an attempt to sign in counts for: the user at this address, the account, and the address.
// A user who has signed in from there is not refused for what others do, there or elsewhere.
func passwordGuesses(ctx context.Context, tx *sql.Tx, now time.Time, name string, from netip.Addr) ([]guess, error) {
	source := sourceOf(from)
	known, err := knows(ctx, tx, name, source)
	if err != nil {
		return nil, err
	}
	account := guess{target: guessTarget("account", name), free: true}
	failures, last, _, err := readGuess(ctx, tx, account.target)
	if err != nil {
		return nil, err
	}
	user := guess{target: guessTarget("user", name) + "@" + source, steps: userSteps, own: true}
	if !known && failures >= underAttack && now.Sub(last) < guessMemory {
		user.steps = strictSteps
	}
	out := []guess{user, account}
	if source != "" {
		out = append(out, guess{target: "address:" + source, steps: addressSteps, free: known})
	}
	return out, nil
}

// guesses of what is secret about a name that the caller has proved to be theirs, from an address.
func guesses(what, name string, from netip.Addr) []guess {
	out := []guess{{target: guessTarget(what, name), steps: userSteps, own: true}}
	if source := sourceOf(from); source != "" {
		out = append(out, guess{target: "address:" + source, steps: addressSteps})
	}
	return out
}

// sourceOf is what is counted as one address; empty when it is not known.
func sourceOf(from netip.Addr) string {
	if source := peer.Of(from); source.IsValid() {
		return source.String()
	}
	return ""
}

// lockOut bounds how often what is secret is guessed. All replicas count in the same table.
type lockOut struct{ *store }

// try counts an attempt as failed before it is made, so that many at once are not one, and refuses it with a
// *LockedError while others failed too often. An attempt that is refused counts for nothing. It returns what it counts for.
func (s lockOut) try(ctx context.Context, attempt func(*sql.Tx, time.Time) ([]guess, error)) (tries []guess, err error) {
	now := s.now()
	err = s.doForStranger(ctx, "access/guesses", func(tx *sql.Tx) error {
		if tries, err = attempt(tx, now); err != nil {
			return fmt.Errorf("look at earlier attempts: %w", err)
		}
		failures := make([]int, len(tries))
		var locked LockedError
		for i, g := range tries {
			count, last, until, err := readGuess(ctx, tx, g.target)
			if err != nil {
				return err
			}
			if !g.free && until.After(now) && until.After(locked.Until) {
				locked.Until = until
			}
			if now.Sub(last) < guessMemory {
				failures[i] = count
			}
		}
		if !locked.Until.IsZero() {
			return &locked
		}
		for i, g := range tries {
			if err := writeGuess(ctx, tx, g, failures[i]+1, now); err != nil {
				return err
			}
		}
		return nil
	})
	return tries, err
}

// succeeded takes back what try counted, and forgets the failures before it where that is fair.
func (s lockOut) succeeded(ctx context.Context, tries []guess) error {
	return s.takeBack(ctx, tries, true)
}

// untried takes back what try counted for an attempt that could not be checked.
func (s lockOut) untried(ctx context.Context, tries []guess) error {
	return s.takeBack(context.WithoutCancel(ctx), tries, false)
}

func (s lockOut) takeBack(ctx context.Context, tries []guess, forget bool) error {
	return s.doForStranger(ctx, "access/guesses", func(tx *sql.Tx) error {
		for _, g := range tries {
			count, last, _, err := readGuess(ctx, tx, g.target)
			if err != nil {
				return err
			}
			if count == 0 {
				continue
			}
			if count == 1 || forget && g.own {
				_, err = tx.ExecContext(ctx, `DELETE FROM access_guesses WHERE target = $1`, g.target)
			} else {
				err = writeGuess(ctx, tx, g, count-1, last)
			}
			if err != nil {
				return fmt.Errorf("take back an attempt: %w", err)
			}
		}
		return nil
	})
}

func readGuess(ctx context.Context, tx *sql.Tx, target string) (failures int, last, until time.Time, err error) {
	var lastMicros, untilMicros int64
	err = tx.QueryRowContext(ctx, `SELECT failures, last, until FROM access_guesses WHERE target = $1`, target).
		Scan(&failures, &lastMicros, &untilMicros)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, time.Time{}, time.Time{}, nil
	}
	return failures, database.FromTime(lastMicros), database.FromTime(untilMicros), err
}

func writeGuess(ctx context.Context, tx *sql.Tx, g guess, failures int, last time.Time) error {
	if failures == 1 {
		if err := boundGuesses(ctx, tx); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO access_guesses (target, failures, last, until) VALUES ($1, $2, $3, $4)
		ON CONFLICT (target) DO UPDATE SET failures = excluded.failures, last = excluded.last, until = excluded.until`,
		g.target, failures, database.Time(last), database.Time(last.Add(waitAfter(g.steps, failures))))
	if err != nil {
		return fmt.Errorf("count an attempt: %w", err)
	}
	return nil
}

func boundGuesses(ctx context.Context, tx *sql.Tx) error {
	var rows int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM access_guesses`).Scan(&rows); err != nil {
		return err
	}
	if rows < maxGuesses {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM access_guesses WHERE target IN (
		SELECT target FROM access_guesses ORDER BY failures, last LIMIT $1)`, spareGuesses)
	return err
}
