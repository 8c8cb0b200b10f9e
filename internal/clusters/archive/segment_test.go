package archive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testLog = Log{Owner: "s1", Cluster: "c1", ControlPlane: "p1", Name: "0001700000000-0a"}

func testSegment(after int64, changes ...Change) Segment {
	since := time.UnixMilli(1_700_000_000_000).UTC()
	s := Segment{Log: testLog, After: after, Until: after + 10, Since: since, Complete: since.Add(time.Minute), CaughtUp: after + 1, Version: "v1.36.3", Trust: testAbout.Trust, Changes: changes}
	for i := range s.Changes {
		s.Changes[i].Time = since.Add(time.Duration(i) * 7 * time.Millisecond)
	}
	return s
}

func TestSegment(t *testing.T) {
	d, folder := newDirectory(t)
	k := newKeys(t)
	want := testSegment(40,
		Change{Revision: 41, Key: "a", Value: []byte("1")}, Change{Revision: 43, Key: "b", Value: []byte{}},
		Change{Revision: 43, Key: "a", Value: []byte{}, Removed: true}, Change{Revision: 50, Key: "c", Value: []byte(strings.Repeat("c", 2<<20))})
	if err := WriteSegment(t.Context(), d, k, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSegment(t.Context(), d, k, testLog, 40)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The same one takes its place when it has grown.
	want.Until, want.Changes = 60, append(want.Changes, Change{Revision: 55, Time: want.Complete, Key: "d", Value: []byte("4")})
	if err := WriteSegment(t.Context(), d, k, want); err != nil {
		t.Fatal(err)
	}
	if err := WriteSegment(t.Context(), d, k, testSegment(60)); err != nil {
		t.Fatal(err)
	}
	if got, err = ReadSegment(t.Context(), d, k, testLog, 40); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	logs, err := Logs(t.Context(), d)
	if diff := cmp.Diff(map[string][]int64{testLog.Name: {40, 60}}, logs); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if err := RemoveSegment(t.Context(), d, testLog, 40); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, segmentFile(testLog, 60))); err != nil {
		t.Error(err)
	}
	if err := errors.Join(RemoveLogs(t.Context(), d), RemoveLogs(t.Context(), d)); err != nil {
		t.Error(err)
	}
	if logs, err = Logs(t.Context(), d); err != nil || len(logs) != 0 {
		t.Error(logs, err)
	}
}

// TestDamagedSegment: what is changed, cut off, another's or gone is damage, and never read.
func TestDamagedSegment(t *testing.T) {
	d, folder := newDirectory(t)
	k := newKeys(t)
	path := filepath.Join(folder, segmentFile(testLog, 40))
	put := func(keys Keys, s Segment) func() error {
		return func() error { return WriteSegment(t.Context(), d, keys, s) }
	}
	change := func(f func([]byte) []byte) func() error {
		return func() error {
			file, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, f(file), 0o600))
		}
	}
	other := testSegment(40)
	other.Cluster = "c2"
	elsewhere := func() error { // a segment of the same log under the name of another one
		s := testSegment(30)
		file, err := k.encodeSegment(s)
		return errors.Join(err, os.WriteFile(path, file, 0o600))
	}
	for name, damage := range map[string]func() error{
		"gone":      func() error { return os.Remove(path) },
		"empty":     change(func([]byte) []byte { return nil }),
		"cut":       change(func(b []byte) []byte { return b[:len(b)-1] }),
		"longer":    change(func(b []byte) []byte { return append(b, 0) }),
		"head":      change(func(b []byte) []byte { return []byte(strings.Replace(string(b), `"until":50`, `"until":51`, 1)) }),
		"signature": change(func(b []byte) []byte { b[0] ^= 1; return b }),
		"content":   change(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }),
		"store":     put(newKeys(t), testSegment(40)),
		"cluster":   func() error { s, err := k.encodeSegment(other); return errors.Join(err, os.WriteFile(path, s, 0o600)) },
		"elsewhere": elsewhere,
	} {
		if err := put(k, testSegment(40, Change{Revision: 41, Key: "a", Value: []byte("1")}))(); err != nil {
			t.Fatal(err)
		}
		if err := damage(); err != nil {
			t.Fatal(name, err)
		}
		_, err := ReadSegment(t.Context(), d, k, testLog, 40)
		if bad, ok := errors.AsType[*DamagedError](err); !ok || !strings.Contains(bad.Problem, "log of changes") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzSegment: no file makes the reader of segments fail otherwise than with an error, and what is read is written as it was.
func FuzzSegment(f *testing.F) {
	since := time.UnixMilli(1_700_000_000_000)
	f.Add([]byte{}, int64(40))
	f.Add(encodeChanges(since, 40, testSegment(40, Change{Revision: 41, Key: "a", Value: []byte("1")}, Change{Revision: 43, Key: "b", Removed: true}).Changes), int64(40))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00"), int64(1))
	data, err := NewKeys()
	if err != nil {
		f.Fatal(err)
	}
	k, err := ParseKeys(data, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte, after int64) {
		if _, err := k.decodeSegment(content); err == nil {
			t.Error("a segment that these keys did not sign was read")
		}
		changes, err := decodeChanges(since, after, content)
		if err != nil {
			return
		}
		again, err := decodeChanges(since, after, encodeChanges(since, after, changes))
		if err != nil || !cmp.Equal(changes, again) {
			t.Error(fmt.Sprint(err), cmp.Diff(changes, again))
		}
	})
}
