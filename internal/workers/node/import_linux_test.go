package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// importer is a script in the place of containerd's client. It fails as long as there is a file "broken", and for
// archives whose names have the word.
type importer struct{ dir string }

func newImporter(t *testing.T) importer {
	t.Helper()
	i := importer{t.TempDir()}
	script := fmt.Sprintf(`#!/bin/sh
echo "$*" >>%[1]s/calls
case "$*" in *broken*) fails=yes ;; esac
if [ -e %[1]s/broken ] || [ "$fails" ]; then
	echo "ctr: no space left on device" >&2
	exit 1
fi
`, i.dir)
	if err := os.WriteFile(i.program(), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i importer) program() string { return filepath.Join(i.dir, "ctr") }

// breaks has the importer fail from now on, or work again.
func (i importer) breaks(t *testing.T, so bool) {
	t.Helper()
	file := filepath.Join(i.dir, "broken")
	err := os.Remove(file)
	if so {
		err = os.WriteFile(file, nil, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// calls are those since the last look.
func (i importer) calls(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(i.dir, "calls")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := errors.Join(err, os.Remove(file)); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(file+".new", []byte(content), 0o600), os.Rename(file+".new", file)); err != nil {
		t.Fatal(err)
	}
}

// TestLoad: an archive is imported once, again when another one has taken its place, and again after an import that
// failed.
func TestLoad(t *testing.T) {
	ctr, archive := newImporter(t), filepath.Join(t.TempDir(), "a b.tar")
	s := Start{Socket: "/run/c.sock", Importer: ctr.program(), Marks: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	once := []string{"--address /run/c.sock --namespace k8s.io images import --local --label io.cri-containerd.pinned=pinned " + archive}
	load := func(what string, calls []string, problems ...string) {
		t.Helper()
		err := s.load(t.Context(), archive)
		if (err == nil) != (problems == nil) {
			t.Errorf("%s: got %v", what, err)
		}
		for _, problem := range problems {
			if err != nil && !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v does not say %q", what, err, problem)
			}
		}
		if diff := cmp.Diff(calls, ctr.calls(t)); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", what, diff)
		}
	}
	load("no archive", nil, "look at "+archive, "no such file")
	write(t, archive, "one")
	load("a new archive", once)
	load("the same", nil)
	write(t, archive, "two")
	ctr.breaks(t, true)
	load("another one, which fails", once, "import "+archive, "ctr: no space left on device")
	load("again, which fails", once, "import "+archive)
	ctr.breaks(t, false)
	load("again", once)
	load("the same again", nil)
	s.Importer = filepath.Join(ctr.dir, "missing")
	write(t, archive, "three")
	load("without containerd's client", nil, "import "+archive, "no such file")
}

// TestLoadFolder: an archive of the operator's that is broken keeps neither the others nor the program from starting.
func TestLoadFolder(t *testing.T) {
	ctr, folder := newImporter(t), t.TempDir()
	var log bytes.Buffer
	s := Start{Importer: ctr.program(), Marks: t.TempDir(), Folder: folder, Log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, name := range []string{"a-broken.tar", "b.tar", "notes.txt"} {
		write(t, filepath.Join(folder, name), name)
	}
	s.loadFolder(t.Context())
	if calls := ctr.calls(t); len(calls) != 2 || !strings.HasSuffix(calls[0], "/b.tar") {
		t.Errorf("imported %q, want both archives, the smaller one first", calls)
	}
	for _, want := range []string{"level=ERROR", "a-broken.tar", "the next start of this machine's kubelet tries again", "level=INFO", "b.tar"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &log)
		}
	}
	s.loadFolder(t.Context())
	if calls := ctr.calls(t); len(calls) != 1 || !strings.Contains(calls[0], "a-broken.tar") {
		t.Errorf("at the next start %q is imported, want the broken one alone", calls)
	}
}

// TestExec: a program is executed once everything that it needs is there, and never before.
func TestExec(t *testing.T) {
	ctr, dir := newImporter(t), t.TempDir()
	archive, socket := filepath.Join(dir, "broken.tar"), filepath.Join(dir, "c.sock")
	write(t, archive, "")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the machine ends"))
	program := []string{filepath.Join(dir, "kubelet")} // is not there: executed, it is an error
	for name, c := range map[string]struct {
		ctx   context.Context
		start Start
		want  string
	}{
		"path is missing":    {ended, Start{Path: filepath.Join(dir, "kubeconfig")}, "wait for " + filepath.Join(dir, "kubeconfig") + ": the machine ends"},
		"socket is missing":  {ended, Start{Socket: filepath.Join(dir, "missing")}, "wait for " + filepath.Join(dir, "missing") + ": the machine ends"},
		"image is broken":    {t.Context(), Start{Socket: socket, Images: []string{archive}}, "import " + archive},
		"everything is here": {t.Context(), Start{Socket: socket, Path: dir}, "execute " + program[0] + ": no such file"},
	} {
		c.start.Program, c.start.Importer, c.start.Marks = program, ctr.program(), dir
		c.start.Log = slog.New(slog.DiscardHandler)
		if err := c.start.Exec(c.ctx); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
