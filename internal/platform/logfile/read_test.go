package logfile

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestStamp: the times that the programs write which KQueen runs.
func TestStamp(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.FixedZone("", 3600))
	for line, want := range map[string]string{
		`{"time":"2026-11-23T06:00:38.5Z","level":"INFO","msg":"serving"}`:                    "2026-11-23T06:00:38.5Z",
		`time=2026-11-23T06:00:38.123+01:00 level=INFO msg="since time=2020-01-01T00:00:00Z"`: "2026-11-23T05:00:38.123Z",
		`time="2026-11-23T06:00:38.1Z" level=info msg="containerd"`:                           "2026-11-23T06:00:38.1Z",
		`{"level":"info","ts":"2026-11-23T06:00:38.123456+0000","caller":"etcd"}`:             "2026-11-23T06:00:38.123456Z",
		`2026-11-23T06:00:38Z starts with it`:                                                 "2026-11-23T06:00:38Z",
		`I1231 23:59:59.000001       1 server.go:1] last year`:                                "2025-12-31T22:59:59.000001Z",
		`E0101 12:00:00.000000       1 server.go:1] this year`:                                "2026-01-01T11:00:00Z",
		`E1399 12:00:00.000000       1 server.go:1] no date`:                                  "",
		`panic: at 2026-11-23T06:00:38Z`:                                                      "",
		`{"msg":"` + strings.Repeat("x", stampBytes) + `","time":"2026-11-23T06:00:38.5Z"}`:   "",
		``: "",
	} {
		got := ""
		if at, ok := Stamp(line, now); ok {
			got = at.UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%.60q: got %q, want %q", line, got, want)
		}
	}
}

// made is a log of two files.
func made(t *testing.T, texts ...string) (Log, string) {
	t.Helper()
	dir := t.TempDir()
	l := Log{Open: func(name string) (*os.File, error) { return os.Open(filepath.Join(dir, name)) }, Names: []string{"a.log.2", "a.log.1", "a.log"}}
	for n, text := range texts {
		write(t, filepath.Join(dir, l.Names[n+1]), text)
	}
	return l, filepath.Join(dir, "a.log")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestCopy: the lines that are wanted, over all files of a log. What has no time of its own goes with the line before it.
func TestCopy(t *testing.T) {
	l, _ := made(t, "begin\ntime=2026-11-23T06:00:01Z one\n\tdetail of one\n", "time=2026-11-23T06:00:02Z two\npanic: no\n\ngoroutine 1\ntime=2026-11-23T06:00:03Z three\nunfinished")
	at := func(second int) time.Time { return time.Date(2026, 11, 23, 6, 0, second, 0, time.UTC) }
	all := []string{"begin", "time=2026-11-23T06:00:01Z one", "\tdetail of one", "time=2026-11-23T06:00:02Z two", "panic: no", "", "goroutine 1", "time=2026-11-23T06:00:03Z three", "unfinished"}
	for name, tc := range map[string]struct {
		filter Filter
		want   []string
	}{
		"all":          {Filter{Tail: -1}, all},
		"the last":     {Filter{Tail: 2}, all[7:]},
		"none":         {Filter{}, nil},
		"more":         {Filter{Tail: 100}, all},
		"since":        {Filter{Since: at(2), Tail: -1}, all[3:]},
		"since late":   {Filter{Since: at(9), Tail: -1}, nil},
		"until":        {Filter{Until: at(3), Tail: -1}, all[:7]},
		"last of them": {Filter{Until: at(3), Tail: 3}, all[4:7]},
		"between":      {Filter{Since: at(2), Until: at(3), Tail: -1}, all[3:7]},
	} {
		var out bytes.Buffer
		place, err := l.Copy(&out, tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		if err := place.Close(); err != nil {
			t.Error(err)
		}
		want := strings.Join(tc.want, "\n")
		if diff := cmp.Diff(want, strings.TrimSuffix(out.String(), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCopyLong: a line without end does not take the memory of who reads it.
func TestCopyLong(t *testing.T) {
	l, _ := made(t, "", strings.Repeat("x", 2*maxLine)+"\nnext\n")
	var out bytes.Buffer
	place, err := l.Copy(&out, Filter{Tail: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = place.Close() }()
	if out.Len() != maxLine+len("next\n") {
		t.Errorf("%d bytes were written", out.Len())
	}
	if info, err := place.file.Stat(); err != nil || place.read != info.Size() {
		t.Errorf("read %d, %v", place.read, err)
	}
}

// heard is what was written so far.
type heard struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all.Write(p)
}

func (h *heard) await(t *testing.T, want string) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	got := ""
	for begin := time.Now(); time.Since(begin) < time.Minute; <-again.C {
		h.mu.Lock()
		got = h.all.String()
		h.mu.Unlock()
		if got == want {
			return
		}
	}
	t.Fatalf("heard %q, want %q", got, want)
}

// TestFollow: a log is followed from where it was read to, before it is there, when it is truncated and when it is renamed.
func TestFollow(t *testing.T) {
	l, file := made(t)
	ctx, end := context.WithCancel(t.Context())
	out, ended := &heard{}, make(chan error, 1)
	place, err := l.Copy(out, Filter{Tail: -1})
	if err != nil {
		t.Fatal(err)
	}
	go func() { ended <- l.Follow(ctx, out, place) }()
	write(t, file, "one, which is long\n")
	out.await(t, "one, which is long\n")
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	write(t, file, "two\n")
	out.await(t, "one, which is long\ntwo\n")
	write(t, file, "three\n")
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, file, "four\n")
	out.await(t, "one, which is long\ntwo\nthree\nfour\n")
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
