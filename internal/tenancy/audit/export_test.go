package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// export returns the lines of an export.
func export(t *testing.T, l *Log, f Filter) []string {
	t.Helper()
	var out bytes.Buffer
	if err := l.Export(t.Context(), &out, f); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(out.String()))
}

func verifyExport(t *testing.T, lines []string) Report {
	t.Helper()
	report, err := VerifyExport(strings.NewReader(strings.Join(lines, "")), testKey)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestExport: what is exported is what was appended, and is verified without the database.
func TestExport(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		if report := verifyExport(t, export(t, l, Filter{AllOrganizations: true})); !report.Sound() || !report.Complete {
			t.Errorf("of an empty log: %+v", report)
		}
		records := fill(t, l, 9)
		head := Head{Sequence: 9, Hash: records[8].Hash}
		lines := export(t, l, Filter{AllOrganizations: true})
		if diff := cmp.Diff(Report{Records: 9, Head: head, Complete: true}, verifyExport(t, lines)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		var got []Record
		for _, text := range lines[:9] {
			var decoded struct{ Record Record }
			if err := json.Unmarshal([]byte(text), &decoded); err != nil {
				t.Fatal(err)
			}
			got = append(got, decoded.Record)
		}
		if diff := cmp.Diff(records, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		part := export(t, l, Filter{Organization: "globex"})
		if diff := cmp.Diff(Report{Records: 3, Head: head}, verifyExport(t, part)); diff != "" {
			t.Errorf("of a part, -want +got:\n%s", diff)
		}
		if strings.Contains(strings.Join(part, ""), "acme") {
			t.Errorf("the export of one organization has another one's records: %s", part)
		}
	})
}

func TestExportRefuses(t *testing.T) {
	l := open(t, databasetest.Open(t, databasetest.SQLite(t)))
	for name, f := range map[string]Filter{
		"NoScope": {}, "Order": {AllOrganizations: true, OldestFirst: true}, "Limit": {AllOrganizations: true, Limit: 1},
		"Cursor": {AllOrganizations: true, Cursor: "x"},
	} {
		var out bytes.Buffer
		err := l.Export(t.Context(), &out, f)
		if _, ok := errors.AsType[*invalid.Error](err); !ok || out.Len() > 0 {
			t.Errorf("%s: got %v, %s", name, err, &out)
		}
	}
}

// TestExportPages: an export of more than one page has each record once.
func TestExportPages(t *testing.T) {
	l := open(t, databasetest.Open(t, databasetest.SQLite(t)))
	appendMany(t, l, MaxLimit+1)
	if report := verifyExport(t, export(t, l, Filter{AllOrganizations: true})); !report.Sound() || report.Records != MaxLimit+1 {
		t.Errorf("%+v", report)
	}
}

func TestVerifyExportTampered(t *testing.T) {
	l := open(t, databasetest.Open(t, databasetest.SQLite(t)))
	fill(t, l, 6)
	complete, part := export(t, l, Filter{AllOrganizations: true}), export(t, l, Filter{Organization: "globex"}) // records 1 and 4
	fill(t, l, 2)
	later := export(t, l, Filter{AllOrganizations: true})
	replaced := func(lines []string, i int, from, to string) []string {
		lines = slices.Clone(lines)
		if !strings.Contains(lines[i], from) {
			t.Fatalf("line %d has no %q: %s", i, from, lines[i])
		}
		lines[i] = strings.Replace(lines[i], from, to, 1)
		return lines
	}
	without := func(lines []string, i int) []string { return slices.Delete(slices.Clone(lines), i, i+1) }
	cases := map[string]struct {
		lines []string
		want  []Problem
	}{
		"Changed":       {replaced(complete, 2, `"because"`, `"forged"`), []Problem{{3, 3, Changed}}},
		"ChangedInPart": {replaced(part, 1, `"because"`, `"forged"`), []Problem{{4, 4, Changed}}},
		"HashChanged":   {replaced(complete, 2, `"hash":"`, `"hash":"0`), []Problem{{3, 3, Changed}, {6, 6, SealChanged}}},
		"First":         {without(complete, 0), []Problem{{1, 1, Missing}, {6, 6, SealChanged}}},
		"Middle":        {without(complete, 3), []Problem{{4, 4, Missing}, {6, 6, SealChanged}}},
		"Last":          {without(complete, 5), []Problem{{6, 6, Missing}, {6, 6, SealChanged}}},
		"OfPart":        {without(part, 0), []Problem{{6, 6, SealChanged}}},
		"Twice":         {slices.Insert(slices.Clone(part), 1, part[0]), []Problem{{1, 1, OutOfOrder}, {6, 6, SealChanged}}},
		"Seal":          {without(complete, 6), []Problem{{7, 7, SealMissing}}},
		"Nothing":       {nil, []Problem{{1, 1, SealMissing}}},
		"SealOfOther":   {slices.Concat(complete[:6], later[8:]), []Problem{{7, 8, Missing}, {8, 8, SealChanged}}},
		"PartAsWhole":   {replaced(part, 2, "false", "true"), []Problem{{2, 3, Missing}, {5, 6, Missing}, {6, 6, SealChanged}}},
		"WholeAsPart":   {replaced(complete, 6, "true", "false"), []Problem{{6, 6, SealChanged}}},
		"Signature":     {replaced(complete, 6, `"signature":"`, `"signature":"0`), []Problem{{6, 6, SealChanged}}},
		"Swapped": {
			slices.Concat(complete[:1], complete[2:3], complete[1:2], complete[3:]),
			[]Problem{{2, 2, Missing}, {2, 2, OutOfOrder}, {6, 6, SealChanged}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, verifyExport(t, tc.lines).Problems); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	forms := map[string]struct {
		lines []string
		want  string
	}{
		"NoJSON":        {[]string{"x\n"}, "line 1: is no JSON"},
		"Empty":         {[]string{"\n"}, "line 1: is no JSON"},
		"Neither":       {[]string{"{}\n"}, "line 1: want"},
		"Both":          {[]string{`{"record":{},"seal":{}}` + "\n"}, "line 1: want"},
		"FieldTwice":    {replaced(complete, 1, `{"sequence"`, `{"sequence":9,"sequence"`), "line 2: does not have the form"},
		"UnknownField":  {replaced(complete, 1, `{"sequence"`, `{"more":9,"sequence"`), "line 2: does not have the form"},
		"OtherLetters":  {replaced(complete, 1, `"reason"`, `"Reason"`), "line 2: does not have the form"},
		"Spaces":        {replaced(complete, 1, `,`, `, `), "line 2: does not have the form"},
		"SubMicros":     {replaced(complete, 1, `Z","actor"`, `0Z","actor"`), "line 2: does not have the form"},
		"BehindTheSeal": {slices.Concat(complete, complete[:1]), "line 8: stands behind the seal"},
		"LongLine":      {[]string{strings.Repeat("x", maxLine+1)}, "line 1: "},
	}
	for name, tc := range forms {
		t.Run(name, func(t *testing.T) {
			_, err := VerifyExport(strings.NewReader(strings.Join(tc.lines, "")), testKey)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestVerifyExportOtherKey: without the key nothing is taken for what was written.
func TestVerifyExportOtherKey(t *testing.T) {
	l := open(t, databasetest.Open(t, databasetest.SQLite(t)))
	fill(t, l, 2)
	text := strings.Join(export(t, l, Filter{AllOrganizations: true}), "")
	report, err := VerifyExport(strings.NewReader(text), make([]byte, KeySize))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Problem{{1, 1, Changed}, {2, 2, Changed}, {2, 2, SealChanged}}, report.Problems); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := VerifyExport(strings.NewReader(text), nil); err == nil {
		t.Error("verified without a key")
	}
}

// FuzzVerifyExport: whatever the text, it is an error, or problems are named, unless it is what was exported.
func FuzzVerifyExport(f *testing.F) {
	k, err := newKeys(testKey)
	if err != nil {
		f.Fatal(err)
	}
	var whole bytes.Buffer
	out, sealed, head := json.NewEncoder(&whole), newSealer(), Head{Hash: origin}
	out.SetEscapeHTML(false)
	for n := range 3 {
		r := sample(n)
		head = k.link(&r, head)
		sealed.add(r)
		if err := out.Encode(line{Record: &r}); err != nil {
			f.Fatal(err)
		}
	}
	end := sealed.seal(k, true, head)
	if err := out.Encode(line{Seal: &end}); err != nil {
		f.Fatal(err)
	}
	genuine := bytes.Clone(whole.Bytes())
	if report, err := VerifyExport(&whole, testKey); err != nil || !report.Sound() || report.Records != 3 {
		f.Fatal(report, err)
	}
	f.Add(genuine)
	f.Add(genuine[:len(genuine)/2])
	f.Add([]byte(`{"seal":{"records":0,"complete":true,"head":{"sequence":9223372036854775807,"hash":""},"digest":"","signature":""}}`))
	f.Add([]byte(fmt.Sprintf(`{"record":{"sequence":-1,"time":"2026-01-01T00:00:00Z","actor":{"kind":""},"action":"","outcome":"","previous":"","hash":%q}}`, origin)))
	f.Fuzz(func(t *testing.T, text []byte) {
		report, err := VerifyExport(bytes.NewReader(text), testKey)
		lines := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		if err == nil && report.Sound() && !bytes.Equal(bytes.TrimRight(lines, "\r\n"), bytes.TrimRight(genuine, "\n")) {
			t.Errorf("taken as sound: %q", text)
		}
	})
}
