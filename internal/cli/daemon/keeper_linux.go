package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	lumberjack "gopkg.in/natefinch/lumberjack.v2"

	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/filelock"
)

// Keeper starts a server of this program again when it crashes. It keeps nothing in memory that matters: one that is killed
// leaves the server running, and the next one adopts it.
type Keeper struct {
	// Dir is the directory of the server, and Args are its arguments.
	Dir  string
	Args []string
	// Adopt is the process of a server that runs already; 0 to start one.
	Adopt int
}

const (
	keeperLock = "keeper.lock"
	keeperLog  = "keeper.log"
	// restartFirst is the wait before a restart; it doubles for a server that never served, up to restartMost.
	restartFirst, restartMost = time.Second, time.Minute
	// leaveTimeout is how long the keeper waits for a server that was asked to end, before it goes itself.
	leaveTimeout = 20 * time.Second
	// lockWait is how long a keeper waits for commands that look whether there is one.
	lockWait = time.Second
)

// FindKeeper returns the process that restarts the server of a directory; 0 when there is none.
func FindKeeper(dir string) int {
	pid, _ := filelock.Holder(filepath.Join(dir, keeperLock))
	return pid
}

// StartKeeper starts a keeper in the background, with the server that it is for: what its parent hears is what that reports.
func StartKeeper(k Keeper, flag string) (io.ReadCloser, func() error, error) {
	args := []string{"keep", "--data-dir=" + k.Dir}
	if k.Adopt != 0 {
		args = append(args, "--adopt="+strconv.Itoa(k.Adopt))
	}
	return Spawn(k.Dir, flag, append(append(args, "--"), k.Args...)...)
}

// Hurry has a keeper that waits before a restart do it now.
func Hurry(keeper int) error { return syscall.Kill(keeper, syscall.SIGHUP) }

// Keep starts the server and starts it again when it crashes, until it ends in order or ctx ends, which ends the server, too.
func (k Keeper) Keep(ctx context.Context) error {
	hurry := make(chan os.Signal, 1)
	signal.Notify(hurry, syscall.SIGHUP)
	defer signal.Stop(hurry)
	lock, err := k.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	report, err := OpenReport()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(&lumberjack.Logger{Filename: filepath.Join(k.logs(), keeperLog), MaxSize: 1, MaxBackups: 1}, nil))
	past := history{}
	for {
		begin := time.Now()
		s, err := k.next(report)
		if err != nil {
			report.End(err)
			return err
		}
		log.Info("KQueen runs", "pid", s.pid, "adopted", s.cmd == nil)
		o := s.await(ctx)
		k.Adopt = 0
		how := fmt.Sprintf("%s, after %s", o.how, time.Since(begin).Round(time.Second))
		end := past.add(o)
		if end.crashed {
			log.Error("KQueen has crashed", "pid", s.pid, "how", how, "again", end.again, "after", end.after.String())
			if err := noteCrash(k.logs(), time.Now(), how); err != nil {
				log.Error("the crash is not noted", "error", err)
			}
		}
		if !end.again {
			log.Info("KQueen has ended", "pid", s.pid, "how", how)
			if end.crashed {
				report.End(exit.Fail(exit.Failed, "KQueen ended while starting (%s); see %s and %s beside it", o.how, ServerLog(k.Dir), LastWords))
			}
			return nil
		}
		select {
		case <-time.After(end.after):
		case <-hurry:
		case <-ctx.Done():
			return nil
		}
	}
}

func (k Keeper) logs() string { return filepath.Dir(ServerLog(k.Dir)) }

// lock takes the lock by which a keeper is found, and of which there is one. Commands that look for the keeper have it for a
// moment.
func (k Keeper) lock(ctx context.Context) (*os.File, error) {
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := filelock.Take(wait, filepath.Join(k.Dir, keeperLock), nil)
	if _, held := errors.AsType[*filelock.HeldError](err); held {
		return nil, fmt.Errorf("another keeper is there for %s: %w", k.Dir, err)
	}
	return lock, err
}

