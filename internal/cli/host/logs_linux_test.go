package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/server/status"
)

// withLogs is a data directory in which nothing runs any more, with logs of KQueen, etcd and a cluster.
func withLogs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"settings.json": "{}",
		"logs/kqueen-2026-11-22T10-00-00.000.log":         `{"time":"2026-11-22T10:00:00Z","msg":"old"}` + "\n",
		"logs/kqueen.log":                                 `{"time":"2026-11-23T06:00:00Z","msg":"serving"}` + "\n",
		"logs/stderr-20261123T050000.000Z.log":            "panic: oh\n\nkqueen: crashed at 2026-11-23T05:00:00Z: exit status 2, after 1h\n",
		"run/workloads/etcd/logs/etcd.log":                `{"ts":"2026-11-23T06:00:00.0Z","msg":"etcd \u001b[2J` + "\x1b[2J" + `"}` + "\n",
		"run/workloads/uid-1/logs/kube-apiserver.log":     "time=2026-11-23T06:00:02Z third\nno end",
		"run/workloads/uid-1/logs/kube-apiserver.log.1":   "time=2026-11-23T06:00:01Z second\n",
		"run/workloads/uid-1/logs/kube-apiserver.log.10":  "time=2026-11-23T06:00:00Z first\n",
		"run/workloads/uid-1/logs/kube-apiserver.log.tmp": "half\n",
		"run/workloads/uid-1/logs/kube-scheduler.log":     "time=2026-11-23T06:00:02Z bound\n",
		"run/workloads/uid-2/logs/kube-scheduler.log":     "time=2026-11-23T06:00:02Z other\n",
		"run/workloads/uid-1/subject.json":                `{"name":"org-blue/demo","cluster":"blue/demo"}`,
		"run/workloads/uid-2/subject.json":                `{"name":"org-red/demo","cluster":"red/demo"}`,
		"run/workloads/uid-2/secret":                      "",
	} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "run/workloads/uid-2/logs/planted.log")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLogs: logs are found by the names of workloads and by their IDs, also where KQueen does not run.
func TestLogs(t *testing.T) {
	dir := withLogs(t)
	for _, tc := range []struct {
		args string
		want string
		code int
		err  string
	}{
		{args: "logs", want: `{"time":"2026-11-22T10:00:00Z","msg":"old"}` + "\n" + `{"time":"2026-11-23T06:00:00Z","msg":"serving"}` + "\n"},
		{args: "logs kqueen --tail 1", want: `{"time":"2026-11-23T06:00:00Z","msg":"serving"}` + "\n"},
		{args: "logs kqueen --previous", want: "panic: oh\n\nkqueen: crashed at 2026-11-23T05:00:00Z: exit status 2, after 1h\n"},
		{args: "logs uid-1 kube-apiserver", want: "time=2026-11-23T06:00:00Z first\ntime=2026-11-23T06:00:01Z second\ntime=2026-11-23T06:00:02Z third\nno end\n"},
		{args: "logs kube-apiserver --tail 2", want: "time=2026-11-23T06:00:02Z third\nno end\n"},
		{args: "logs uid-1 --tail 1", want: "[kube-apiserver] no end\n[kube-scheduler] time=2026-11-23T06:00:02Z bound\n"},
		{args: "logs etcd", want: `{"ts":"2026-11-23T06:00:00.0Z","msg":"etcd \u001b[2J` + "\x1b[2J" + `"}` + "\n"},
		{args: "logs kube-scheduler", code: exit.Usage, err: `"kube-scheduler" can be any of: org-blue/demo kube-scheduler, org-red/demo kube-scheduler; name one of these`},
		{args: "logs uid-2 planted", code: exit.NotFound, err: `there is no log of "uid-2 planted"; see: kqueen status`},
		{args: "logs uid-1 kube-apiserver --previous", code: exit.NotFound, err: "it is not known since when org-blue/demo kube-apiserver runs; leave out --previous"},
		{args: "logs -f -p", code: exit.Usage, err: "--previous: a process that has ended writes nothing more"},
		{args: "logs a b c", code: exit.Usage, err: `but there is also "c"`},
		{args: "logs --since -1m", code: exit.Usage, err: "--since: -1m0s is in the future"},
	} {
		out, _, err := run(t, dir, strings.Fields(tc.args)...)
		if (err == nil) != (tc.err == "") || err != nil && (!strings.Contains(err.Error(), tc.err) || exit.CodeOf(err) != tc.code) {
			t.Errorf("%s: got %v, want %q", tc.args, err, tc.err)
		}
		if diff := cmp.Diff(tc.want, out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.args, diff)
		}
	}
	t.Setenv(connection.DataDirVariable, dir)
	for words, want := range map[string]string{"": "etcd kqueen org-blue/demo org-red/demo", "org-b": "org-blue/demo", "uid-1 kube-s": "kube-scheduler", "blue/demo kube-s": "kube-scheduler", "uid-1 kube-scheduler k": ""} {
		args := strings.Split(words, " ")
		last := len(args) - 1
		if got := completeLogs(t.Context(), connection.New(nil, nil, nil), args[:last], args[last]); strings.Join(got, " ") != want {
			t.Errorf("completed from %q: %q", words, got)
		}
	}
	if _, _, err := run(t, t.TempDir(), "logs"); exit.CodeOf(err) != exit.Failed || err == nil || !strings.Contains(err.Error(), "KQueen is not set up") {
		t.Errorf("where nothing is set up: %v", err)
	}
}

