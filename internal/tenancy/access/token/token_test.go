package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestRoundTrip(t *testing.T) {
	pattern := regexp.MustCompile("^" + Pattern + "$")
	for _, kind := range kinds {
		made := New(kind, now)
		if !pattern.MatchString(made.Text().Reveal()) {
			t.Errorf("%s is not what scanners look for", made.Text().Reveal())
		}
		read, err := Parse(made.Text().Reveal())
		if err != nil || read != made || !read.Is(made.Hash()) {
			t.Errorf("%s reads as %v, %v", made.Text().Reveal(), read, err)
		}
		if other := New(kind, now); other.ID == made.ID || other.secret == made.secret || other.Is(made.Hash()) {
			t.Errorf("two tokens are alike: %s and %s", other.Text().Reveal(), made.Text().Reveal())
		}
		// The same secret under another kind is another token.
		moved := made
		moved.Kind = kinds[(slices.Index(kinds, kind)+1)%len(kinds)]
		if moved.Is(made.Hash()) {
			t.Errorf("%s is good as %s", kind, moved.Kind)
		}
	}
}

func TestIDsFollowTime(t *testing.T) {
	earlier, later := New(API, now), New(API, now.Add(time.Second))
	if earlier.ID >= later.ID {
		t.Errorf("%s was made before %s", earlier.ID, later.ID)
	}
}

func TestNoSecretInWords(t *testing.T) {
	made := New(Session, now)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, value := range []any{made, &made, struct{ Parts Parts }{made}, made.Text(), struct{ Token Secret }{made.Text()}} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, made.secret) {
				t.Errorf("%s shows the secret: %s", verb, text)
			}
		}
	}
}

func TestNoSecretEncoded(t *testing.T) {
	made := New(Session, now)
	encoded, err := json.Marshal(map[string]any{"token": made.Text(), "all": struct{ Token Secret }{made.Text()}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("made", "token", made.Text(), "in", []Secret{made.Text()})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "token", made.Text(), "in", []Secret{made.Text()})
	for _, text := range []string{string(encoded), log.String()} {
		if strings.Contains(text, made.secret) || !strings.Contains(text, hidden) {
			t.Errorf("got %s", text)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := New(API, now).Text().Reveal()
	tests := map[string]struct {
		text string
		want error
	}{
		"Empty":   {"", ErrNoToken},
		"JWT":     {"eyJhbGciOiJub25lIn0.e30.", ErrNoToken},
		"Upper":   {strings.ToUpper(good), ErrNoToken},
		"Prefix":  {"kqt_", ErrTorn},
		"Short":   {good[:len(good)-1], ErrTorn},
		"Long":    {good + "0", ErrTorn},
		"Space":   {good + " ", ErrTorn},
		"Swapped": {strings.Replace(good, "kqt_", "kqu_", 1), ErrTorn},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(tc.text); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	// A CRC finds every error in one character.
	for i := 4; i < len(good); i++ {
		changed := []byte(good)
		changed[i] = alphabet[(strings.IndexByte(alphabet, changed[i])+1)%len(alphabet)]
		if _, err := Parse(string(changed)); !errors.Is(err, ErrTorn) {
			t.Errorf("character %d was changed: %v", i, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(New(OneTime, now).Text().Reveal())
	f.Add("kq1_")
	f.Fuzz(func(t *testing.T, text string) {
		read, err := Parse(text)
		if err != nil {
			return
		}
		if read.Text().Reveal() != text || !slices.Contains(kinds, read.Kind) {
			t.Errorf("%q reads as %v", text, read)
		}
	})
}
