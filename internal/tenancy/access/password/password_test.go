package password

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

var cheap = Cost{Memory: 64, Passes: 1, Lanes: 1}

func newChecker(t *testing.T, cost Cost) *Checker {
	t.Helper()
	c, err := NewChecker(t.Context(), cost)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheck(t *testing.T) {
	c := newChecker(t, cheap)
	hash, err := c.Hash(t.Context(), "Grüße aus Brünn")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Fatal(hash, err)
	}
	again, err := c.Hash(t.Context(), "Grüße aus Brünn")
	if err != nil || again == hash {
		t.Fatalf("no salt: %s, %v", again, err)
	}
	tests := map[string]struct {
		hash, password string
		want           bool
	}{
		"Right":      {hash, "Grüße aus Brünn", true},
		"Decomposed": {hash, "Gru\u0308ße aus Bru\u0308nn", true},
		"Wrong":      {hash, "Grüße aus Brünn ", false},
		"Empty":      {hash, "", false},
		"NoHash":     {"", "Grüße aus Brünn", false},
		"Decoy":      {"", "no user has it, and it would not be looked at", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if good, stale, err := c.Check(t.Context(), tc.hash, tc.password); err != nil || good != tc.want || stale {
				t.Errorf("got %v, stale %v, %v; want %v", good, stale, err, tc.want)
			}
		})
	}
	for _, broken := range []string{"x", "$2b$10$abc", strings.Replace(hash, "argon2id", "argon2d", 1), strings.Replace(hash, "v=19", "v=16", 1)} {
		if good, _, err := c.Check(t.Context(), broken, "Grüße aus Brünn"); good || err == nil || strings.Contains(err.Error(), "Grüße") {
			t.Errorf("%s: %v, %v", broken, good, err)
		}
	}
}

// TestStale: a hash of another cost is still good, and is to be made again.
func TestStale(t *testing.T) {
	hash, err := newChecker(t, cheap).Hash(t.Context(), "four words are enough")
	if err != nil {
		t.Fatal(err)
	}
	dearer := newChecker(t, Cost{Memory: 128, Passes: 1, Lanes: 1})
	if good, stale, err := dearer.Check(t.Context(), hash, "four words are enough"); !good || !stale || err != nil {
		t.Errorf("good %v, stale %v, %v", good, stale, err)
	}
}

// TestBounded: a caller who waits for a slot gives up with the context, and not too many wait.
func TestBounded(t *testing.T) {
	c := newChecker(t, cheap)
	for range atOnce {
		if err := c.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Check(ctx, "", "x"); err == nil {
		t.Error("checked more at once than there are slots")
	}
	if len(c.queue) != atOnce {
		t.Errorf("%d are in the queue, want %d", len(c.queue), atOnce)
	}
	for range maxWaiting {
		c.queue <- struct{}{}
	}
	if _, err := c.Hash(t.Context(), "x"); !errors.Is(err, ErrBusy) {
		t.Errorf("behind a full queue: %v", err)
	}
	for range maxWaiting {
		<-c.queue
	}
	var all sync.WaitGroup
	all.Go(func() {
		if _, _, err := c.Check(t.Context(), "", "x"); err != nil {
			t.Error(err)
		}
	})
	c.leave()
	all.Wait()
}

func TestDefaultCost(t *testing.T) {
	c := newChecker(t, Cost{})
	if !strings.HasPrefix(c.decoy, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Error(c.decoy)
	}
}

func TestRule(t *testing.T) {
	tests := map[string]struct{ password, want string }{
		"Sentence":    {"the bees left on monday", ""},
		"Unicode":     {"žluťoučký kůň", ""},
		"Longest":     {strings.Repeat("abcd", 32), ""},
		"Short":       {"elevenchars", "has 11 characters; want 12 to 128"},
		"Long":        {strings.Repeat("abcde", 26), "has 130 characters"},
		"Bytes":       {"ůůůůůůůůůůů", "has 11 characters"},
		"NotUTF8":     {"abcdefghij\xff\xfe\xfd", "is not UTF-8"},
		"Control":     {"abcdefghijk\nlmn", "has a control character"},
		"OneLetter":   {"aaaaaaaaaaaaaaa", "repeats a few characters"},
		"Common":      {"Password12345", "is one of the commonest"},
		"Signs":       {"P-a-s-s-w-o-r-d!1", "is one of the commonest"},
		"Twice":       {"letmeinletmein", "is one of the commonest"},
		"Keys":        {"qwertyuiop123", "is one of the commonest"},
		"Digits":      {"1234567890123", "is one of the commonest"},
		"Name":        {"Alice.Liddell", "is the name or the e-mail address"},
		"NameDigits":  {"alice.liddell1865", "is the name or the e-mail address"},
		"Email":       {"alice@example.com", "is the name or the e-mail address"},
		"NameBetween": {"alice.liddell went through the glass", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Rule(tc.password, "alice.liddell", "alice@example.com", "")
			if (tc.want == "") != (got == "") || !strings.HasPrefix(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzRule(f *testing.F) {
	f.Add("the bees left on monday")
	f.Fuzz(func(t *testing.T, text string) {
		if Rule(text) == "" && TooLong(text) {
			t.Errorf("%q may be set and could not be used", text)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	c, err := NewChecker(b.Context(), Cost{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := c.Check(b.Context(), "", "the bees left on monday"); err != nil {
			b.Fatal(err)
		}
	}
}
