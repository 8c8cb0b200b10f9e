package release

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

const manifestName = "release.json"

// ErrDamaged marks a release that is in the store but cannot be used. [Store.Ensure]
// makes it anew; a program that only looks it up must not start its programs.
var ErrDamaged = errors.New("release is damaged")

// Component is one file in the store.
type Component struct {
	// SHA256 is the hash of the file in lower-case hex.
	SHA256 string `json:"sha256"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// Binaries are the programs of one version in the store.
type Binaries struct {
	Version Version
	// Dir is the folder that holds the programs of control planes under their own names.
	Dir string
	// Components has an entry for every one of [Components] that is there: those of nodes may not be built yet.
	Components map[string]Component
	// NodeDir is the folder that holds [NodeComponents]; empty while they are not there.
	NodeDir string
	// NodeDamage says why those of a build that are there cannot be used; nil when they can, or are not there.
	NodeDamage error
	Origin     Origin
	// HandsOver says that another kube-apiserver can take the place of this one while it runs, as that of a build of KQueen's modules can:
	// it has the flags --handover-folder and --own-address. Upstream's own has not.
	HandsOver bool
}

// Path is the program of a component, ready to be started. It is empty for a component that is not there.
func (b Binaries) Path(component string) string {
	if _, ok := b.Components[component]; !ok {
		return ""
	}
	dir := b.Dir
	if slices.Contains(NodeComponents, component) {
		dir = cmp.Or(b.NodeDir, b.Dir)
	}
	return filepath.Join(dir, component)
}

// HasNode says whether the programs of nodes are there.
func (b Binaries) HasNode() bool {
	return !slices.ContainsFunc(NodeComponents, func(name string) bool { return b.Path(name) == "" })
}

// manifest is release.json. It is the last thing written into a folder.
type manifest struct {
	Version Version `json:"version,omitzero"`
	Arch    string  `json:"arch"`
	Origin  Origin  `json:"origin"`
	// Components are the files, by path relative to the folder.
	Components map[string]Component `json:"components"`
	// Images are the archives among them, and the name of the image in each.
	Images map[string]string `json:"images,omitempty"`
	// HandsOver is that of [Binaries].
	HandsOver bool `json:"handsOver,omitempty"`
}

// readManifest reads and checks what was made in a folder: that the manifest is complete,
// for that version (any when it is not set), and the sizes are right. Without a manifest
// nothing is there: false, nil. Errors wrap [ErrDamaged] where making it anew would help.
func readManifest(dir string, v Version, files []string) (manifest, bool, error) {
	folder := filepath.Base(dir)
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{}, false, nil
	}
	if err != nil {
		return manifest{}, false, fmt.Errorf("read release %s: %w", folder, err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return manifest{}, false, fmt.Errorf("%w: read %s of %s: %w", ErrDamaged, manifestName, folder, err)
	}
	if m.Version != v && !v.IsZero() {
		return manifest{}, false, fmt.Errorf("%w: %s of %s says version %s", ErrDamaged, manifestName, folder, m.Version)
	}
	if m.Arch != runtime.GOARCH {
		return manifest{}, false, fmt.Errorf("%w: %s was made for %q, this machine is %s", ErrDamaged, folder, m.Arch, runtime.GOARCH)
	}
	for _, name := range slices.Concat(files, sortedKeys(m.Images)) {
		_, isImage := m.Images[name]
		if err := checkFile(filepath.Join(dir, name), m.Components[name], !isImage); err != nil {
			return manifest{}, false, fmt.Errorf("%w: %s of %s: %w", ErrDamaged, name, folder, err)
		}
	}
	return m, true, nil
}

func checkFile(file string, want Component, program bool) error {
	if _, ok := parseSHA256(want.SHA256); !ok {
		return fmt.Errorf("has no hash in %s", manifestName)
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case program && (!info.Mode().IsRegular() || info.Mode().Perm()&0o100 == 0):
		return errors.New("is not an executable file")
	case info.Size() != want.Size:
		return fmt.Errorf("has %d bytes instead of %d", info.Size(), want.Size)
	}
	return nil
}

// writeManifest completes the release in dir and pushes it to the disk, so that after a
// power cut either all of it is there or none.
func writeManifest(dir string, m manifest) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", manifestName, err)
	}
	file, err := os.OpenFile(filepath.Join(dir, manifestName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create %s: %w", manifestName, err)
	}
	if _, err := file.Write(append(data, '\n')); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", manifestName, err), file.Close())
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", manifestName, err)
	}
	return syncFile(dir)
}

// syncFile pushes a file or the entries of a folder to the disk.
func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

func hashFile(ctx context.Context, path string) (Component, error) {
	file, err := os.Open(path)
	if err != nil {
		return Component{}, fmt.Errorf("hash: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, contextReader{ctx, file})
	if err != nil {
		return Component{}, fmt.Errorf("hash: %w", err)
	}
	return Component{SHA256: hex.EncodeToString(sum.Sum(nil)), Size: size}, nil
}

// contextReader ends a long read when its context ends.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
