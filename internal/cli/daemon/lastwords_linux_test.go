package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKeepLastWords: what an earlier server wrote is there when another one has started, and the number of such files is bounded.
func TestKeepLastWords(t *testing.T) {
	logs := t.TempDir()
	path := filepath.Join(logs, LastWords)
	begin := time.Date(2026, 11, 23, 6, 0, 38, 123e6, time.UTC)
	for n := range wordsKept + 3 {
		if err := keepLastWords(logs); err != nil {
			t.Fatal(err)
		}
		at := begin.Add(time.Duration(n) * time.Second)
		if err := os.WriteFile(path, fmt.Appendf(nil, "panic: %d\n", n), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := keepLastWords(logs); err != nil {
		t.Fatal(err)
	}
	all, err := earlierWords(logs)
	if err != nil || len(all) != wordsKept || filepath.Base(all[0]) != "stderr-20261123T060041.123Z.log" {
		t.Fatalf("kept are %v, %v", all, err)
	}
	if text, err := os.ReadFile(all[wordsKept-1]); err != nil || string(text) != "panic: 12\n" {
		t.Errorf("the last one has %q, %v", text, err)
	}
	// Nothing was written: nothing is kept.
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := keepLastWords(logs); err != nil {
		t.Fatal(err)
	}
	if again, err := earlierWords(logs); err != nil || strings.Join(again, " ") != strings.Join(all, " ") {
		t.Errorf("kept are %v, %v", again, err)
	}
}

// TestCrashIn: the line of a keeper is found at the end alone: what a server writes itself is no crash.
func TestCrashIn(t *testing.T) {
	const line = "kqueen: crashed at 2026-11-23T06:00:38Z: signal: killed, after 3s"
	for text, want := range map[string]string{
		"":                                      "",
		"panic: no\n\n" + line + "\n":           "2026-11-23T06:00:38Z, signal: killed, after 3s; see ",
		line + "\nstarting\n":                   "",
		"kqueen: crashed at noon: by itself":    "",
		"kqueen: crashed at 2026-11-23T06:00:3": "",
	} {
		got := ""
		if crash := crashIn(text); crash != nil {
			got = crash.String()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestNoteRunning: a server without a keeper that did not end in order has crashed, unless the host was switched off.
func TestNoteRunning(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Dir(ServerLog(dir))
	crashed := func(when string, want bool) {
		t.Helper()
		crash, err := LastCrash(dir)
		if err != nil || (crash != nil) != want || want && crash.How != "how is not known; see the journal" {
			t.Errorf("%s: the last crash is %v, %v, want one: %t", when, crash, err, want)
		}
	}
	note := func() {
		t.Helper()
		if err := NoteRunning(dir, "see the journal"); err != nil {
			t.Fatal(err)
		}
	}
	note()
	crashed("the first start", false)
	if err := NoteEnded(dir); err != nil {
		t.Fatal(err)
	}
	note()
	crashed("after an end in order", false)
	if err := os.WriteFile(filepath.Join(logs, runningNote), []byte("another start of the host\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	note()
	crashed("after the host was switched off", false)
	note()
	crashed("after a crash", true)
	for range 2 {
		if err := NoteEnded(dir); err != nil {
			t.Error(err)
		}
	}
}
