package issuer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestVerify: a token is taken back for its own audience while it lives, and nothing else is.
func TestVerify(t *testing.T) {
	ours, theirs := serve(t), serve(t)
	ours.renew(t)
	theirs.renew(t)
	want := claims()
	want.Groups, want.Lifetime = []string{"edit", "view"}, time.Hour
	other := want
	other.Subject = "mallory@example.com"
	token, expires, err := ours.Sign(want)
	if err != nil {
		t.Fatal(err)
	}
	foreign, _, err := theirs.Sign(other)
	if err != nil {
		t.Fatal(err)
	}
	got, until, err := ours.Verify(token, want.Audience)
	got.Lifetime = want.Lifetime // which no token says
	if diff := cmp.Diff(want, got); err != nil || diff != "" || !until.Equal(expires) {
		t.Errorf("until %s, want %s: %v (-want +got):\n%s", until, expires, err, diff)
	}
	parts := strings.Split(token, ".")
	for name, tc := range map[string]struct {
		token, audience string
		later           time.Duration
	}{
		"Audience":  {token, want.Audience + "x", 0},
		"Expired":   {token, want.Audience, want.Lifetime},
		"Foreign":   {foreign, want.Audience, 0},
		"Nothing":   {"", want.Audience, 0},
		"Unsigned":  {"eyJhbGciOiJub25lIn0." + parts[1] + ".", want.Audience, 0},
		"Cut":       {parts[0] + "." + parts[1] + ".", want.Audience, 0},
		"Exchanged": {parts[0] + "." + strings.Split(foreign, ".")[1] + "." + parts[2], want.Audience, 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := ours.clock.now
			ours.clock.now = before.Add(tc.later)
			defer func() { ours.clock.now = before }()
			if got, _, err := ours.Verify(tc.token, tc.audience); !errors.Is(err, ErrRefused) {
				t.Errorf("taken: %+v, %v", got, err)
			}
		})
	}
}
