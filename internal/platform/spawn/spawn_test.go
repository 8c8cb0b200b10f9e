//go:build linux

package spawn

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// served is a connection to a process that starts programs: this one.
func served(t *testing.T) *net.UnixConn {
	t.Helper()
	if _, err := Listen(filepath.Join(t.TempDir(), strings.Repeat("long", 30), "s")); err == nil {
		t.Fatal("the folder is not there, and yet it listens")
	}
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30)) // more than the kernel takes as a name
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Listen(path); err != nil { // in place of what the first has left
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		conn, err := l.AcceptUnix()
		if err == nil {
			err = errors.Join(Serve(conn, Here), conn.Close())
		}
		ended <- err
	}()
	conn, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), <-ended, l.Close()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// TestStart: a program gets its arguments, environment and folder, prints to the file, and its pidfd comes back.
func TestStart(t *testing.T) {
	conn := served(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := Program{Path: "/bin/sh", Args: []string{"sh", "-c", `echo "$0 $WORD $PWD"; exec sleep 60`, "zero"}, Env: []string{"WORD=one", "PATH=/bin:/usr/bin"}, Dir: "/"}
	pidfd, err := Start(conn, p, log)
	if err != nil {
		t.Fatal(err)
	}
	defer pidfd.Close()
	pid, err := PID(pidfd)
	if err != nil || pid == os.Getpid() {
		t.Fatalf("the process is %d, %v", pid, err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if data, err := os.ReadFile(log.Name()); err != nil || len(data) > 0 {
			if diff := cmp.Diff("zero one /\n", string(data)); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			break
		}
	}
	if err := process.Kill(); err != nil {
		t.Error(err)
	}
	if _, err := process.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := PID(pidfd); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process of one that is gone: %v", err)
	}

	p.Path = "/nowhere"
	if _, err := Start(conn, p, log); err == nil || !strings.Contains(err.Error(), "execute /nowhere: no such file") {
		t.Errorf("a program that is not there: %v", err)
	}
	if pidfd, err := Start(conn, Program{Path: "/bin/true", Args: []string{"true"}, Dir: "/"}, log); err != nil {
		t.Errorf("after an error: %v", err)
	} else {
		_ = pidfd.Close()
	}
}

// TestRefusals: what cannot be started is refused by both sides.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		p    Program
		want string
	}{
		"relative path":   {Program{Path: "sh", Args: []string{"sh"}, Dir: "/"}, "have to be absolute"},
		"relative folder": {Program{Path: "/bin/sh", Args: []string{"sh"}, Dir: "."}, "have to be absolute"},
		"no name":         {Program{Path: "/bin/sh", Dir: "/"}, "args are empty"},
		"zero byte":       {Program{Path: "/bin/sh", Args: []string{"a\x00b"}, Dir: "/"}, "has a zero byte"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Start(nil, c.p, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestServeEnds: what is no request ends the connection, and the end of the connection is no error.
func TestServeEnds(t *testing.T) {
	for name, c := range map[string]struct {
		send func(*testing.T, *net.UnixConn)
		want string
	}{
		"nothing": {func(*testing.T, *net.UnixConn) {}, ""},
		"no JSON": {func(t *testing.T, conn *net.UnixConn) {
			if _, err := conn.Write([]byte("{")); err != nil {
				t.Fatal(err)
			}
		}, "read a message: unexpected EOF"},
		"too long": {func(t *testing.T, conn *net.UnixConn) {
			if _, err := conn.Write(bytes.Repeat([]byte(" "), maxMessage+1)); err != nil {
				t.Fatal(err)
			}
		}, "it is too long"},
		"no file": {func(t *testing.T, conn *net.UnixConn) {
			if err := Send(conn, Program{Path: "/bin/true", Args: []string{"true"}, Dir: "/"}); err != nil {
				t.Fatal(err)
			}
		}, "brings no file"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, file, err := Pair()
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := Conn(file)
			if err != nil {
				t.Fatal(err)
			}
			defer theirs.Close()
			c.send(t, ours)
			if err := ours.Close(); err != nil {
				t.Fatal(err)
			}
			err = Serve(theirs, Here)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, err := Receive(ours, &Reply{}); !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// FuzzDecode: whatever a message is, it is a program that can be checked, or an error.
func FuzzDecode(f *testing.F) {
	good, err := json.Marshal(Program{Path: "/bin/sh", Args: []string{"sh"}, Env: []string{"A=b"}, Dir: "/"})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(good), "", "null", "{} {}", `{"path": 1}`, `{"args": [null]}`, "[", "{\"path\":\"\\u0000\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Program
		if err := decode(data, &p); err != nil || p.check() != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var q Program
		if err := decode(again, &q); err != nil || q.check() != nil {
			t.Errorf("what was accepted is refused when it is sent on: %v", err)
		}
	})
}
