package release

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSourceCheck(t *testing.T) {
	build := &Build{Module: "kubernetes/v1.36"}
	at := func(base string) Source { return Source{Download: &Download{BaseURL: base}} }
	pins := func(change func(map[string]string)) Source {
		p := pinsOf()
		change(p)
		return Source{Download: &Download{BaseURL: "https://dl.k8s.io/release", SHA256: p}}
	}
	for name, tc := range map[string]struct {
		src  Source
		want string
	}{
		"Neither":      {Source{}, "set either build or download"},
		"Both":         {Source{Build: build, Download: &Download{BaseURL: "https://x"}}, "set only one"},
		"NoModule":     {Source{Build: &Build{}}, "build.module is empty"},
		"NoURL":        {at(""), "download.baseURL"},
		"FileURL":      {at("file:///etc"), "not an http or https address"},
		"NoHost":       {at("https:///release"), "not just a host and a path"},
		"Query":        {at("https://x/?a=b"), "not just a host and a path"},
		"Unreadable":   {at("https://x/%zz"), "cannot be read"},
		"PinMissing":   {pins(func(p map[string]string) { delete(p, "kubelet") }), "download.sha256.kubelet is missing"},
		"PinShort":     {pins(func(p map[string]string) { p["kubelet"] = "abcd" }), "download.sha256.kubelet is not a SHA-256"},
		"PinNotHex":    {pins(func(p map[string]string) { p["kubelet"] = strings.Repeat("z", 64) }), "download.sha256.kubelet is not a SHA-256"},
		"PinUnknown":   {pins(func(p map[string]string) { p["etcd"] = p["kubelet"] }), "download.sha256.etcd is not a component"},
		"PasswordKept": {at("ftp://user:hunter2@x/"), "user:xxxxx@x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			_, err := NewStore(dir).Ensure(t.Context(), mustVersion(t, testVersion), tc.src, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v does not say %q", err, tc.want)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("bad input created the store")
			}
		})
	}
}

func TestVersionNotSet(t *testing.T) {
	store := NewStore(t.TempDir())
	if _, err := store.Ensure(t.Context(), Version{}, Source{Build: &Build{Module: "x"}}, nil); err == nil {
		t.Error("Ensure took a version that is not set")
	}
	if _, _, err := store.Lookup(Version{}); err == nil {
		t.Error("Lookup took a version that is not set: the whole store would be its folder")
	}
}

// TestDamage breaks a release in every way that Lookup promises to see, and lets Ensure
// mend it.
func TestDamage(t *testing.T) {
	m := newMirror(t, nil)
	v := mustVersion(t, testVersion)
	for name, tc := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"ProgramGone":     {func(dir string) error { return os.Remove(filepath.Join(dir, "kubelet")) }, "kubelet of v1.99.9"},
		"ProgramShort":    {func(dir string) error { return os.Truncate(filepath.Join(dir, "kubelet"), 7) }, "has 7 bytes"},
		"NotExecutable":   {func(dir string) error { return os.Chmod(filepath.Join(dir, "kubelet"), 0o600) }, "not an executable"},
		"NoJSON":          {writeFile(manifestName, "half a man"), "read release.json"},
		"OtherVersion":    {replaceIn(manifestName, `"v1.99.9"`, `"v1.99.8"`), "says version v1.99.8"},
		"OtherMachine":    {replaceIn(manifestName, `"arch": "`, `"arch": "un`), "was made for"},
		"HashMissing":     {replaceIn(manifestName, hashOf(program("kubectl")), ""), "kubectl of v1.99.9: has no hash"},
		"EntryMissing":    {replaceIn(manifestName, `"kubectl"`, `"kubect"`), "kubectl of v1.99.9: has no hash"},
		"ManifestGone":    {func(dir string) error { return os.Remove(filepath.Join(dir, manifestName)) }, ""},
		"ProgramIsFolder": {folderFor("kubelet"), "not an executable"},
	} {
		t.Run(name, func(t *testing.T) {
			store := NewStore(t.TempDir())
			if _, err := store.Ensure(t.Context(), v, m.source(), nil); err != nil {
				t.Fatal(err)
			}
			if err := tc.damage(store.path(v)); err != nil {
				t.Fatal(err)
			}
			_, ok, err := store.Lookup(v)
			if ok {
				t.Error("lookup found a damaged release")
			}
			if tc.want != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("lookup: %v is not ErrDamaged with %q", err, tc.want)
			}
			if tc.want == "" && err != nil {
				t.Errorf("lookup: %v", err)
			}
			b, err := store.Ensure(t.Context(), v, m.source(), nil)
			if err != nil {
				t.Fatalf("mend: %v", err)
			}
			if err := b.Verify(t.Context()); err != nil {
				t.Errorf("mended: %v", err)
			}
			if diff := cmp.Diff([]string{".v1.99.9.lock", "v1.99.9"}, names(t, store.dir)); diff != "" {
				t.Errorf("left behind: -want, +got:\n%s", diff)
			}
		})
	}
}

