package guest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamedDirs reads folders of libraries as ldconfig does.
func TestNamedDirs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ld.so.conf":          "# a comment\ninclude ld.so.conf.d/*.conf\n/opt/lib # mine\nrelative\ninclude missing.conf\n",
		"ld.so.conf.d/a.conf": "/usr/local/lib\n",
		"ld.so.conf.d/b.conf": "include " + filepath.Join(dir, "ld.so.conf") + "\n/b\n", // in circles
		"ld.so.conf.d/c.txt":  "/never\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := namedDirs(filepath.Join(dir, "ld.so.conf"), 0)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"/b", "/opt/lib", "/usr/local/lib"}, slices.Compact(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestClosure: of programs come the loader and all libraries, of what is none nothing.
func TestClosure(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := closure{files: map[string]bool{}}
	if err := c.add(script); err == nil || len(c.files) > 0 {
		t.Errorf("of a script come %v, %v", c.files, err)
	}
	mount, err := exec.LookPath("mount")
	if err != nil {
		t.Skip("this host has no mount")
	}
	if err := c.add(mount); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"mount", "libc.", "libmount."} {
		if !slices.ContainsFunc(slices.Collect(func(yield func(string) bool) {
			for f := range c.files {
				if !yield(f) {
					return
				}
			}
		}), func(f string) bool { return strings.Contains(filepath.Base(f), part) }) {
			t.Errorf("nothing like %s is among %v", part, c.files)
		}
	}
	entries := toolEntries([]string{"mount", "no-such-tool"})
	for _, e := range entries {
		if strings.Contains(e.Target, "no-such-tool") {
			t.Errorf("a tool that the host has not: %+v", e)
		}
	}
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Target == mount && e.Kind == KindReadOnly }) {
		t.Errorf("mount is not among %+v", entries)
	}
}

// TestCheckTree: what the host makes does not lie where the inside could lead it elsewhere.
func TestCheckTree(t *testing.T) {
	own := Entry{Kind: KindOwn, Target: "/var/lib"}
	for target, wrong := range map[string]bool{"/var/lib/kubelet": true, "/var/library": false, "/var": false, "/var/log": false} {
		if err := checkTree([]Entry{own, {Kind: KindFolder, Target: target}}); (err != nil) != wrong {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestCapabilities: a program keeps what it may, for the machine's root alone.
func TestCapabilities(t *testing.T) {
	ids := &IDs{First: 0x80000, Count: 65536}
	v2 := []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	want := append([]byte{1, 0, 0, 3}, append(slices.Clone(v2[4:]), 0, 0, 8, 0)...)
	if diff := cmp.Diff(want, ids.capabilities(v2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, of := range map[string][]byte{"none": nil, "version 3": append(v2[:4:4], make([]byte, 20)...), "version 1": {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}} {
		if got := ids.capabilities(of); got != nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