// next adopts the server that runs, or starts one.
func (k Keeper) next(report *Report) (*server, error) {
	if k.Adopt != 0 {
		report.Ready()
		return adopt(k.Adopt)
	}
	in, cmd, err := launch(k.Dir, k.Args)
	if err != nil {
		return nil, err
	}
	s := &server{pid: cmd.Process.Pid, cmd: cmd, heard: make(chan outcome, 1)}
	go func() { s.heard <- relay(in, report) }()
	return s, nil
}

// relay hands the reports of a server on, and says what of them counts when it ends.
func relay(in io.ReadCloser, report *Report) (o outcome) {
	defer in.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var line reportLine
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		report.send(line)
		if line.Ready || line.Error != "" {
			report.close()
		}
		o.served = o.served || line.Ready || line.Degraded
		o.said = o.said || line.Error != "" && !line.Degraded
	}
	return o
}

// server is a process that is kept.
type server struct {
	pid int
	cmd *exec.Cmd // nil for one that was adopted
	fd  int       // of the process, for one that was adopted
	// heard gets what it has reported, when it reports no more; nil for one that was adopted.
	heard chan outcome
}

// adopt follows a server that another keeper has started. How it ends only its parent is told: it counts as a crash.
func adopt(pid int) (*server, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) { // it has ended just now
		fd, err = gone, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the server (pid %d): %w", pid, err)
	}
	return &server{pid: pid, fd: fd}, nil
}

// await waits until the server has ended. When ctx ends, the server is asked to, and waited for a while.
func (s *server) await(ctx context.Context) outcome {
	ended := make(chan outcome, 1)
	go func() {
		if s.cmd == nil {
			ended <- s.follow()
			return
		}
		err := s.cmd.Wait()
		o := <-s.heard
		o.how, o.orderly = s.cmd.ProcessState.String(), err == nil
		ended <- o
	}()
	select {
	case o := <-ended:
		return o
	case <-ctx.Done():
	}
	s.ask()
	select {
	case o := <-ended:
		o.asked = true
		return o
	case <-time.After(leaveTimeout):
		return outcome{asked: true, how: "it goes on"}
	}
}

// ask asks the server to end. It may have ended just now, and its number be another process'.
func (s *server) ask() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		return
	}
	_ = unix.PidfdSendSignal(s.fd, syscall.SIGTERM, nil, 0)
}

// gone is in place of the descriptor of a process that is not there.
const gone = -1

// follow waits for the end of a server that was adopted. Its descriptor stays open: there is one of that kind in the life of a keeper.
func (s *server) follow() outcome {
	for s.fd != gone {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}, -1); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return outcome{served: true, how: "how is not known"}
}

// outcome is how a server ended.
type outcome struct {
	// asked: the keeper was to end. orderly: it ended by itself, without an error. served: it had begun to serve. said: it told
	// its parent why it cannot.
	asked, orderly, served, said bool
	how                          string
}

// history is what a keeper knows of the servers before.
type history struct {
	// served is how many have served, and failures how many in a row have not.
	served, failures int
}

// ending is what a keeper does about an end.
type ending struct {
	crashed, again bool
	after          time.Duration
}

// add says what to do about one more end. A first server that does not even begin to serve is not started again: its user is
// told why. Any other one is, ever more slowly as long as it does not serve.
func (h *history) add(o outcome) ending {
	if o.asked || o.orderly {
		return ending{}
	}
	if o.served {
		h.served++
		h.failures = 0
		return ending{crashed: true, again: true, after: restartFirst}
	}
	if h.served == 0 {
		return ending{crashed: !o.said}
	}
	h.failures++
	after := restartFirst
	for range h.failures - 1 {
		after = min(2*after, restartMost)
	}
	return ending{crashed: true, again: true, after: after}
}
