package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// DeviceStart is what a device shows and keeps (RFC 8628, section 3.2).
type DeviceStart struct {
	// DeviceCode is the secret of the device.
	DeviceCode token.Secret
	// UserCode is what its user types elsewhere, as "WDJB-MJHT".
	UserCode string
	Expires  time.Time
	// Interval is how long the device waits between two polls.
	Interval time.Duration
}

// DeviceRequest is what the user is asked about. An attacker may have sent the code: show it all.
type DeviceRequest struct {
	// Client and Source are what the device said about itself and where it called from.
	Client, Source   string
	Created, Expires time.Time
}

const (
	deviceLife   = 10 * time.Minute
	devicePeriod = 5 * time.Second // RFC 8628, section 3.2
	deviceSlower = 5 * time.Second // RFC 8628, section 3.5: added at each slow_down
	// userCodeAlphabet has neither vowels, which make words, nor what is mistaken for something else (RFC 8628, section
	// 6.1). 8 of them are 34 bits; a user who tries them is locked out long before.
	userCodeAlphabet = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength   = 8
	// Every caller may start; so much waits for one source, and at all. Beyond that the oldest goes.
	maxPendingPerSource = 20
	maxPending          = 5000
)

const (
	pending  = "pending"
	approved = "approved"
	denied   = "denied"
)

// Devices are signed in by a user who answers elsewhere (RFC 8628).
type Devices struct {
	*store
	lockOut     lockOut
	credentials *Credentials
}

