package supervise

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/confine"
)

// proc is one running process, held by its pidfd. It is released exactly once.
type proc struct {
	pid       int
	start     uint64 // clock ticks after boot, field 22 of /proc/<pid>/stat; with pid its identity
	startedAt time.Time
	spec      string // identity of what it runs, from its marks
	handing

	file *os.File      // the pidfd, in Go's poller
	done chan struct{} // closed when the process is gone or the handle was released
	left atomic.Bool   // the handle was released
	end  ending        // valid once done is closed and the handle was not released
}

// ending is how a process ended, as far as the kernel tells.
type ending struct {
	at     time.Time
	code   int    // -1 when unknown or ended by a signal
	signal string // empty when none
}

// launch is what start needs. The strings are used as they are.
type launch struct {
	path, dir, log string
	args, env      []string // args without argv[0]; env complete, with the marks
	spec           string
	handing
	within   string // the socket of what starts it; empty: we do
	confined *confine.Program
	user     int          // under which a confined program runs
	leave    func() error // takes the thread that starts it out of the background; nil: it is not there
}

// start runs a program in its own session, so that no terminal's signals and no hangup of KQueen's session reach it. It
// returns once the program is executed.
func start(l launch) (*proc, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// O_APPEND: after a rotation has truncated the file the program's next write goes to its beginning, not behind a
	// hole of zeroes.
	log, err := os.OpenFile(l.log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	pid, fd, err := execute(l, append([]string{l.path}, l.args...), null, log)
	if err != nil {
		return nil, fmt.Errorf("execute %s: %w", l.path, err)
	}
	// A child that ended already is a zombie until we reap it: stat still works. One within another may be gone.
	st, err := readStat(pid)
	if err != nil {
		return nil, errors.Join(err, killBy(fd), unix.Close(fd))
	}
	p, err := watch(fd, &proc{pid: pid, start: st.start, spec: l.spec, handing: l.handing})
	if err != nil {
		return nil, errors.Join(err, unix.Kill(pid, unix.SIGKILL))
	}
	return p, nil
}

// killBy kills the process of a pidfd. One that is gone is no error.
func killBy(fd int) error {
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

// adopt takes hold of a process that scan found. It fails when that very process is gone: while a pidfd's process
// exists its pid is not given away, so marks read after opening the pidfd, from a process that lives, are its own.
func adopt(f found) (*proc, error) {
	fd, err := unix.PidfdOpen(f.pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open pidfd of %d: %w", f.pid, err)
	}
	st, err := readStat(f.pid)
	if err == nil && st.start != f.start {
		err = fmt.Errorf("pid %d: %w", f.pid, unix.ESRCH)
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, 0, nil, 0)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return watch(fd, &proc{pid: f.pid, start: f.start, spec: f.spec, handing: f.handing})
}

// watch takes over fd and waits for the end in Go's poller: no thread, no timer.
func watch(fd int, p *proc) (*proc, error) {
	if err := unix.SetNonblock(fd, true); err != nil { // only then NewFile uses the poller
		return nil, errors.Join(err, unix.Close(fd))
	}
	p.startedAt = sinceBoot(p.start)
	p.file = os.NewFile(uintptr(fd), "pidfd")
	p.done = make(chan struct{})
	conn, err := p.file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	go p.wait(conn)
	return p, nil
}

// wait returns when the process is gone or released. Whatever the poller says, it never takes a living process for a
// dead one: that would start a second.
func (p *proc) wait(conn syscall.RawConn) {
	defer close(p.done)
	gone := false
	look := func(patience time.Duration) func(uintptr) bool {
		return func(fd uintptr) bool {
			if gone = readable(int(fd), patience); gone {
				p.end = p.reap(int(fd))
			}
			return gone
		}
	}
	for !gone && !p.left.Load() {
		if err := conn.Read(look(0)); err == nil || p.left.Load() {
			continue
		}
		// A poller that refuses pidfds costs a thread, but works.
		slow := look(500 * time.Millisecond)
		_ = conn.Control(func(fd uintptr) { slow(fd) })
	}
}

// readable polls a pidfd: it is once the process is a zombie or gone.
func readable(fd int, wait time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(wait.Milliseconds()))
	return err == nil && n == 1 && fds[0].Revents&(unix.POLLIN|unix.POLLHUP) != 0
}

// reap collects a dead child, so that no zombie stays. A process that is not our child (an adopted one) is reaped by
// init: until then its zombie says how it ended, afterwards the pidfd does (Linux 6.15), and else it stays unknown.
func (p *proc) reap(fd int) ending {
	end := ending{at: time.Now(), code: -1}
	// WNOWAIT first: it proves through the pidfd that pid is our own dead child, so that Wait4 cannot take the status
	// of some other child of KQueen.
	if err := unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == nil {
		var ws unix.WaitStatus
		if got, err := unix.Wait4(p.pid, &ws, unix.WNOHANG, nil); err == nil && got == p.pid {
			return end.with(ws)
		}
		return end
	}
	if st, err := readStat(p.pid); err == nil && st.start == p.start && st.dead() {
		return end.with(unix.WaitStatus(st.status))
	}
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if err := unix.IoctlPidfdInfo(fd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
		return end
	}
	return end.with(unix.WaitStatus(uint32(info.Exit_code)))
}

func (e ending) with(ws unix.WaitStatus) ending {
	e.code = ws.ExitStatus() // -1 unless it exited
	if ws.Signaled() {
		e.signal = ws.Signal().String()
	}
	return e
}

// signal sends sig to exactly this process. A dead one is no error.
func (p *proc) signal(sig unix.Signal) error {
	conn, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); err != nil {
		return err
	}
	if sent != nil && !errors.Is(sent, unix.ESRCH) {
		return fmt.Errorf("signal %d: %w", p.pid, sent)
	}
	return nil
}

// release lets go of the process, which lives on.
func (p *proc) release() {
	p.left.Store(true)
	_ = p.file.Close()
	<-p.done
}
