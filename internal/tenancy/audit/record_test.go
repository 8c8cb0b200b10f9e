package audit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
	"kqueen.io/kqueen/internal/platform/invalid"
)

func TestNormalizeRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(*Record)
		field  string
	}{
		"NoActor":     {func(r *Record) { r.Actor.Kind = "" }, "actor.kind"},
		"NoAction":    {func(r *Record) { r.Action = "" }, "action"},
		"NoOutcome":   {func(r *Record) { r.Outcome = "" }, "outcome"},
		"Outcome":     {func(r *Record) { r.Outcome = "maybe" }, "outcome"},
		"Status":      {func(r *Record) { r.Status = 600 }, "status"},
		"Negative":    {func(r *Record) { r.Status = -1 }, "status"},
		"ASecret":     {func(r *Record) { r.Before = "marker" }, "before"},
		"ShortDigest": {func(r *Record) { r.After = "abcd" }, "after"},
		"UpperCase":   {func(r *Record) { r.After = strings.ToUpper(digest("x")) }, "after"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := sample(1)
			tc.change(&r)
			err := r.normalize()
			problem, ok := errors.AsType[*invalid.Error](err)
			if !ok || problem.Field != tc.field || strings.Contains(err.Error(), "marker") {
				t.Errorf("got %v, want what is wrong with %s", err, tc.field)
			}
		})
	}
}

func TestClean(t *testing.T) {
	cases := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"Plain":      {"Zoë → 北京 🙂", 64, "Zoë → 北京 🙂"},
		"Empty":      {"", 64, ""},
		"Full":       {"12345678", 8, "12345678"},
		"Cut":        {"123456789", 8, "12345…"},
		"CutInRune":  {"1234éééé", 8, "1234…"},
		"Controls":   {"a\x00b\nc\x1b[31md\x7fe\u0085", 64, "a�b�c�[31md�e�"},
		"Directions": {"a\u202eb\u2066c\u200bd\u2028e\ufeff", 64, "a�b�c�d�e�"},
		"NotUTF8":    {"a\xff\xfeb", 64, "a��b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := clean(tc.text, tc.limit); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x00\u202e", 8)
	f.Add(strings.Repeat("é", 40), 9)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 8 + int(uint(limit)%100)
		got := clean(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || clean(got, limit) != got {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// TestBounds: what comes from outside without bounds is kept with them, and comes back as it was kept.
func TestBounds(t *testing.T) {
	long := strings.Repeat("\x00é", 1<<16)
	detail := map[string]string{"": "no name"}
	for n := range 100 {
		detail[fmt.Sprintf("key-%03d", n)] = long
	}
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		r := Record{
			Actor: Actor{Kind: long, Name: long, Credential: long}, Action: long, Organization: long, Object: Object{Kind: long, Name: long, UID: long},
			Source: long, UserAgent: long, RequestID: long, Outcome: Failed, Reason: long, Detail: detail,
		}
		appended, err := l.Append(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []struct {
			text  string
			limit int
		}{
			{appended.Actor.Kind, maxWord}, {appended.Actor.Name, maxName}, {appended.Actor.Credential, maxWord}, {appended.Action, maxWord},
			{appended.Organization, maxWord}, {appended.Object.Kind, maxWord}, {appended.Object.Name, maxName}, {appended.Object.UID, maxWord},
			{appended.Source, maxWord}, {appended.UserAgent, maxName}, {appended.RequestID, maxWord}, {appended.Reason, maxReason},
			{appended.Detail["key-000"], maxName},
		} {
			if len(field.text) > field.limit || len(field.text) < field.limit-5 || strings.Contains(field.text, "\x00") {
				t.Errorf("%d bytes where %d may be", len(field.text), field.limit)
			}
		}
		if len(appended.Detail) > maxDetails || appended.Detail["…"] != "86 more" || appended.Detail[""] != "" {
			t.Errorf("%d details, %q", len(appended.Detail), appended.Detail["…"])
		}
		page, err := l.List(t.Context(), Filter{AllOrganizations: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Record{appended}, page.Records); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if lines := export(t, l, Filter{AllOrganizations: true}); len(lines[0]) > maxLine || !verifyExport(t, lines).Sound() {
			t.Errorf("its line has %d bytes", len(lines[0]))
		}
	})
}

// TestHash: the encoding is as docs/operations/audit.md says, and no field can pass for a part of its neighbour.
func TestHash(t *testing.T) {
	k, err := newKeys(testKey)
	if err != nil {
		t.Fatal(err)
	}
	r := sample(1)
	r.Sequence, r.Previous = 1, origin
	seen := map[string]string{k.hash(r): "the record"}
	for name, change := range map[string]func(*Record){
		"moved":     func(r *Record) { r.Actor.Kind, r.Actor.Name = r.Actor.Kind+r.Actor.Name[:1], r.Actor.Name[1:] },
		"exchanged": func(r *Record) { r.Object.Kind, r.Object.Name = r.Object.Name, r.Object.Kind },
		"detail":    func(r *Record) { r.Detail = map[string]string{"a": "1b", "": "<2>"} },
		"less":      func(r *Record) { r.Detail = nil },
		"sequence":  func(r *Record) { r.Sequence = 2 },
	} {
		other := r
		change(&other)
		if as, ok := seen[k.hash(other)]; ok {
			t.Errorf("%s has the hash of %s", name, as)
		}
		seen[k.hash(other)] = name
	}
}

// TestHashIsForEver: the encoding of logs that were written does not change. docs/operations/audit.md has the same example.
func TestHashIsForEver(t *testing.T) {
	key := make([]byte, KeySize)
	for i := range key {
		key[i] = byte(i)
	}
	k, err := newKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	r := Record{
		Time: time.UnixMicro(1767225600123456), Actor: Actor{Kind: User, Name: "Zoë", Credential: "t-1"}, Action: "create",
		Organization: "acme", Object: Object{Kind: "Cluster", Name: "blue", UID: "u-1"}, Source: "192.0.2.1", UserAgent: "curl/8",
		RequestID: "r-1", Outcome: Succeeded, Status: 201, After: digest("content"), Detail: map[string]string{"dryRun": "false"},
	}
	head := k.link(&r, Head{Hash: origin})
	const wantHash = "533afc46e94556a9cf3fb61c61bff769a5e0d05fde1785f1f523b3a8a23220a1"
	const wantSignature = "feace2edd51595f475f7d8ebb5d49fb697577ba2e332c501b482ec2a42b856d3"
	if head.Hash != wantHash {
		t.Errorf("hash %s, want %s", head.Hash, wantHash)
	}
	if got := k.signHead(head); got != wantSignature {
		t.Errorf("signature of the head %s, want %s", got, wantSignature)
	}
}
