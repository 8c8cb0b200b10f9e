package volumes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

const (
	claimA = "aaaaaaaa-1111-2222-3333-444444444444"
	claimB = "bbbbbbbb-1111-2222-3333-444444444444"
)

func open(t *testing.T) *folders {
	t.Helper()
	f, err := openFolders(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

// put creates files, with their folders, below dir. The content is their name.
func put(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, []byte(file))
	}
}

// tree returns the files below dir, and the folders in which there is none.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if entry.IsDir() {
			if below, err := os.ReadDir(path); err != nil || len(below) > 0 {
				return err
			}
		}
		found = append(found, strings.TrimPrefix(path, dir+"/"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFolders(t *testing.T) {
	old, older := released+claimA+"-20260102T000000Z", released+claimA+"-20260101T000000Z"
	create := func(f *folders) error { return f.create(claimA) }
	remove := func(f *folders) error { return f.remove(claimA) }
	cases := map[string]struct {
		before []string
		do     func(*folders) error
		want   []string
	}{
		"Create":            {[]string{claimB + "/x"}, create, []string{claimA, claimB + "/x"}},
		"CreateAgain":       {[]string{claimA + "/x"}, create, []string{claimA + "/x"}},
		"CreateInterrupted": {[]string{creating + claimA + "/x"}, create, []string{claimA}},
		"GivesBack":         {[]string{old + "/new", older + "/x"}, create, []string{older + "/x", claimA + "/new"}},
		"Remove":            {[]string{claimA + "/x/y", claimB + "/x"}, remove, []string{claimB + "/x"}},
		"RemoveReleased":    {[]string{old + "/x", older + "/x", claimB + "/x"}, remove, []string{claimB + "/x"}},
		"RemoveInterrupted": {[]string{deleting + claimA + "/x", claimA + "/y"}, remove, nil},
		"RemoveAgain":       {nil, remove, nil},
		"Clear":             {[]string{creating + claimA + "/x", deleting + claimB + "/x", claimB + "/x"}, (*folders).clear, []string{deleting + claimB + "/x", claimB + "/x"}},
		"RenameOvertaken": {[]string{old + "/x", claimA + "/y"}, func(f *folders) error {
			return f.rename(change{from: old, to: claimA})
		}, []string{old + "/x", claimA + "/y"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			put(t, f.dir, c.before...)
			if err := c.do(f); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, tree(t, f.dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestFoldersOfOthers is about what pods leave behind: links that lead out, and folders that only their users may enter or delete from.
func TestFoldersOfOthers(t *testing.T) {
	f := open(t)
	outside := t.TempDir()
	put(t, outside, "precious")
	if err := f.create(claimA); err != nil {
		t.Fatal(err)
	}
	volume := f.path(claimA)
	put(t, volume, "closed/x", "sticky/x")
	act := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	act(os.Symlink(outside, filepath.Join(volume, "out")))
	act(os.Symlink(filepath.Join(outside, "precious"), filepath.Join(volume, "closed", "file")))
	if os.Getenv("WITHOUT_CHOWN") == "" { // with the capabilities of the addon only, nothing can be given away
		act(os.Chown(filepath.Join(volume, "sticky", "x"), 1001, 1001))
		act(os.Chown(filepath.Join(volume, "sticky"), 1000, 1000))
		act(os.Chown(filepath.Join(volume, "closed"), 1000, 1000))
	}
	act(os.Chmod(filepath.Join(volume, "sticky"), 0o755|os.ModeSticky))
	act(os.Chmod(filepath.Join(volume, "closed"), 0))
	act(f.remove(claimA))
	if diff := cmp.Diff([]string(nil), tree(t, f.dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"precious"}, tree(t, outside)); diff != "" {
		t.Errorf("outside: -want +got:\n%s", diff)
	}

	// The volume itself is a link.
	act(os.Symlink(outside, volume))
	if err := f.create(claimA); err == nil {
		t.Error("a link was taken for a volume")
	}
	act(f.remove(claimA))
	if diff := cmp.Diff([]string{"precious"}, tree(t, outside)); diff != "" {
		t.Errorf("outside: -want +got:\n%s", diff)
	}
}

// TestFoldersDeep is about a pod that nests folders until the names of all of them are longer than any path.
func TestFoldersDeep(t *testing.T) {
	f := open(t)
	put(t, f.dir, claimA+"/x", deleting+"deep-1/interrupted")
	in, err := os.OpenRoot(f.path(claimA))
	for range 5 * maxDepth {
		if err != nil {
			t.Fatal(err)
		}
		if err = in.Mkdir("d", 0o755); err == nil {
			err = in.WriteFile("x", nil, 0o600)
		}
		below, opened := in.OpenRoot("d")
		err = errors.Join(err, opened, in.Close())
		in = below
	}
	if err := errors.Join(err, in.Close()); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(claimA); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{deleting + "deep-1/interrupted"}, tree(t, f.dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOpenFolders(t *testing.T) {
	f := open(t)
	info, err := os.Stat(f.dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info, err)
	}
	if size, err := f.size(); err != nil || size <= 0 {
		t.Errorf("size %d, %v", size, err)
	}
	for _, dir := range []string{"volumes", filepath.Join(f.dir, "absent")} {
		if _, err := openFolders(dir); err == nil {
			t.Errorf("%s was opened", dir)
		}
	}
}

func TestFolderName(t *testing.T) {
	for uid, fine := range map[types.UID]bool{claimA: true, "": false, ".": false, "..": false, "../x": false, "a/b": false, deleting + claimA: false, "A": false} {
		if _, err := folderName(uid); (err == nil) != fine {
			t.Errorf("%q: %v", uid, err)
		}
		for _, act := range []func(types.UID) error{open(t).create, open(t).remove} {
			if err := act(uid); (err == nil) != fine {
				t.Errorf("%q: %v", uid, err)
			}
		}
	}
}

func TestReleasedName(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	claim, since, ok := parseReleased(nameReleased(claimA, at))
	if claim != claimA || !since.Equal(at) || !ok {
		t.Error(claim, since, ok)
	}
	for _, name := range []string{claimA, released, released + claimA, released + "-20260102T030405Z", released + claimA + "-20261302T030405Z", released + claimA + "20260102T030405Z"} {
		if claim, _, ok := parseReleased(name); ok {
			t.Errorf("%q is of %q", name, claim)
		}
	}
}

func TestPlan(t *testing.T) {
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	old, older := nameReleased(claimA, now.Add(-8*day)), nameReleased(claimA, now.Add(-9*day))
	young, future := nameReleased(claimA, now.Add(-6*day)), nameReleased(claimA, now.Add(day))
	known := map[string]bool{claimA: true}
	cases := map[string]struct {
		names []string
		known map[string]bool
		grace time.Duration
		want  []change
	}{
		"Known":         {[]string{claimA}, known, 7 * day, nil},
		"Unknown":       {[]string{claimA}, nil, 7 * day, []change{{claimA, nameReleased(claimA, now)}}},
		"Young":         {[]string{young, future}, nil, 7 * day, nil},
		"Old":           {[]string{older, old, young}, nil, 7 * day, []change{{from: older}, {from: old}}},
		"WithoutLimit":  {[]string{old}, nil, 0, nil},
		"KnownAgain":    {[]string{older, old}, known, 7 * day, []change{{old, claimA}}},
		"KnownAndThere": {[]string{claimA, old, young}, known, 7 * day, []change{{from: old}}},
		"Deleting":      {[]string{deleting + claimA, claimA}, known, 7 * day, []change{{from: deleting + claimA}}},
		"OfTheOperator": {[]string{"lost+found", "data", ".hidden", creating + claimA, "aaaaaaaa-1111-2222-33333-44444444444"}, nil, 7 * day, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, plan(c.names, c.known, now, c.grace), cmp.AllowUnexported(change{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
