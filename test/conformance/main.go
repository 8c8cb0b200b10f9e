//go:build linux

// Command conformance runs upstream's conformance tests, or upstream's tests of what the addons promise, against a
// cluster that KQueen hosts, with nodes on this machine. It brings up a KQueen of its own in a temporary folder, with the images that the tests use, runs all
// tests that can run here, and takes everything away again. What passed, what failed, and what cannot run and why
// goes into the project's page about it.
//
// Its own test runs a few of the tests, chosen to be quick and telling.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
)

type options struct {
	program string // path of kqueen
	source  string // of KQueen
	tests   set    // which of upstream's
	results string // folder for logs and reports, which stay
	page    string
	focus   string
	phase   string // the one to run; empty: all
	level   string // of Pod Security, of the cluster
	procs   int
	nodes   int
	build   bool
	prove   bool
	judge   bool
}

func main() {
	o := options{level: v1alpha1.PodSecurityPrivileged, tests: conformanceTests()}
	flag.StringVar(&o.program, "program", "bin/kqueen", "path of kqueen")
	flag.StringVar(&o.source, "source", ".", "folder of KQueen's source")
	flag.StringVar(&o.results, "results", "bin/conformance", "folder for logs and reports")
	flag.StringVar(&o.page, "page", "", "page into which the results are written, such as docs/development/conformance.md")
	flag.StringVar(&o.focus, "focus", "", "run only tests whose names match this regular expression")
	flag.Func("tests", "which of upstream's tests: conformance, or addons for those of network policies, volumes and metrics (default conformance)", func(name string) (err error) {
		o.tests, err = setOf(name)
		return err
	})
	flag.StringVar(&o.phase, "phase", "", "run only one part: parallel or serial, and of the addons' tests policies, volumes, volumes-serial or autoscaling")
	flag.Func("level", "Pod Security level of the cluster: privileged, which upstream's tests are written for, baseline or restricted (default privileged)", func(text string) error {
		o.level = text
		return checkLevel(text)
	})
	flag.IntVar(&o.procs, "procs", 8, "how many tests run at a time, of those that may run beside each other")
	flag.IntVar(&o.nodes, "nodes", 2, "nodes of the cluster")
	flag.BoolVar(&o.build, "build", false, "build the tests and their images, where they are not built yet, and end")
	flag.BoolVar(&o.prove, "prove", false, "also run the tests that are said not to be able to, and fail when one of them passes")
	flag.BoolVar(&o.judge, "judge", false, "run nothing, and judge the reports that are in -results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	suite, err := ensureSuite(ctx, o.source, out)
	if err != nil || o.build {
		return err
	}
	if o.page != "" && (o.focus != "" || o.phase != "") {
		return errors.New("-page is for the results of all tests: leave out -focus and -phase")
	}
	var all ran
	if o.judge {
		all, err = readAll(o)
	} else {
		all, err = runAll(ctx, o, suite, out)
	}
	if err != nil {
		return err
	}
	r, err := judge(all, o.tests.missing)
	if err != nil {
		return err
	}
	r.Version, r.Command, r.Nodes, r.Procs, r.Level = suite.Version.String(), o.tests.command, o.nodes, o.procs, o.level
	r.print(out)
	if o.page != "" {
		if err := r.writePage(o.page); err != nil {
			return err
		}
	}
	return r.err()
}

// runAll brings up what is tested, tests it, and takes it away.
func runAll(ctx context.Context, o options, suite release.Suite, out io.Writer) (all ran, err error) {
	i, err := start(ctx, o.program, suite)
	if err != nil {
		return ran{}, err
	}
	defer func() { err = errors.Join(err, i.remove(context.WithoutCancel(ctx))) }()
	fmt.Fprintf(out, "  ✓ KQueen in %s\n", i.dir)
	if err := i.create(ctx, o.nodes, o.level); err != nil {
		return ran{}, err
	}
	fmt.Fprintf(out, "  ✓ a cluster with %d nodes and the Pod Security level %s\n", o.nodes, o.level)
	for _, p := range o.phases() {
		run := ginkgoRun{phase: p, suite: suite, cluster: i, out: out}
		if !o.prove {
			run.skip = skips(o.tests.missing)
		}
		if err := run.run(ctx, o.report(p)); err != nil {
			return ran{}, fmt.Errorf("%s tests: %w; see %s", p.name, err, logOf(o.report(p)))
		}
	}
	return readAll(o)
}

// readAll reads the reports of all phases that were chosen.
func readAll(o options) (ran, error) {
	all := ran{known: map[string]bool{}}
	for _, p := range o.phases() {
		some, err := readReport(o.report(p))
		if err != nil {
			return ran{}, fmt.Errorf("%s tests: %w; see %s", p.name, err, logOf(o.report(p)))
		}
		all.add(p, some)
	}
	return all, nil
}

// checkLevel takes one of the levels of Pod Security.
func checkLevel(text string) error {
	if !slices.Contains(v1alpha1.PodSecurityLevels(), text) {
		return fmt.Errorf("%q is none of %v", text, v1alpha1.PodSecurityLevels())
	}
	return nil
}

// phases are those that were chosen.
func (o options) phases() []phase {
	var chosen []phase
	for _, p := range o.tests.phases {
		if o.phase != "" && o.phase != p.name {
			continue
		}
		if p.procs == 0 {
			p.procs = o.procs
		}
		if o.focus != "" {
			p.focus = []string{o.focus}
		}
		chosen = append(chosen, p)
	}
	return chosen
}

// report is the file of ginkgo's report about a phase.
func (o options) report(p phase) string { return filepath.Join(o.results, p.name+".json") }

// logOf is the file beside a report with what the tests said.
func logOf(report string) string { return strings.TrimSuffix(report, ".json") + ".log" }

// ensureSuite builds the tests of the newest Kubernetes of the source where they are not built yet.
func ensureSuite(ctx context.Context, source string, out io.Writer) (release.Suite, error) {
	modules, err := release.Discover(ctx, source)
	if err != nil {
		return release.Suite{}, err
	}
	if len(modules) == 0 {
		return release.Suite{}, fmt.Errorf("no Kubernetes module in %s", filepath.Join(source, "kubernetes"))
	}
	dir, err := release.DefaultDir()
	if err != nil {
		return release.Suite{}, err
	}
	src := release.SuiteSource{
		Module: filepath.Join(source, "test", "conformance", modules[len(modules)-1].Version.MinorString()),
		Node:   filepath.Join(source, "node"),
	}
	begin, said := time.Now(), time.Time{}
	suite, err := release.NewStore(dir).EnsureSuite(ctx, src, func(s release.Step) {
		if time.Since(said) < progressInterval && s.Elapsed > 0 {
			return
		}
		said = time.Now()
		fmt.Fprintf(out, "  … conformance tests: %s   %s\n", s.Name, s.Elapsed.Round(time.Second))
	})
	if err != nil {
		return release.Suite{}, err
	}
	fmt.Fprintf(out, "  ✓ conformance tests of %s in %s   %s\n", suite.Version, suite.Dir, time.Since(begin).Round(time.Second))
	return suite, nil
}