// Start begins to sign in a device that has no browser. Errors: ErrTooMany.
func (s *Devices) Start(ctx context.Context, from Origin) (DeviceStart, error) {
	made := token.New(token.OneTime, s.clock())
	out := DeviceStart{
		DeviceCode: made.Text(), UserCode: newUserCode(), Expires: s.now().Add(deviceLife), Interval: devicePeriod,
	}
	source := sourceOf(from.Address)
	err := s.doForStranger(ctx, "access/devices", func(tx *sql.Tx) error {
		if err := s.makePlace(ctx, tx, pendingDevices, source); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO access_devices
			(id, hash, user_code, client, source, state, created, expires, period, polled)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)`,
			made.ID, made.Hash(), hashUserCode(out.UserCode), text.CutLetters(text.Line(from.Client), maxTokenName), source, pending,
			database.Time(s.clock()), database.Time(out.Expires), out.Interval.Microseconds())
		return err
	})
	if err != nil {
		return DeviceStart{}, fmt.Errorf("start a device authorization: %w", err)
	}
	return out, nil
}

var pendingDevices = pendingRows{
	expired: `DELETE FROM access_devices WHERE expires <= $1`,
	count:   `SELECT COUNT(*), COUNT(CASE WHEN source = $1 THEN 1 END) FROM access_devices`,
	oldest:  `DELETE FROM access_devices WHERE id IN (SELECT id FROM access_devices ORDER BY id LIMIT $1)`,
}

// Get returns what a user is asked to approve. Errors: ErrNeedsSession, ErrUnauthenticated, ErrNotFound (also when it
// expired or was answered), *LockedError.
func (s *Devices) Get(ctx context.Context, by Identity, userCode string, from Origin) (DeviceRequest, error) {
	var out DeviceRequest
	err := s.at(ctx, by, userCode, from, func(_ *sql.Tx, _ account, _ credential, _ string, request DeviceRequest) error {
		out = request
		return nil
	})
	return out, err
}

// Answer approves or denies a device, which then acts as the user who approved. Errors: as Get, and ErrNeedsFresh.
func (s *Devices) Answer(ctx context.Context, by Identity, userCode string, approve bool, from Origin) error {
	state := denied
	if approve {
		state = approved
	}
	return s.at(ctx, by, userCode, from, func(tx *sql.Tx, a account, c credential, id string, _ DeviceRequest) error {
		if approve && !s.credentials.fresh(c) {
			return ErrNeedsFresh
		}
		return changed(tx.ExecContext(ctx, `UPDATE access_devices SET state = $2, account = $3, epoch = $4, proved = $5
			WHERE id = $1 AND state = $6`, id, state, a.name, a.epoch, database.Time(c.proved), pending))
	})
}

// at calls act with the pending request of a user code. Codes are short, so wrong ones count.
func (s *Devices) at(
	ctx context.Context, by Identity, userCode string, from Origin,
	act func(tx *sql.Tx, a account, c credential, id string, request DeviceRequest) error,
) error {
	tries, err := s.lockOut.try(ctx, func(*sql.Tx, time.Time) ([]guess, error) { return guesses("code", by.Name, from.Address), nil })
	if err != nil {
		return err
	}
	err = s.db.Do(ctx, "", func(tx *sql.Tx) error {
		a, c, err := s.credentials.signedIn(ctx, tx, by)
		if err != nil {
			return err
		}
		var id string
		var request DeviceRequest
		var created, expires int64
		err = tx.QueryRowContext(ctx, `SELECT id, client, source, created, expires FROM access_devices
			WHERE user_code = $1 AND state = $2 AND expires > $3`, hashUserCode(userCode), pending, database.Time(s.clock())).
			Scan(&id, &request.Client, &request.Source, &created, &expires)
		if err != nil {
			return found(err)
		}
		request.Created, request.Expires = database.FromTime(created), database.FromTime(expires)
		return act(tx, a, c, id, request)
	})
	if errors.Is(err, ErrNotFound) {
		return err
	}
	// A code of one's own does not make the wrong ones forgotten.
	return errors.Join(err, s.lockOut.untried(ctx, tries))
}

// Poll is what a device asks again and again. Errors: ErrAuthorizationPending, ErrSlowDown (wait 5 s more from now on),
// ErrAccessDenied, ErrExpiredToken, ErrInvalidGrant (it is no device code, or was used).
func (s *Devices) Poll(ctx context.Context, deviceCode string) (Issued, error) {
	parts, err := token.Parse(deviceCode)
	if err != nil || parts.Kind != token.OneTime {
		return Issued{}, ErrInvalidGrant
	}
	// A look first: a caller without a device code does not make us write.
	var hash []byte
	err = s.db.QueryRowContext(ctx, `SELECT hash FROM access_devices WHERE id = $1`, parts.ID).Scan(&hash)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !parts.Is(hash) {
		return Issued{}, ErrInvalidGrant
	}
	if err != nil {
		return Issued{}, err
	}
	var out Issued
	var answer error // beside the error of the transaction: what was answered is written down
	err = s.db.Do(ctx, "", func(tx *sql.Tx) error {
		out, answer, err = s.poll(ctx, tx, parts)
		return err
	})
	if err := errors.Join(err, answer); err != nil {
		return Issued{}, err
	}
	return out, nil
}

// poll answers a device whose code is right.
func (s *Devices) poll(ctx context.Context, tx *sql.Tx, parts token.Parts) (out Issued, answer, err error) {
	var client, state string
	var name sql.NullString
	var epoch, proved, expires, period, polled int64
	err = tx.QueryRowContext(ctx, `SELECT client, state, account, epoch, proved, expires, period, polled
		FROM access_devices WHERE id = $1`, parts.ID).Scan(&client, &state, &name, &epoch, &proved, &expires, &period, &polled)
	if errors.Is(err, sql.ErrNoRows) {
		return Issued{}, ErrInvalidGrant, nil
	}
	now := database.Time(s.clock())
	switch {
	case err != nil:
		return Issued{}, nil, err
	case now >= expires:
		return Issued{}, ErrExpiredToken, nil
	case now < polled+period:
		_, err = tx.ExecContext(ctx, `UPDATE access_devices SET polled = $2, period = period + $3 WHERE id = $1`,
			parts.ID, now, deviceSlower.Microseconds())
		return Issued{}, ErrSlowDown, err
	case state == pending:
		_, err = tx.ExecContext(ctx, `UPDATE access_devices SET polled = $2 WHERE id = $1`, parts.ID, now)
		return Issued{}, ErrAuthorizationPending, err
	}
	if err := changed(tx.ExecContext(ctx, `DELETE FROM access_devices WHERE id = $1`, parts.ID)); err != nil {
		if errors.Is(err, ErrNotFound) {
			return Issued{}, ErrInvalidGrant, nil
		}
		return Issued{}, nil, err
	}
	if state != approved {
		return Issued{}, ErrAccessDenied, nil
	}
	a, err := s.credentials.owner(ctx, tx, name.String, epoch)
	if errors.Is(err, ErrSpent) {
		return Issued{}, ErrAccessDenied, nil
	}
	if err != nil {
		return Issued{}, nil, err
	}
	out, err = s.credentials.issueSession(ctx, tx, a, client, database.FromTime(proved))
	return out, nil, err
}

// newUserCode is 8 letters in two groups.
func newUserCode() string {
	var code strings.Builder
	for code.Len() < userCodeLength+1 {
		var b [1]byte
		_, _ = rand.Read(b[:]) // does not fail
		if int(b[0]) >= 256-256%len(userCodeAlphabet) {
			continue // would make some letters more likely than others
		}
		code.WriteByte(userCodeAlphabet[int(b[0])%len(userCodeAlphabet)])
		if code.Len() == userCodeLength/2 {
			code.WriteByte('-')
		}
	}
	return code.String()
}

// hashUserCode takes a code as users type it: in any case, with or without what separates.
func hashUserCode(code string) []byte {
	bare := strings.Map(func(r rune) rune {
		if strings.ContainsRune(userCodeAlphabet, r) {
			return r
		}
		return -1
	}, strings.ToUpper(text.CutLetters(text.Line(code), 4*userCodeLength)))
	sum := sha256.Sum256([]byte("user code " + bare))
	return sum[:]
}
