package release

import (
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
)

const manifestName = "release.json"

// ErrDamaged marks a release that is in the store but cannot be used. [Store.Ensure]
// makes it anew; anybody else should not start its programs.
var ErrDamaged = errors.New("release is damaged")

// Component is one program of a release in the store.
type Component struct {
	// SHA256 is the hash of the file in lower-case hex.
	SHA256 string `json:"sha256"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// Binaries are the programs of one version in the store.
type Binaries struct {
	Version Version
	// Dir is the folder that holds the programs under their own names.
	Dir string
	// Components has an entry for every one of [Components].
	Components map[string]Component
	Origin     Origin
}

// Path is the program of a component, ready to be started. It is empty for a component
// that the release does not have.
func (b Binaries) Path(component string) string {
	if _, ok := b.Components[component]; !ok {
		return ""
	}
	return filepath.Join(b.Dir, component)
}

// Verify reads every program and compares its hash with the recorded one, which takes
// seconds. An error that wraps [ErrDamaged] names the component; [Store.Remove] and
// [Store.Ensure] then bring a good one.
func (b Binaries) Verify(ctx context.Context) error {
	hashed := map[string]Component{} // by real file: a build has one for all
	for _, name := range sortedKeys(b.Components) {
		file, err := filepath.EvalSymlinks(b.Path(name))
		if err != nil {
			return fmt.Errorf("verify %s %s: %w: %w", b.Version, name, ErrDamaged, err)
		}
		got, ok := hashed[file]
		if !ok {
			if got, err = hashFile(ctx, file); err != nil {
				return fmt.Errorf("verify %s %s: %w", b.Version, name, err)
			}
			hashed[file] = got
		}
		if got != b.Components[name] {
			return fmt.Errorf("verify %s %s: %w: the file has another hash than when it was made", b.Version, name, ErrDamaged)
		}
	}
	return nil
}

// manifest is release.json. It is the last thing written into a release.
type manifest struct {
	Version    Version              `json:"version"`
	Arch       string               `json:"arch"`
	Origin     Origin               `json:"origin"`
	Components map[string]Component `json:"components"`
}

// readRelease reads and checks the release in a folder. A folder without a manifest is
// no release: false, nil. Errors wrap [ErrDamaged] where making it anew would help.
func readRelease(dir string, v Version) (Binaries, bool, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return Binaries{}, false, nil
	}
	if err != nil {
		return Binaries{}, false, fmt.Errorf("read release %s: %w", v, err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Binaries{}, false, fmt.Errorf("%w: read %s of %s: %w", ErrDamaged, manifestName, v, err)
	}
	if m.Version != v {
		return Binaries{}, false, fmt.Errorf("%w: %s of %s says version %s", ErrDamaged, manifestName, v, m.Version)
	}
	if m.Arch != runtime.GOARCH {
		return Binaries{}, false, fmt.Errorf("%w: %s was made for %q, this machine is %s", ErrDamaged, v, m.Arch, runtime.GOARCH)
	}
	b := Binaries{Version: v, Dir: dir, Origin: m.Origin, Components: map[string]Component{}}
	for _, name := range Components {
		if err := checkProgram(filepath.Join(dir, name), m.Components[name]); err != nil {
			return Binaries{}, false, fmt.Errorf("%w: %s of %s: %w", ErrDamaged, name, v, err)
		}
		b.Components[name] = m.Components[name]
	}
	return b, true, nil
}

func checkProgram(file string, want Component) error {
	if _, ok := parseSHA256(want.SHA256); !ok {
		return fmt.Errorf("has no hash in %s", manifestName)
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o100 == 0:
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
