package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/logfile"
	"kqueen.io/kqueen/internal/server/status"
)

// logsFlags are the flags of `logs`.
type logsFlags struct {
	follow, previous bool
	since            time.Duration
	tail             int
}

func newLogsCommand(e *connection.Env) *cobra.Command {
	flags := logsFlags{}
	cmd := &cobra.Command{
		Use:   "logs [WORKLOAD] [COMPONENT]",
		Short: "Show what KQueen, its programs and those of clusters and machines log",
		Long: `Show what a program on this machine logs. Programs are named as "kqueen status"
names them: by workload, such as default/demo for the control plane of the cluster demo
of the organization default, or default/workers-x7k2p for a node, and component, such as
kube-apiserver. A workload alone shows all of its programs, a component alone does
where there is one of that name. Without any, KQueen's own log is shown.

With --previous it is what was logged before the process that runs now was started;
of KQueen itself, what it wrote to standard error when it crashed last. Logs are
bounded: what is too old is gone. Users of clusters see those of their pods with
kubectl.`,
		Example: `  kqueen logs
  kqueen logs default/demo kube-apiserver --tail 20
  kqueen logs demo kube-apiserver --previous
  kqueen logs etcd --since 10m -f
  kqueen logs kqueen --previous`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return exit.UsageError(cmd, "%s takes a workload and a component, but there is also %q", cmd.CommandPath(), args[2])
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeLogs(cmd.Context(), e, args, begun), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case flags.previous && flags.follow:
				return exit.UsageError(cmd, "--previous: a process that has ended writes nothing more; leave out --follow")
			case flags.since < 0:
				return exit.UsageError(cmd, "--since: %s is in the future", flags.since)
			}
			return showLogs(cmd.Context(), e, flags, args)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.follow, "follow", "f", false, "go on with what is logged from now on, until interrupted")
	f.BoolVarP(&flags.previous, "previous", "p", false, "what was logged before the process that runs now; of KQueen, its last crash")
	f.DurationVar(&flags.since, "since", 0, "only what was logged in the time until now, such as 10m (default all)")
	f.IntVar(&flags.tail, "tail", -1, "so many of the last lines of each program; -1 for all")
	for _, name := range []string{"since", "tail"} {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
	return cmd
}

// findLogs finds all logs of the installation, whether it runs or not.
func findLogs(ctx context.Context, e *connection.Env) (dir string, all []logSource, err error) {
	dir, err = e.AbsoluteDataDir()
	if err != nil {
		return "", nil, err
	}
	if !app.Used(dir) {
		return "", nil, exit.Fail(exit.Failed, "KQueen is not set up in %s; start it with: %s", dir, e.Command("up"))
	}
	st, err := status.Read(ctx, dir)
	if err != nil { // then it is not known since when programs run
		st = nil
	}
	all, err = logSources(dir, st)
	return dir, all, err
}

func showLogs(ctx context.Context, e *connection.Env, flags logsFlags, args []string) error {
	dir, all, err := findLogs(ctx, e)
	if err != nil {
		return err
	}
	chosen, err := chooseLogs(all, args)
	if err != nil {
		return err
	}
	out := &linesOut{out: e.Stdout, terminal: console.IsTerminal(e.Stdout)}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range chosen {
		filter, err := flags.filter(dir, &s, time.Now())
		if err != nil {
			return err
		}
		to := &lineWriter{to: out}
		if len(chosen) > 1 {
			to.prefix = "[" + s.Component + "] "
		}
		place, err := s.Copy(to, filter)
		if err != nil {
			return err
		}
		if !flags.follow {
			if err := place.Close(); err != nil {
				return err
			}
			if err := to.end(); err != nil {
				return err
			}
			continue
		}
		group.Go(func() error { return s.Follow(ctx, to, place) })
	}
	return group.Wait()
}

// filter is what of a log is wanted. Where that is its last crash, the log is another one.
func (flags logsFlags) filter(dir string, s *logSource, now time.Time) (logfile.Filter, error) {
	f := logfile.Filter{Tail: flags.tail, Now: now}
	if flags.since > 0 {
		f.Since = now.Add(-flags.since)
	}
	if !flags.previous {
		return f, nil
	}
	if s.Workload == ownWorkload {
		crash, err := daemon.LastCrash(dir)
		if err == nil && crash == nil {
			err = exit.Fail(exit.NotFound, "no crash of KQueen is known")
		}
		if err != nil {
			return f, err
		}
		s.Log = logfile.Log{Open: os.Open, Names: []string{crash.Log}}
		return f, nil
	}
	if s.StartedAt.IsZero() {
		return f, exit.Fail(exit.NotFound, "it is not known since when %s runs; leave out --previous", s)
	}
	f.Until = s.StartedAt
	return f, nil
}

// completeLogs offers workloads, and then their components.
func completeLogs(ctx context.Context, e *connection.Env, args []string, begun string) []string {
	ctx, cancel := context.WithTimeout(ctx, command.CompletionDeadline)
	defer cancel()
	_, all, err := findLogs(ctx, e)
	if err != nil {
		return nil
	}
	var words []string
	for _, s := range all {
		switch {
		case len(args) == 0:
			words = append(words, s.Workload)
		case len(args) == 1 && s.isOf(args[0]):
			words = append(words, s.Component)
		}
	}
	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(w string) bool { return !strings.HasPrefix(w, begun) })
}

// linesOut is where lines of several programs go, one at a time.
type linesOut struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
}

// lineWriter hands on whole lines, with a prefix. What tenants have written into a log does not control a terminal.
type lineWriter struct {
	to     *linesOut
	prefix string
	begun  []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.begun = append(w.begun, p...)
	for {
		line, rest, whole := strings.Cut(string(w.begun), "\n")
		if !whole {
			return len(p), nil
		}
		w.begun = []byte(rest)
		if err := w.line(line); err != nil {
			return 0, err
		}
	}
}

func (w *lineWriter) line(text string) error {
	if w.to.terminal {
		text = console.CleanLine(text)
	}
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	_, err := fmt.Fprintln(w.to.out, w.prefix+text)
	return err
}

// end writes what has no end of a line.
func (w *lineWriter) end() error {
	if len(w.begun) == 0 {
		return nil
	}
	return w.line(string(w.begun))
}
