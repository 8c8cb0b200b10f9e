package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// TestSubject: a supervisor says whose a workload is before it was described again, and what cannot be read or written of that holds up nothing.
func TestSubject(t *testing.T) {
	dir := t.TempDir()
	is := Subject{Name: "org-default/demo", Cluster: "default/demo"}
	first, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(s *Supervisor, is Subject) {
		t.Helper()
		if err := s.Apply(t.Context(), Workload{ID: "a", Subject: is}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(s *Supervisor, what string, is Subject) {
		t.Helper()
		if got, err := s.Status(t.Context(), "a"); err != nil || got.Subject != is {
			t.Errorf("%s: it is %+v (%v), want %+v", what, got.Subject, err, is)
		}
	}
	want(first, "before all", Subject{})
	apply(first, is)
	want(first, "once it is described", is)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
	want(second, "in the next life", is)
	other := Subject{Name: "org-default/demo-1", Cluster: "default/demo", Node: true}
	apply(second, other)
	want(second, "described otherwise", other)
	file := filepath.Join(second.Dir("a"), subjectFile)
	if err := os.WriteFile(file, []byte(`{"name":`), 0o600); err != nil {
		t.Fatal(err)
	}
	want(second, "damaged", Subject{})
	apply(second, other)
	want(second, "described after that", other)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil { // nothing can be written there
		t.Fatal(err)
	}
	apply(second, other)
	want(second, "not to be kept", Subject{})

	err = Workload{ID: "a", Files: map[string]File{subjectFile: {}}}.Validate()
	if _, ok := errors.AsType[*invalid.Error](err); !ok {
		t.Errorf("a file of that name is %v, want it refused", err)
	}
}