// TestChooseLogs: what the user names is found by the whole name, by the end of it where it is the only one, and by the ID.
func TestChooseLogs(t *testing.T) {
	began := time.Date(2026, 11, 23, 6, 0, 2, 0, time.UTC)
	all, err := logSources(withLogs(t), &status.Status{Workloads: []status.WorkloadStatus{
		{ID: "uid-1", Components: []status.ComponentStatus{{Name: "kube-apiserver", StartedAt: began}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                             "[kqueen kqueen]",
		"kqueen":                       "[kqueen kqueen]",
		"kqueen keeper":                "[kqueen keeper]",
		"keeper":                       "[kqueen keeper]",
		"org-blue/demo":                "[org-blue/demo kube-apiserver org-blue/demo kube-scheduler]",
		"org-red/demo kube-scheduler":  "[org-red/demo kube-scheduler]",
		"red/demo kube-scheduler":      "[org-red/demo kube-scheduler]",
		"uid-2":                        "[org-red/demo kube-scheduler]",
		"demo":                         `"demo" can be any of: org-blue/demo, org-red/demo; name one of these`,
		"demo kube-apiserver":          "[org-blue/demo kube-apiserver]",
		"kube-apiserver":               "[org-blue/demo kube-apiserver]",
		"org-green/demo":               `there is no log of "org-green/demo"; see: kqueen status`,
		"org-blue/demo kube-something": `there is no log of "org-blue/demo kube-something"; see: kqueen status`,
	} {
		chosen, err := chooseLogs(all, strings.Fields(args))
		got := fmt.Sprint(chosen)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", args, got, want)
		}
	}
	chosen, err := chooseLogs(all, []string{"kube-apiserver"})
	if err != nil {
		t.Fatal(err)
	}
	filter, err := logsFlags{previous: true, tail: -1}.filter("/d", &chosen[0], began)
	if err != nil || !filter.Until.Equal(began) {
		t.Errorf("what was before: %+v, %v", filter, err)
	}
}

// TestLineWriter: lines of several programs come whole, and control no terminal.
func TestLineWriter(t *testing.T) {
	var out bytes.Buffer
	w := &lineWriter{to: &linesOut{out: &out, terminal: true}, prefix: "[a] "}
	for _, part := range []string{"one\ntw", "o\x1b[2J", "\n", "end"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := w.end(); err != nil || out.String() != "[a] one\n[a] two[2J\n[a] end\n" {
		t.Errorf("%v, written %q", err, out.String())
	}
}
