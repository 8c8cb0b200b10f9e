package handover

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// offer offers l until the returned function is called, or the test ends.
func offer(t *testing.T, folder string, l net.Listener) (stop func()) {
	t.Helper()
	before := sockets(t, folder)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Offer(ctx, folder, l, func(err error) { t.Error(err) })
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	tick := time.NewTicker(time.Microsecond)
	defer tick.Stop()
	for sockets(t, folder) == before {
		<-tick.C
	}
	return stop
}

func sockets(t *testing.T, folder string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func listen(t *testing.T, folder, address string, wantTaken bool) net.Listener {
	t.Helper()
	l, taken, err := Listen(t.Context(), folder, address)
	if err != nil || taken != wantTaken {
		t.Fatalf("listen on %s: taken over is %t, want %t; %v", address, taken, wantTaken, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// greet accepts one connection and says a word on it.
func greet(t *testing.T, l net.Listener, word string) {
	t.Helper()
	conn, err := l.Accept()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		t.Error(err)
	}
}

// TestHandover: the second one has the port while the first one has it, and gets what waits when the first one leaves. No
// connection is refused.
func TestHandover(t *testing.T) {
	folder := filepath.Join(t.TempDir(), strings.Repeat("long", 30), "handover")
	first := listen(t, folder, "127.0.0.1:0", false)
	address := first.Addr().String()
	stop := offer(t, folder, first)
	second := listen(t, folder, address, true)
	offer(t, folder, second)

	waiting, err := net.Dial("tcp", address) //nolint:noctx // it is in this process
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	stop()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	go greet(t, second, "second")
	if got, err := io.ReadAll(waiting); err != nil || string(got) != "second" {
		t.Errorf("what waited when the first one left is told %q, %v", got, err)
	}
	if n := sockets(t, folder); n != 1 {
		t.Errorf("%d sockets are there, want that of the second one", n)
	}
	third := listen(t, folder, address, true)
	if third.Addr().String() != address {
		t.Errorf("the third one listens on %s, want %s", third.Addr(), address)
	}
}

// TestOfferedAtOnce: a process that asks as soon as there is a name gets the port, however little the one that offers it has done since.
func TestOfferedAtOnce(t *testing.T) {
	folder := t.TempDir()
	first := listen(t, folder, "127.0.0.1:0", false)
	for range 300 {
		stop := offer(t, folder, first)
		if err := listen(t, folder, first.Addr().String(), true).Close(); err != nil {
			t.Fatal(err)
		}
		stop()
	}
}

// TestSweep: what is left of a process that was killed before it listened goes, and what does not listen yet stays.
func TestSweep(t *testing.T) {
	folder := t.TempDir()
	old, fresh := filepath.Join(folder, "old"+suffix+unready), filepath.Join(folder, "fresh"+suffix+unready)
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	listen(t, folder, "127.0.0.1:0", false)
	sweep(folder)
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) != 1 || left[0] != fresh {
		t.Errorf("left are %v", left)
	}
}

// TestAfterACrash: what a process has left that was killed keeps none from its port.
func TestAfterACrash(t *testing.T) {
	folder := t.TempDir()
	left, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(folder, "dead"+suffix)})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	listen(t, folder, "127.0.0.1:0", false)
	if n := sockets(t, folder); n != 0 {
		t.Errorf("%d sockets of dead processes are left", n)
	}
}

// TestNoChildHasIt: neither the port that was taken over nor a connection to it is open in a program that the new one starts.
func TestNoChildHasIt(t *testing.T) {
	folder := t.TempDir()
	first := listen(t, folder, "127.0.0.1:0", false)
	offer(t, folder, first)
	second := listen(t, folder, first.Addr().String(), true)
	raw, err := second.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("the port stays open in children: %#x, %v", flags, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "/bin/ls", "-l", "/proc/self/fd").Output()
	if err != nil || bytes.Contains(out, []byte("socket:")) {
		t.Errorf("a child has a socket of its parent: %s, %v", out, err)
	}
}

// TestOneThatHangs: a process that offers its port and does not answer is not waited for for ever.
func TestOneThatHangs(t *testing.T) {
	folder := t.TempDir()
	silent, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(folder, "silent"+suffix)})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	listen(t, folder, "127.0.0.1:0", false)
}

// TestOtherPort: a port that is not the one that is wanted is not taken.
func TestOtherPort(t *testing.T) {
	folder := t.TempDir()
	first := listen(t, folder, "127.0.0.1:0", false)
	offer(t, folder, first)
	listen(t, folder, "127.0.0.1:0", false)
}

func TestSame(t *testing.T) {
	for name, tc := range map[string]struct {
		have, want string
		same       bool
	}{
		"the same":         {"127.0.0.1:8443", "127.0.0.1:8443", true},
		"another port":     {"127.0.0.1:8443", "127.0.0.1:8444", false},
		"another address":  {"127.0.0.1:8443", "127.0.0.2:8443", false},
		"all, as it is":    {"[::]:8443", "0.0.0.0:8443", true},
		"all, and one":     {"[::]:8443", "127.0.0.1:8443", false},
		"all, and no name": {"[::]:8443", ":8443", true},
	} {
		have, err := net.ResolveTCPAddr("tcp", tc.have)
		if err != nil {
			t.Fatal(err)
		}
		want, err := net.ResolveTCPAddr("tcp", tc.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := same(have, want); got != tc.same {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestAsked: the signal asks, and does not end the process.
func TestAsked(t *testing.T) {
	asked := Asked()
	select {
	case <-asked:
		t.Fatal("it was not asked yet")
	default:
	}
	if err := unix.Kill(os.Getpid(), Signal); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Error("the signal was not heard")
	}
}
