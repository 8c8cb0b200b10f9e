package release

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stub makes programs of these names without compiling any.
type stub []string

func (stub) origin() Origin { return Origin{Kind: originBuild, From: "/source", Fingerprint: "f"} }

func (s stub) build(ctx context.Context, dir string, _ func(Step)) (made, error) {
	files := map[string]Component{}
	for _, name := range s {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, program(name), 0o755); err != nil {
			return made{}, err
		}
		hashed, err := hashFile(ctx, file)
		if err != nil {
			return made{}, err
		}
		files[name] = hashed
	}
	return made{files: files}, nil
}

// TestDamagedNodePrograms: control planes of a build go on without what nodes run, and the next build mends that alone.
func TestDamagedNodePrograms(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"ProgramGone":  func(dir string) error { return os.Remove(filepath.Join(dir, "kubelet")) },
		"ProgramShort": func(dir string) error { return os.Truncate(filepath.Join(dir, "kube-proxy"), 7) },
		"NoJSON":       writeFile(manifestName, "half a man"),
		"OtherMachine": replaceIn(manifestName, `"arch": "`, `"arch": "un`),
	} {
		t.Run(name, func(t *testing.T) {
			store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
			fill := func(at slot) (steps []string) {
				t.Helper()
				if _, err := store.fill(t.Context(), at, stub(at.files), func(s Step) { steps = append(steps, s.Name) }); err != nil {
					t.Fatal(err)
				}
				return steps
			}
			planes, nodes := releaseSlot(v, Source{Build: &Build{}}), nodeProgramsSlot(v)
			fill(planes)
			fill(nodes)
			if whole, ok, err := store.Lookup(v); !ok || err != nil || !whole.HasNode() {
				t.Fatalf("before: %+v, %v, %v", whole, ok, err)
			}
			if err := damage(filepath.Join(store.dir, nodes.folder)); err != nil {
				t.Fatal(err)
			}
			found, ok, err := store.Lookup(v)
			if !ok || err != nil || found.HasNode() || found.Path("kubelet") != "" || found.Path("kube-apiserver") == "" {
				t.Errorf("lookup: %+v, %v, %v; want the programs of control planes alone", found, ok, err)
			}
			if !errors.Is(found.NodeDamage, ErrDamaged) {
				t.Errorf("the damage is %v", found.NodeDamage)
			}
			if list, err := store.List(); len(list) != 1 || err != nil {
				t.Errorf("list: %v, %v", list, err)
			}
			if steps := fill(planes); len(steps) > 0 {
				t.Errorf("the programs of control planes were made anew: %q", steps)
			}
			if steps := fill(nodes); len(steps) != 1 || !strings.HasPrefix(steps[0], "build it again: "+ErrDamaged.Error()) {
				t.Errorf("the programs of nodes: %q, want the damage named", steps)
			}
			if mended, ok, err := store.Lookup(v); !ok || err != nil || !mended.HasNode() || mended.NodeDamage != nil {
				t.Errorf("mended: %+v, %v, %v", mended, ok, err)
			}
		})
	}
}

// TestNodeBuild: how far a build is comes from the process that makes it, and from no file that a crash has left.
func TestNodeBuild(t *testing.T) {
	store := NewStore(t.TempDir())
	step := Step{Name: "build runc", Done: 3, Total: 9, Unit: "packages"}
	data, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	left := func(content string) {
		t.Helper()
		if err := writeFile(progressFile, content)(store.dir); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := store.NodeBuild(); ok {
		t.Errorf("in a store that no process has used: %s", got)
	}
	left(string(data))
	unlock, err := store.lock(t.Context(), nodeName, func(Step) {})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ content, want string }{
		"Whole":    {string(data), "build runc, 3 of 9 packages"},
		"Half":     {string(data[:len(data)/2]), "begin"},
		"TooLarge": {`{"Name": "` + strings.Repeat("x", maxProgress) + `"}`, "begin"},
	} {
		left(tc.content)
		if got, ok := NewStore(store.dir).NodeBuild(); !ok || got.String() != tc.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, ok, tc.want)
		}
	}
	left(string(data))
	unlock()
	if got, ok := store.NodeBuild(); ok {
		t.Errorf("after the process has ended: %s", got)
	}
}
