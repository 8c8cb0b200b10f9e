//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/text"
)

// spec is one test of a run.
type spec struct {
	Name    string
	State   string // one of ginkgo's
	Message string // of a failure, or why the test skipped itself
	Took    time.Duration
}

// States of ginkgo; every other one is a failure.
const (
	statePassed  = "passed"
	stateSkipped = "skipped"
)

// report is what one of ginkgo's tells.
type report struct {
	begin, end time.Time
	specs      []spec // all that there are
}

// ran is what several reports tell.
type ran struct {
	begin time.Time
	took  time.Duration
	// specs are the tests that ran, or were left out.
	specs []spec
	// known are the names of all tests that there are.
	known map[string]bool
}

// add adds the report of a phase.
func (r *ran) add(p phase, one report) {
	if r.begin.IsZero() {
		r.begin = one.begin
	}
	r.took += one.end.Sub(one.begin)
	for _, s := range one.specs {
		r.known[s.Name] = true
		if p.has(s.Name) {
			r.specs = append(r.specs, s)
		}
	}
}

// readReport reads ginkgo's JSON report.
func readReport(file string) (report, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return report{}, fmt.Errorf("read the report: %w", err)
	}
	var reports []struct {
		StartTime, EndTime time.Time
		SpecReports        []struct {
			ContainerHierarchyTexts    []string
			LeafNodeType, LeafNodeText string
			State                      string
			RunTime                    time.Duration
			Failure                    struct{ Message string }
		}
	}
	if err := json.Unmarshal(data, &reports); err != nil {
		return report{}, fmt.Errorf("read the report: %w", err)
	}
	var all report
	for _, r := range reports {
		all.begin, all.end = r.StartTime, r.EndTime
		for _, s := range r.SpecReports {
			name := strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
			if s.LeafNodeType == "It" {
				all.specs = append(all.specs, spec{Name: name, State: s.State, Message: s.Failure.Message, Took: s.RunTime})
				continue
			}
			if s.State != statePassed && s.State != stateSkipped {
				return report{}, fmt.Errorf("%s failed, so that the tests did not run: %s", s.LeafNodeType, s.Failure.Message)
			}
		}
	}
	return all, nil
}

// result is what became of all tests.
type result struct {
	Version      string
	Command      string // of make, which runs all
	Nodes, Procs int
	Level        string // of Pod Security
	Date         time.Time
	Took         time.Duration
	Passed       []spec
	Failed       []spec
	// NotRunnable are the names of tests that cannot run here, and what is missing.
	NotRunnable map[string]string
	// Left are how many were not chosen.
	Left int
}

// judge sorts what ran. A lack that no test has is an error, and so is one with a test that ran and passed.
func judge(all ran, lacks []lack) (result, error) {
	r := result{NotRunnable: map[string]string{}, Date: all.begin, Took: all.took}
	missing, err := reasons(lacks, all.known)
	errs := []error{err}
	for _, s := range all.specs {
		why, cannot := missing[s.Name]
		switch {
		case cannot && s.State == statePassed:
			errs = append(errs, fmt.Errorf("%q passed and is said not to be able to run (%s); take it from the table", s.Name, why))
		case cannot:
			r.NotRunnable[s.Name] = why
		case s.State == statePassed:
			r.Passed = append(r.Passed, s)
		case s.State == stateSkipped && s.Message == "":
			r.Left++
		case s.State == stateSkipped:
			s.Message = "it skipped itself, and no reason stands in the table: " + s.Message
			r.Failed = append(r.Failed, s)
		default:
			r.Failed = append(r.Failed, s)
		}
	}
	byName := func(a, b spec) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(r.Passed, byName)
	slices.SortFunc(r.Failed, byName)
	if len(r.Passed)+len(r.Failed) == 0 {
		errs = append(errs, errors.New("no test ran"))
	}
	return r, errors.Join(errs...)
}

// err is what makes the command fail. Upstream's tests expect an API server that bounds no pods; at another level, which
// of them fail is what a run is for.
func (r result) err() error {
	if len(r.Failed) > 0 && !r.bounded() {
		return fmt.Errorf("%d tests failed", len(r.Failed))
	}
	return nil
}

// bounded says whether the API server bounded what pods may do where no namespace says so.
func (r result) bounded() bool {
	return r.Level == v1alpha1.PodSecurityBaseline || r.Level == v1alpha1.PodSecurityRestricted
}

func (r result) print(out io.Writer) {
	for _, s := range r.Failed {
		fmt.Fprintf(out, "  ✗ %s\n      %s\n", s.Name, oneLine(s.Message))
	}
	for _, name := range sortedKeys(r.NotRunnable) {
		fmt.Fprintf(out, "  - %s\n      not runnable: %s\n", name, r.NotRunnable[name])
	}
	fmt.Fprintf(out, "%s after %s\n", r.counts(), r.Took.Round(time.Second))
}

func (r result) counts() string {
	line := fmt.Sprintf("%d passed, %d failed, %d not runnable", len(r.Passed), len(r.Failed), len(r.NotRunnable))
	if r.Left > 0 {
		line += fmt.Sprintf(", %d not chosen", r.Left)
	}
	return line
}

// oneLine is the readable part of a message of many lines.
func oneLine(message string) string { return text.CutLetters(text.Line(message), 300) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
