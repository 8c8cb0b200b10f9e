package access

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEndingsOutliveTheDatabase: while the database cannot be asked, what had ended has ended; when that is not known, there
// is no answer.
func TestEndingsOutliveTheDatabase(t *testing.T) {
	s, c := open(t)
	file := filepath.Join(t.TempDir(), "endings.json")
	must[UserInfo](t)(s.Users.Create(t.Context(), NewUser{Name: "alice", Password: bees}))
	issued := must[Issued](t)(s.Passwords.SignIn(t.Context(), "alice", bees, Origin{}))
	who := must[Identity](t)(s.Credentials.Authenticate(t.Context(), issued.Token.Reveal()))
	wantError(t, "enter", s.Entries.Enter(t.Context(), who, "cluster/1", c.now.Add(time.Hour)), nil)
	log := slog.New(slog.DiscardHandler)
	known := must[*Endings](t)(NewEndings(t.Context(), s.Entries, file, func(string) {}, log))
	wantError(t, "revoke", s.Credentials.Revoke(t.Context(), "alice", issued.ID), nil)
	must[[]string](t)(known.look(t.Context()))

	if err := s.store.db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := NewEndings(t.Context(), s.Entries, file, func(string) {}, log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{issued.ID}, again.Of("cluster/1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{"empty": "", "null": "null", "truncated": `{"cluster/1":["`, "another type": `[]`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := NewEndings(t.Context(), s.Entries, file, func(string) {}, log); err == nil {
			t.Errorf("%s: want that it is not known", name)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := NewEndings(t.Context(), s.Entries, file, func(string) {}, log); err == nil {
		t.Error("missing: want that it is not known")
	}
}
