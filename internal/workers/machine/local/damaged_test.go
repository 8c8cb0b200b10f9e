//go:build linux

package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/hostcheck"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
)

// TestDamagedMachine: a machine whose file is damaged is a machine, which no other one pays for but new ones: an address
// that it may have is not given away.
func TestDamagedMachine(t *testing.T) {
	dir := t.TempDir()
	const good = `{"cluster": "c", "address": "10.223.4.2/24", "program": "/", "isolation": "OwnRoot"}`
	for id, text := range map[string]string{"good": good, "empty": "", "cut": good[:20], "garbage": "\x00garbage", "null": "null", "nowhere": `{"cluster": "c"}`} {
		folder := filepath.Join(dir, "workloads", id)
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, recordFile), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"folder/machine.json/x", "controlplane/ports.json"} { // whose ports cannot be read
		path := filepath.Join(dir, "workloads", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	runner, err := supervise.New(supervise.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	found, err := Find(t.Context(), runner)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{Config: Config{Runner: runner}, limits: func() hostcheck.Readings { return nil }, records: found}
	for _, id := range []string{"empty", "cut", "garbage", "null", "nowhere", "folder"} {
		_, err := p.recordOf(t.Context(), machine.Desired{Target: machine.Target{Ref: machine.Ref{UID: types.UID(id)}}})
		damaged, ok := errors.AsType[*atomicfile.DamagedError](err)
		if !found.Has(id) || !ok || damaged.Path != filepath.Join(dir, "workloads", id, recordFile) || !strings.Contains(err.Error(), "kqueen node replace") {
			t.Errorf("%s: got %v, want that it is damaged, and what helps", id, err)
		}
	}
	if r, err := p.recordOf(t.Context(), machine.Desired{Target: machine.Target{Ref: machine.Ref{UID: "good"}}}); err != nil || r.Cluster != "c" {
		t.Errorf("the others: %+v, %v", r, err)
	}
	mended := filepath.Join(dir, "workloads", "cut", recordFile)
	look := func() error {
		_, err := p.recordOf(t.Context(), machine.Desired{Target: machine.Target{Ref: machine.Ref{UID: "cut"}}})
		return err
	}
	if err := errors.Join(os.Remove(mended), look()); err == nil {
		t.Error("one whose damaged file was removed is taken for a new one")
	}
	if err := errors.Join(os.WriteFile(mended, []byte(good), 0o600), look()); err != nil {
		t.Errorf("one whose file is good again: %v", err)
	}
	if found.Has("controlplane") {
		t.Error("a control plane is taken for a machine")
	}
	if _, err := p.recordOf(t.Context(), machine.Desired{Target: machine.Target{Ref: machine.Ref{UID: "new"}}}); err == nil || !strings.Contains(err.Error(), "no machine gets an address or users") {
		t.Errorf("a new one: %v", err)
	}
}
