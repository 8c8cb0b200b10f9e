package enrollment

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/tenancy/access/token"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func agent() token.Parts { return token.New(token.Agent, now) }

func issued(t *testing.T, r *Record) token.Parts {
	t.Helper()
	text, expires := r.Issue(now)
	if want := now.Add(time.Hour); !expires.Equal(want) {
		t.Errorf("expires at %s, want %s", expires, want)
	}
	parts, err := token.Parse(text.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func enrolled(t *testing.T) (r Record, oneTime, identity token.Parts) {
	t.Helper()
	oneTime, identity = issued(t, &r), agent()
	if err := r.Enroll(oneTime, identity, "here", now); err != nil {
		t.Fatal(err)
	}
	return r, oneTime, identity
}

func TestEnroll(t *testing.T) {
	r, oneTime, identity := enrolled(t)
	for name, c := range map[string]struct {
		oneTime, identity token.Parts
		instance          string
		at                time.Time
		want              error
	}{
		"once more":              {oneTime, identity, "here", now.Add(time.Minute), nil},
		"another agent":          {oneTime, agent(), "here", now, ErrUnknown},
		"another token":          {token.New(token.OneTime, now), identity, "here", now, ErrUnknown},
		"too late":               {oneTime, identity, "here", now.Add(time.Hour), ErrUnknown},
		"identity as token":      {identity, identity, "here", now, ErrUnknown},
		"token as identity":      {oneTime, oneTime, "here", now, ErrUnknown},
		"without an instance":    {oneTime, identity, "", now, ErrInstance},
		"with a boundless place": {oneTime, identity, string(make([]byte, 65)), now, ErrInstance},
	} {
		one := *r.OneTime
		changed := r
		changed.OneTime = &one
		if err := changed.Enroll(c.oneTime, c.identity, c.instance, c.at); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	var none Record
	if err := none.Enroll(oneTime, identity, "here", now); !errors.Is(err, ErrUnknown) {
		t.Errorf("without a token: %v", err)
	}
}

// TestAnother: an agent goes on while a token for another one is there, and no longer when that one has enrolled.
func TestAnother(t *testing.T) {
	r, _, first := enrolled(t)
	oneTime, second := issued(t, &r), agent()
	if _, err := r.Accept(first, "here"); err != nil {
		t.Errorf("the first agent beside a token: %v", err)
	}
	if err := r.Enroll(oneTime, second, "there", now); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Accept(first, "here"); !errors.Is(err, ErrUnknown) {
		t.Errorf("the first agent after another one: %v", err)
	}
	if _, err := r.Accept(second, "there"); err != nil {
		t.Errorf("the second agent: %v", err)
	}
}

func TestRotate(t *testing.T) {
	r, oneTime, first := enrolled(t)
	second := agent()
	if err := r.Rotate(oneTime); !errors.Is(err, ErrUnknown) {
		t.Errorf("a token of another kind: %v", err)
	}
	for range 2 { // the answer to the first time was lost
		if err := r.Rotate(second); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		name     string
		identity token.Parts
		instance string
		changed  bool
		want     error
	}{
		{"the first one is good until the second one is used", first, "here", false, nil},
		{"the second one, elsewhere", second, "there", false, ErrElsewhere},
		{"the second one", second, "here", true, nil},
		{"the second one, again", second, "here", false, nil},
		{"the first one is over", first, "here", false, ErrUnknown},
		{"another one", agent(), "here", false, ErrUnknown},
		{"a token of another kind", oneTime, "here", false, ErrUnknown},
	}
	for _, s := range steps {
		changed, err := r.Accept(s.identity, s.instance)
		if changed != s.changed || !errors.Is(err, s.want) || (err == nil) != (s.want == nil) {
			t.Errorf("%s: %t %v, want %t %v", s.name, changed, err, s.changed, s.want)
		}
	}
	if err := r.Rotate(second); err != nil || len(r.Next) > 0 { // it has rotated, and does not know it
		t.Errorf("the present identity once more: %v, next %x", err, r.Next)
	}
}

func TestRecord(t *testing.T) {
	r, _, _ := enrolled(t)
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(data)
	if diff := cmp.Diff(r, again); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if none, err := Read(nil); err != nil || none.Enrolled() {
		t.Errorf("of nothing: %+v, %v", none, err)
	}
	if r, err := Read([]byte("{")); err == nil || r.Enrolled() {
		t.Errorf("of a damaged record: %+v, %v", r, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"identity":"aGFsbG8=","oneTime":{"hash":"","expires":"2026-03-01T12:00:00Z"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(data)
		if err != nil {
			return
		}
		// Nothing that a Secret may hold lets an agent in whose secret it does not have.
		if _, err := r.Accept(agent(), r.Instance); err == nil {
			t.Errorf("%q lets any agent in", data)
		}
		if err := r.Enroll(token.New(token.OneTime, now), agent(), "here", now); err == nil {
			t.Errorf("%q lets any agent enroll", data)
		}
	})
}
