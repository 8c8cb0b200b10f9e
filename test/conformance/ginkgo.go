//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"kqueen.io/kqueen/internal/hosting/release"
)

const (
	// progressInterval is the time between two lines about what goes on.
	progressInterval = 30 * time.Second
	// phaseTimeout is far above what a phase takes on two busy processors.
	phaseTimeout = 3 * time.Hour
	// stopGrace is for the tests to clean up after an interrupt.
	stopGrace = time.Minute
	// nice lets whatever else runs on this machine go first.
	nice = "5"
)

// ginkgoRun runs the tests of one phase.
type ginkgoRun struct {
	phase   phase
	suite   release.Suite
	cluster *installation
	skip    []string // regular expressions of what the phase leaves out besides
	out     io.Writer
}

// arguments are those of ginkgo. Of several focuses one has to match; of several skips none may.
func (r ginkgoRun) arguments(report string) []string {
	args := []string{
		"run", "--procs=" + strconv.Itoa(r.phase.procs), "--timeout=" + phaseTimeout.String(), "--no-color",
		"--output-dir=" + filepath.Dir(report), "--json-report=" + filepath.Base(report), "--keep-separate-reports=false",
		"--label-filter=" + r.phase.filter(),
	}
	for _, expr := range r.phase.focus {
		args = append(args, "--focus="+expr)
	}
	for _, expr := range slices.Concat(r.phase.skip, r.skip) {
		args = append(args, "--skip="+expr)
	}
	return append(args, r.suite.Tests(), "--", "--storage.testdriver="+r.cluster.testDriver(),
		"--kubeconfig="+r.cluster.kubeconfig(), "--kubectl-path="+r.cluster.kubectl,
		"--provider=skeleton", "--dump-logs-on-failure=false")
}

// run runs the tests of the phase, of which ginkgo writes a report. That some failed is no error.
func (r ginkgoRun) run(ctx context.Context, report string) error {
	report, err := filepath.Abs(report)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(report), 0o755); err != nil {
		return err
	}
	if err := os.Remove(report); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := os.Create(logOf(report))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", nice, r.suite.Runner()}, r.arguments(report)...)...)
	cmd.Env = append(os.Environ(), "KUBE_TEST_REPO_LIST="+r.suite.Registries())
	cmd.Dir = r.cluster.base
	watch := &progress{log: log}
	cmd.Stdout, cmd.Stderr = watch, watch
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = stopGrace
	if err := r.wait(cmd, watch); err != nil {
		return err
	}
	return ctx.Err()
}

// wait waits for the end of the tests and says now and then how far they are.
func (r ginkgoRun) wait(cmd *exec.Cmd, watch *progress) error {
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(r.out, "  … %s tests: %s   %s\n", r.phase.name, watch, time.Since(begin).Round(time.Second))
		case err := <-done:
			fmt.Fprintf(r.out, "  ✓ %s tests: %s   %s\n", r.phase.name, watch, time.Since(begin).Round(time.Second))
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() { // some failed; the report says which
				return nil
			}
			return err
		}
	}
}

// progress counts in ginkgo's output, which it writes to a log.
type progress struct {
	mu           sync.Mutex
	log          io.Writer
	part         []byte // of the last line
	total        string
	done, failed int
}

// Write implements [io.Writer].
func (p *progress) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += bytes.Count(data, []byte("•")) // ginkgo's mark of a test that ran, in one piece
	p.failed += bytes.Count(data, []byte("• [FAILED]"))
	if p.total == "" && len(p.part) < 64<<10 {
		p.part = append(p.part, data...)
		if found := willRun.FindSubmatch(p.part); found != nil {
			p.total, p.part = string(found[1]), nil
		}
	}
	return p.log.Write(data)
}

var willRun = regexp.MustCompile(`Will run (\d+) of \d+ specs`)

func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == "" {
		return "starting"
	}
	return fmt.Sprintf("%d of %s done, %d failed", p.done, p.total, p.failed)
}
