package access

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEnded: what a user got with a session or token ends with it, whatever ends that, and not before.
func TestEnded(t *testing.T) {
	const cluster, other = "cluster/1", "cluster/2"
	tests := map[string]func(t *testing.T, s *Service, c *clock, issued Issued){
		"Revoked": func(t *testing.T, s *Service, _ *clock, issued Issued) {
			wantError(t, "revoke", s.Credentials.Revoke(t.Context(), "alice", issued.ID), nil)
		},
		"AllRevoked": func(t *testing.T, s *Service, _ *clock, _ Issued) {
			wantError(t, "revoke", s.Credentials.RevokeAll(t.Context(), "alice"), nil)
		},
		"Disabled": func(t *testing.T, s *Service, _ *clock, _ Issued) {
			wantError(t, "disable", s.Users.Disable(t.Context(), "alice"), nil)
		},
		"Deleted": func(t *testing.T, s *Service, _ *clock, _ Issued) {
			wantError(t, "delete", s.Users.Delete(t.Context(), "alice"), nil)
		},
		"Idle": func(_ *testing.T, s *Service, c *clock, _ Issued) { c.pass(s.Credentials.config.SessionIdle) },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			s, c := open(t)
			must[UserInfo](t)(s.Users.Create(t.Context(), NewUser{Name: "alice", Password: bees}))
			issued := must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", bees, Origin{}))
			who := must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal()))
			for _, audience := range []string{cluster, cluster, other} {
				wantError(t, "enter", s.Entries.Enter(t.Context(), who, audience, c.now.Add(10*time.Hour)), nil)
			}
			wantEnded(t, s, map[string][]string{})
			end(t, s, c, issued)
			wantEnded(t, s, map[string][]string{cluster: {issued.ID}, other: {issued.ID}})
			wantError(t, "sweep", s.Sweep(t.Context()), nil)
			wantEnded(t, s, map[string][]string{cluster: {issued.ID}, other: {issued.ID}})
			c.pass(10 * time.Hour)
			wantEnded(t, s, map[string][]string{})
			wantError(t, "sweep", s.Sweep(t.Context()), nil)
			var left int
			if err := s.store.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM access_entries`).Scan(&left); err != nil || left > 0 {
				t.Errorf("%d entries are left: %v", left, err)
			}
		})
	}
}

// TestEntriesAreBounded: no user makes the list of a cluster as long as they like.
func TestEntriesAreBounded(t *testing.T) {
	s, c := open(t)
	enter := func(name string, n int) error {
		return s.Entries.Enter(t.Context(), Identity{Name: name, Credential: Credential{ID: fmt.Sprint(name, n)}}, "cluster/1", c.now.Add(time.Hour))
	}
	for n := range maxEntries {
		wantError(t, "within", enter("alice", n), nil)
	}
	wantError(t, "one more", enter("alice", maxEntries), ErrTooMany)
	wantError(t, "the same again", enter("alice", 0), nil)
	wantError(t, "another user", enter("bob", 0), nil)
	if ended := must[map[string][]string](t)(s.Entries.Ended(t.Context())); len(ended["cluster/1"]) != maxEntries+1 {
		t.Errorf("%d have ended", len(ended["cluster/1"]))
	}
	c.pass(time.Hour)
	wantError(t, "later", enter("alice", maxEntries), nil)
}

func wantEnded(t *testing.T, s *Service, want map[string][]string) {
	t.Helper()
	if diff := cmp.Diff(want, must[map[string][]string](t)(s.Entries.Ended(t.Context()))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