func writeFile(name, content string) func(string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600) }
}

func replaceIn(name, from, to string) func(string) error {
	return func(dir string) error {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		changed := strings.Replace(string(content), from, to, 1)
		if changed == string(content) {
			return errors.New("the test changed nothing")
		}
		return writeFile(name, changed)(dir)
	}
}

func folderFor(name string) func(string) error {
	return func(dir string) error {
		path := filepath.Join(dir, name)
		return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
	}
}

// TestLeftovers is the store after a crash in the middle of a download: a temporary
// folder with programs, also one whose manifest was written but which was not moved.
func TestLeftovers(t *testing.T) {
	m := newMirror(t, nil)
	dir, v := t.TempDir(), mustVersion(t, testVersion)
	store := NewStore(dir)
	for _, leftover := range []string{".v1.99.9_123", ".v1.99.9_removed", ".v1.99.9-rc.1_123", "v1.99.9"} {
		if err := os.MkdirAll(filepath.Join(dir, leftover), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := writeFile("kubelet", "half")(filepath.Join(dir, leftover)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := store.List(); err != nil || len(list) != 0 {
		t.Errorf("list: %v, %v; want nothing", list, err)
	}
	if _, ok, err := store.Lookup(v); ok || err != nil {
		t.Errorf("lookup: %v, %v; want nothing", ok, err)
	}
	b, err := store.Ensure(t.Context(), v, m.source(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{".v1.99.9-rc.1_123", ".v1.99.9.lock", "v1.99.9"} // the candidate is not ours to sweep
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestLockWaitEndsWithContext(t *testing.T) {
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	unlock, err := store.lock(t.Context(), v.String(), func(Step) {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	src := Source{Download: &Download{BaseURL: "http://127.0.0.1:1"}}
	_, err = NewStore(store.dir).Ensure(ctx, v, src, func(Step) { cancel() })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "wait for another process") {
		t.Errorf("got %v, want a cancelled wait", err)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	store := NewStore(dir)
	if list, err := NewStore(filepath.Join(dir, "none")).List(); err != nil || len(list) != 0 {
		t.Errorf("list of no store: %v, %v", list, err)
	}
	m := newMirror(t, nil)
	v := mustVersion(t, testVersion)
	b, err := store.Ensure(t.Context(), v, m.source(), nil)
	if err != nil {
		t.Fatal(err)
	}
	older := mustVersion(t, "v1.9.0") // sorts after v1.99.9 as text
	if err := os.CopyFS(store.path(older), os.DirFS(b.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := replaceIn(manifestName, "v1.99.9", "v1.9.0")(store.path(older)); err != nil {
		t.Fatal(err)
	}
	damaged := mustVersion(t, "v1.50.0")
	if err := errors.Join(os.Mkdir(store.path(damaged), 0o700), writeFile(manifestName, "{}")(store.path(damaged))); err != nil {
		t.Fatal(err)
	}
	list, err := store.List()
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "v1.50.0") {
		t.Errorf("list does not name the damaged release: %v", err)
	}
	var got []string
	for _, b := range list {
		got = append(got, b.Version.String())
	}
	if diff := cmp.Diff([]string{"v1.9.0", "v1.99.9"}, got); diff != "" {
		t.Errorf("list: -want, +got:\n%s", diff)
	}
}
