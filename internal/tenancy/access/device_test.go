package access

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestDevice(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice", Admin: true})
	alice, _ := enter(t, s, "alice")
	far := Origin{Address: netip.MustParseAddr("198.51.100.9"), Client: "kqueen on \x1bbuild-7"}
	start := must[DeviceStart](t)(s.Devices.Start(t.Context(), far))
	if !regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`).MatchString(start.UserCode) ||
		start.Interval != 5*time.Second || !start.Expires.Equal(c.Now().Add(10*time.Minute)) {
		t.Errorf("got %+v", start)
	}
	poll := func(what string, want error) {
		t.Helper()
		_, err := s.Devices.Poll(t.Context(), start.DeviceCode.Reveal())
		wantError(t, what, err, want)
	}
	poll("first", ErrAuthorizationPending)
	poll("at once", ErrSlowDown)
	c.pass(5 * time.Second)
	poll("as before", ErrSlowDown)
	c.pass(15 * time.Second)
	poll("slower", ErrAuthorizationPending)

	typed := " " + strings.ToLower(strings.ReplaceAll(start.UserCode, "-", " "))
	request := must[DeviceRequest](t)(s.Devices.Get(t.Context(), alice, typed, home))
	if request.Client != "kqueen on build-7" || request.Source != "198.51.100.9/32" || !request.Expires.Equal(start.Expires) {
		t.Errorf("got %+v", request)
	}
	if err := s.Devices.Answer(t.Context(), alice, typed, true, home); err != nil {
		t.Fatal(err)
	}
	wantError(t, "answered twice", s.Devices.Answer(t.Context(), alice, typed, false, home), ErrNotFound)
	c.pass(15 * time.Second)
	issued := must[Issued](t)(s.Devices.Poll(t.Context(), start.DeviceCode.Reveal()))
	id := must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal()))
	if id.Name != "alice" || !id.Admin || id.Credential.Kind != Session || issued.Name != "kqueen on build-7" {
		t.Errorf("got %+v as %q", id, issued.Name)
	}
	poll("again", ErrInvalidGrant)
}

func TestDeviceOnce(t *testing.T) {
	s, _ := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	alice, _ := enter(t, s, "alice")
	start := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	if err := s.Devices.Answer(t.Context(), alice, start.UserCode, true, home); err != nil {
		t.Fatal(err)
	}
	wantOne(t, ErrInvalidGrant, func(int) error {
		_, err := s.Devices.Poll(t.Context(), start.DeviceCode.Reveal())
		return err
	})
}

func TestDeviceRefused(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "alice"})
	alice, session := enter(t, s, "alice")
	no := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	late := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	if err := s.Devices.Answer(t.Context(), alice, no.UserCode, false, home); err != nil {
		t.Fatal(err)
	}
	_, err := s.Devices.Poll(t.Context(), no.DeviceCode.Reveal())
	wantError(t, "denied", err, ErrAccessDenied)
	for _, text := range []string{"", "kq1_", session.Token.Reveal(), no.UserCode, no.DeviceCode.Reveal()} {
		_, err := s.Devices.Poll(t.Context(), text)
		wantError(t, "not a device code", err, ErrInvalidGrant)
	}
	c.pass(deviceLife)
	_, err = s.Devices.Poll(t.Context(), late.DeviceCode.Reveal())
	wantError(t, "late", err, ErrExpiredToken)
	wantError(t, "answered late", s.Devices.Answer(t.Context(), alice, late.UserCode, true, home), ErrNotFound)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = s.Devices.Poll(t.Context(), late.DeviceCode.Reveal())
	wantError(t, "swept", err, ErrInvalidGrant)
}

// TestUserCodesAreNotGuessed: wrong codes lock out, and a right one of one's own does not make them forgotten.
func TestUserCodesAreNotGuessed(t *testing.T) {
	s, c := open(t)
	addUser(t, s, NewUser{Name: "mallory"})
	mallory, _ := enter(t, s, "mallory")
	mine := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	for i := range 5 {
		must[DeviceRequest](t)(s.Devices.Get(t.Context(), mallory, mine.UserCode, Origin{}))
		_, err := s.Devices.Get(t.Context(), mallory, fmt.Sprint("BBBB-BBB", userCodeAlphabet[i:i+1]), Origin{})
		wantError(t, fmt.Sprint("guess ", i+1), err, ErrNotFound)
	}
	_, err := s.Devices.Get(t.Context(), mallory, mine.UserCode, Origin{})
	wantLocked(t, "the sixth", err, c.Now().Add(10*time.Second))
}

// TestPendingIsBounded: every caller may start, so one source is refused too many, and in all the oldest go.
func TestPendingIsBounded(t *testing.T) {
	s, c := open(t)
	for range maxPendingPerSource {
		must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	}
	_, err := s.Devices.Start(t.Context(), home)
	wantError(t, "too many", err, ErrTooMany)
	must[DeviceStart](t)(s.Devices.Start(t.Context(), Origin{Address: netip.MustParseAddr("192.0.2.8")}))
	c.pass(deviceLife)
	must[DeviceStart](t)(s.Devices.Start(t.Context(), home)) // the others are over

	oldest := must[DeviceStart](t)(s.Devices.Start(t.Context(), home))
	tx := must[sqlTx](t)(s.store.db.BeginTx(t.Context(), nil))
	for i := range maxPending {
		if _, err := tx.ExecContext(t.Context(), `INSERT INTO access_devices
			(id, hash, user_code, client, source, state, created, expires, period, polled)
			VALUES ($1, $2, $3, '', '', 'pending', 0, $4, 0, 0)`,
			fmt.Sprintf("z%06d", i), []byte{1}, fmt.Appendf(nil, "%d", i), oldest.Expires.UnixMicro()); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	must[DeviceStart](t)(s.Devices.Start(t.Context(), Origin{}))
	var rows int
	if err := s.store.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM access_devices`).Scan(&rows); err != nil || rows != maxPending {
		t.Errorf("%d rows, %v", rows, err)
	}
	_, err = s.Devices.Poll(t.Context(), oldest.DeviceCode.Reveal())
	wantError(t, "the oldest", err, ErrInvalidGrant)
}
