package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
	"kqueen.io/kqueen/internal/platform/spawn"
	"kqueen.io/kqueen/internal/workers/node"
)

// inner is process 1 of a machine as the outer process has it.
type inner struct {
	pid     int
	network int    // its network as an open file
	space   string // name of its process namespace
	ended   chan struct{}

	mu   sync.Mutex // one request at a time
	conn *net.UnixConn
	bad  chan error // holds 1: a conversation broke off, so that no other can follow
}

// namespaces are those of a machine. Its own view of cgroups it makes when it is in them.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// launch starts process 1 of a machine, which waits for its birth.
func (c Config) launch() (*inner, error) {
	conn, theirs, err := spawn.Pair()
	if err != nil {
		return nil, err
	}
	in := &inner{conn: conn, network: -1, ended: make(chan struct{}), bad: make(chan error, 1)}
	born := make(chan error, 1)
	osthread.Spend(func() {
		pid, err := c.bear(theirs)
		in.pid = pid
		born <- err
		if err == nil {
			in.reap() // with this thread process 1 would end
		}
	})
	if err := errors.Join(<-born, theirs.Close()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if err := in.look(); err != nil {
		in.end()
		return nil, err
	}
	return in, nil
}

// bear starts process 1 from the calling thread, which is not the same afterwards.
func (c Config) bear(socket *os.File) (int, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return 0, fmt.Errorf("make mounts of the machine's own: %w", err)
	}
	if err := c.stage(); err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Files: []uintptr{null.Fd(), uintptr(unix.Stderr), uintptr(unix.Stderr), socket.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Cloneflags: namespaces, Pdeathsig: unix.SIGKILL},
	}
	if c.IDs != nil {
		attr.Sys.Cloneflags |= unix.CLONE_NEWUSER
		attr.Sys.UidMappings, attr.Sys.GidMappings, attr.Sys.GidMappingsEnableSetgroups = c.IDs.maps(), c.IDs.maps(), true
		attr.Sys.Credential = &syscall.Credential{Uid: 0, Gid: 0}
		if err := c.IDs.become(); err != nil {
			return 0, err
		}
	}
	pid, _, err := syscall.StartProcess("/"+stageTree+c.Program, []string{c.Program, "machine", "init"}, attr)
	if err != nil {
		return 0, fmt.Errorf("start process 1 of the machine: %w", err)
	}
	return pid, nil
}

// become makes the machine's root the user of the calling thread, which keeps its rights. The kernel counts what a user
// namespace uses (inotify instances, for one) for the user who made it, so that machines do not share one account.
func (i *IDs) become() error {
	const noFixup = 1 << 2 // SECBIT_NO_SETUID_FIXUP, capabilities(7)
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noFixup, 0, 0, 0); err != nil {
		return fmt.Errorf("keep capabilities for another user: %w", err)
	}
	// Not that of package syscall, which changes all threads.
	const same = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(i.First), same); errno != 0 {
		return fmt.Errorf("become user %d: %w", i.First, errno)
	}
	return nil
}

// reap waits for the end of process 1. The kernel ends everything in the machine before it.
func (in *inner) reap() {
	defer close(in.ended)
	for {
		if _, err := unix.Wait4(in.pid, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// look opens what the host needs of process 1.
func (in *inner) look() (err error) {
	dir := fmt.Sprintf("/proc/%d/ns", in.pid)
	if in.space, err = os.Readlink(filepath.Join(dir, "pid")); err != nil {
		return fmt.Errorf("look at process 1 of the machine: %w", err)
	}
	if in.network, err = unix.Open(filepath.Join(dir, "net"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open the machine's network: %w", err)
	}
	return nil
}

// end kills process 1, and returns when nothing of the machine runs any more.
func (in *inner) end() {
	select {
	case <-in.ended:
	default:
		_ = unix.Kill(in.pid, unix.SIGKILL)
		<-in.ended
	}
	_ = in.conn.Close()
	if in.network >= 0 {
		_ = unix.Close(in.network)
	}
}

// last waits for the end of process 1, which is an error unless ctx ends before.
func (in *inner) last(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-in.ended:
		return errors.New("process 1 of the machine has ended")
	case err := <-in.bad:
		return fmt.Errorf("process 1 of the machine does not answer: %w", err)
	}
}

// birthTimeout bounds what process 1 does before it can start programs.
const birthTimeout = time.Minute

// live makes process 1 a machine, in the machine's cgroup if it has one.
func (in *inner) live(hostname, cgroup string, until time.Time) error {
	if cgroup != "" {
		if err := node.EnterCgroup(cgroup, in.pid); err != nil {
			return err
		}
	}
	cgroups, err := node.ReadHierarchies()
	if err != nil {
		return err
	}
	if err := in.conn.SetDeadline(until); err != nil {
		return err
	}
	if err := awaitBirth(in.conn, birth{Hostname: hostname, Cgroups: cgroups}); err != nil || cgroup == "" {
		return err
	}
	return node.Populate(cgroup, in.pid)
}

// start has process 1 start a program. What it answers with has to be a process of the machine.
func (in *inner) start(p spawn.Program, log *os.File) (*os.File, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	pidfd, err := spawn.Start(in.conn, p, log)
	if _, refused := errors.AsType[*spawn.RefusedError](err); err != nil && !refused {
		select {
		case in.bad <- err:
		default:
		}
	}
	if err != nil {
		return nil, err
	}
	pid, err := spawn.PID(pidfd)
	if err != nil {
		return nil, errors.Join(err, pidfd.Close())
	}
	// While the process lives its pid is its own; of one that is gone there is nothing to read.
	if space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)); err != nil || space != in.space {
		return nil, errors.Join(fmt.Errorf("process %d is not of the machine", pid), err, pidfd.Close())
	}
	return pidfd, nil
}

// serveStarts answers the supervisor.
func (in *inner) serveStarts(ctx context.Context, l *net.UnixListener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go func() {
			defer conn.Close()
			_ = spawn.Serve(conn, in.start)
		}()
	}
}
