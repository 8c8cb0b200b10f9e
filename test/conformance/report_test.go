//go:build linux

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

func TestJudge(t *testing.T) {
	specs := []spec{
		{Name: "b passes [Conformance]", State: "passed"},
		{Name: "a passes [Conformance]", State: "passed"},
		{Name: "fails [Conformance]", State: "failed", Message: "expected 1\nto equal 2"},
		{Name: "takes too long [Conformance]", State: "timedout"},
		{Name: "skips itself [Conformance]", State: "skipped", Message: "needs three nodes"},
		{Name: "is not chosen [Conformance]", State: "skipped"},
		{Name: "needs a registry [Conformance]", State: "skipped"},
	}
	got, err := judge(ranOf(specs), []lack{{"^needs a registry", "no registry"}})
	if err != nil {
		t.Fatal(err)
	}
	want := result{
		Passed: []spec{specs[1], specs[0]},
		Failed: []spec{
			specs[2],
			{Name: "skips itself [Conformance]", State: "skipped", Message: "it skipped itself, and no reason stands in the table: needs three nodes"},
			specs[3],
		},
		NotRunnable: map[string]string{"needs a registry [Conformance]": "no registry"},
		Left:        1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if err := got.err(); err == nil || err.Error() != "3 tests failed" {
		t.Errorf("with failures: %v", err)
	}
	if err := (result{Passed: specs[:1]}).err(); err != nil {
		t.Errorf("without: %v", err)
	}
}

func ranOf(specs []spec) ran {
	all := ran{known: map[string]bool{}}
	all.add(phase{focus: []string{""}}, report{specs: specs})
	return all
}

func TestJudgeRefuses(t *testing.T) {
	passed := spec{Name: "passes [Conformance]", State: "passed"}
	for name, tc := range map[string]struct {
		specs   []spec
		missing []lack
		want    string
	}{
		"Dead":   {[]spec{passed}, []lack{{"gone", "why"}}, `"gone" is said not to be able to run, and is no test`},
		"Untrue": {[]spec{passed}, []lack{{`passes \[Conformance\]$`, "no wings"}}, `"passes [Conformance]" passed and is said not to be able to run (no wings)`},
		"Empty":  {[]spec{{Name: "is not chosen [Conformance]", State: "skipped"}}, nil, "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := judge(ranOf(tc.specs), tc.missing); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v does not say %q", err, tc.want)
			}
		})
	}
}

func TestReadReport(t *testing.T) {
	got, err := readReport("testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	want := report{begin: begin, end: begin.Add(time.Hour), specs: []spec{
		{Name: "[sig-node] Pods should run [Conformance]", State: "passed", Took: 2 * time.Second},
		{Name: "[sig-node] Pods should fail [Conformance]", State: "failed", Message: "expected 1\nto equal 2"},
		{Name: "[sig-node] other", State: "skipped"},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(report{})); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for file, want := range map[string]string{
		"testdata/report-suite-failed.json": "SynchronizedBeforeSuite failed, so that the tests did not run: no nodes",
		"testdata/none.json":                "read the report: open",
		"testdata/page.golden":              "read the report: invalid character",
	} {
		if _, err := readReport(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", file, err, want)
		}
	}
}

func TestPage(t *testing.T) {
	r := result{
		Version: "v1.99.9", Command: "make conformance", Nodes: 2, Procs: 3, Date: time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC), Took: 83*time.Minute + 20*time.Second,
		Passed:      []spec{{Name: "[sig-node] Pods should run [Conformance]"}},
		Failed:      []spec{{Name: "[sig-node] Pods should_fail * [Conformance]", Message: "expected 1\nto equal 2"}},
		NotRunnable: map[string]string{"[sig-node] Pods should pull [Conformance]": "there is no registry"},
		Level:       v1alpha1.PodSecurityPrivileged,
	}
	bounded := r
	bounded.Level = v1alpha1.PodSecurityBaseline
	if r.err() == nil || bounded.err() != nil {
		t.Errorf("a test that fails ends the command with %v and, at a level that upstream's tests do not expect, with %v", r.err(), bounded.err())
	}
	before, after := "# Conformance\n\nWords.\n\n", "\nMore words.\n"
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(page, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begins, ends := marks(r.Level)
	boundedBegins, boundedEnds := marks(bounded.Level)
	write(before + begins + "what was there\n" + ends + "\nWords between.\n\n" + boundedBegins + boundedEnds + after)
	for _, one := range []result{r, bounded, r, bounded} { // the second time replaces what the first has written
		if err := one.writePage(page); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/page.golden", got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/page.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("-want, +got; -update writes it:\n%s", diff)
	}
	write(before + after)
	if err := r.writePage(page); err == nil || !strings.Contains(err.Error(), "lacks one of the lines") {
		t.Errorf("a page without a place: %v", err)
	}
}

func TestProgress(t *testing.T) {
	var log strings.Builder
	p := &progress{log: &log}
	for _, step := range []struct{ output, want string }{
		{"Random Seed: 1\n\nWill ru", "starting"},
		{"n 417 of 7579 specs\nRunning\n", "0 of 417 done, 0 failed"},
		{"SS•SS•", "2 of 417 done, 0 failed"},
		{"\n• [FAILED] [4.159 seconds]\n[sig-node] name [Conformance]\n", "3 of 417 done, 1 failed"},
	} {
		if _, err := p.Write([]byte(step.output)); err != nil {
			t.Fatal(err)
		}
		if got := p.String(); got != step.want {
			t.Errorf("after %q: %q, want %q", step.output, got, step.want)
		}
	}
	if !strings.HasPrefix(log.String(), "Random Seed") || !strings.HasSuffix(log.String(), "[Conformance]\n") {
		t.Errorf("the log holds %q", &log)
	}
}
