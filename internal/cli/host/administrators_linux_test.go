package host

import (
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/server/status"
)

// TestInvitation: the command that KQueen advises holds no secret: its arguments are seen by all users of the host while it waits for a password.
func TestInvitation(t *testing.T) {
	setup := &status.Setup{API: "https://127.0.0.1:8443", Token: "kq1_secret"}
	said := invitation("No user can sign in yet", setup, 14*time.Minute+50*time.Second, func(args string) string { return "kqueen " + args })
	want := `No user can sign in yet. Create the first administrator, within 15m, in the portal:
  https://127.0.0.1:8443/setup?token=kq1_secret
or with:
  kqueen login https://127.0.0.1:8443 --setup-token-file -
which asks for this token:
  kq1_secret`
	if said != want {
		t.Errorf("it says:\n%s\nwant:\n%s", said, want)
	}
	for line := range strings.Lines(said) {
		if strings.Contains(line, "kqueen ") && strings.Contains(line, setup.Token) {
			t.Errorf("a command with the token: %s", line)
		}
	}
}
