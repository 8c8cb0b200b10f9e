package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxDownload is above the largest upstream program (about 150 MB) with room to grow.
	maxDownload = 512 << 20
	// downloadTimeout is for one program: 150 MB at 1.4 Mbit/s.
	downloadTimeout = 15 * time.Minute
	// tempMark stands between version and random part in the name of a temporary
	// folder. No version has it, so v1.36.3_1 cannot be one of v1.36.3-rc.1.
	tempMark = "_"
)

// Store keeps the programs of Kubernetes versions, and what nodes are made of, in a folder:
//
//	<dir>/<version>/kube-apiserver …    the programs, for a build links to one file
//	<dir>/<version>/release.json        hashes, sizes, origin; written last
//	<dir>/kubelet-<version>/kubelet …   of a build: the programs of nodes
//	<dir>/.<version>.lock               who makes this version now
//	<dir>/.<version>_<random>/          a release in the making; never used
//	<dir>/node-<version>-<fingerprint>/ the parts of a node, under the version of containerd
//	<dir>/.node.lock, .node_<random>/   as above
//	<dir>/.node.progress                how far the process is that has the lock
//	<dir>/addons/                       the same again, for the images of addons
//	<dir>/conformance-<version>/        upstream's conformance tests, for developers
//
// A folder appears by one rename, so what Lookup finds is whole, whatever crashed.
// Any number of processes may share the store.
type Store struct {
	dir             string
	client          *http.Client
	maxDownload     int64
	downloadTimeout time.Duration
}

// NewStore gives the store in a folder, which [Store.Ensure] creates when it is missing.
func NewStore(dir string) *Store {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // children are started in other folders
	}
	return &Store{
		dir:             dir,
		client:          &http.Client{CheckRedirect: sameScheme},
		maxDownload:     maxDownload,
		downloadTimeout: downloadTimeout,
	}
}

// slot is the place in the store of one thing that is made as a whole.
type slot struct {
	name    string   // of its lock and its temporary folders
	folder  string   // where it appears
	version Version  // of what is in it
	files   []string // what must be in it, relative to the folder
}

// releaseSlot is the place of a release that comes from src: a download brings the programs of nodes with it.
func releaseSlot(v Version, src Source) slot {
	files := controlPlaneComponents
	if src.Download != nil {
		files = Components
	}
	return slot{name: v.String(), folder: v.String(), version: v, files: files}
}

// nodeProgramsSlot is the place of the programs of nodes of a build. Its lock is that of all that nodes are made of.
func nodeProgramsSlot(v Version) slot {
	return slot{name: nodeName, folder: nodeProgramsFolder(v), version: v, files: NodeComponents}
}

func nodeProgramsFolder(v Version) string { return "kubelet-" + v.String() }

// maker makes what belongs into a slot, in an empty folder.
type maker interface {
	origin() Origin
	build(ctx context.Context, dir string, report func(Step)) (made, error)
}

// made is what a maker put into its folder.
type made struct {
	files  map[string]Component // by path relative to the folder
	images map[string]string    // archives among the files, to the image's name
	// handsOver is that of [Binaries].
	handsOver bool
}

// Ensure provides the programs of a version and blocks until they are there: minutes
// for a first build, no time when they are there already. It makes them anew when the
// source changed since (for a build: the module's go.mod, go.sum or Go files, the Go
// toolchain or the build command; for a download: the pins, or without pins the
// address) and when they are damaged. Of several processes one works, the others wait
// for it until their ctx ends.
//
// report hears about every step, about once a second while a long one moves, and always
// from the calling goroutine; it may be nil. Where a build finds no Go toolchain, the
// error wraps exec.ErrNotFound of os/exec; programs made before can still be had by
// Lookup.
func (s *Store) Ensure(ctx context.Context, v Version, src Source, report func(Step)) (Binaries, error) {
	if report == nil {
		report = func(Step) {}
	}
	if v.IsZero() {
		return Binaries{}, fmt.Errorf("version is not set: %s", versionExample)
	}
	if err := src.check(); err != nil {
		return Binaries{}, fmt.Errorf("release %s: %w", v, err)
	}
	b, err := s.ensure(ctx, v, src, report)
	if err != nil {
		return Binaries{}, fmt.Errorf("release %s: %w", v, err)
	}
	return b, nil
}

func (s *Store) ensure(ctx context.Context, v Version, src Source, report func(Step)) (Binaries, error) {
	at := releaseSlot(v, src)
	unlock, err := s.lock(ctx, at.name, report)
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	work, err := s.maker(ctx, v, src)
	if err != nil {
		return Binaries{}, err
	}
	if _, err := s.fill(ctx, at, work, report); err != nil {
		return Binaries{}, err
	}
	have, ok, err := s.Lookup(v)
	if err == nil && !ok {
		err = errGone
	}
	return have, err
}

func (s *Store) maker(ctx context.Context, v Version, src Source) (maker, error) {
	if src.Build != nil {
		return newBuilder(ctx, v, src.Build, programs{names: controlPlaneComponents})
	}
	return newDownloader(s, v, src.Download)
}

// fill gives what is in a slot, made anew where it is missing, damaged or of another
// origin than work would make. The lock of the slot is held.
func (s *Store) fill(ctx context.Context, at slot, work maker, report func(Step)) (manifest, error) {
	dir := filepath.Join(s.dir, at.folder)
	have, ok, err := readManifest(dir, at.version, at.files)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return manifest{}, err
	}
	if ok && have.Origin.sameAs(work.origin()) {
		return have, share(dir) // an earlier KQueen kept it from others
	}
	if err != nil {
		report(Step{Name: "build it again: " + err.Error()})
	}
	if err := s.build(ctx, at, work, report); err != nil {
		return manifest{}, err
	}
	have, ok, err = readManifest(dir, at.version, at.files)
	if err == nil && !ok {
		err = errGone
	}
	return have, err
}

var errGone = errors.New("it went away while it was being made")

// build makes what belongs into a slot in a temporary folder and moves it into place.
func (s *Store) build(ctx context.Context, at slot, work maker, report func(Step)) error {
	temp, err := os.MkdirTemp(s.dir, "."+at.name+tempMark)
	if err != nil {
		return fmt.Errorf("create temporary folder: %w", err)
	}
	// After the move this is what was replaced, or nothing.
	defer os.RemoveAll(temp) // what stays, the next one to lock sweeps
	got, err := work.build(ctx, temp, report)
	if err != nil {
		return err
	}
	err = writeManifest(temp, manifest{
		Version: at.version, Arch: runtime.GOARCH, Origin: work.origin(), Components: got.files, Images: got.images,
		HandsOver: got.handsOver,
	})
	if err != nil {
		return err
	}
	if err := share(temp); err != nil {
		return fmt.Errorf("let others read the programs: %w", err)
	}
	if err := replaceDir(temp, filepath.Join(s.dir, at.folder)); err != nil {
		return err
	}
	return syncFile(s.dir)
}

// replaceDir moves a folder into place in one step. A folder that is there already
// changes places with it, so that no moment has none.
func replaceDir(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(from, to)
	}
	if err != nil {
		return fmt.Errorf("move %s into place: %w", filepath.Base(to), err)
	}
	return nil
}

// Lookup finds the programs of a version without network or build. It checks that the
// manifest is complete and the sizes are right, but reads no program. What is not there is
// false without error; what is there but unusable is an error that wraps [ErrDamaged].
// The programs of nodes may be missing, see [Binaries.Path]; where those of a build are
// damaged, they are as good as missing, see [Binaries.NodeDamage]: [Store.EnsureNode] makes
// them anew, and control planes do not need them.
func (s *Store) Lookup(v Version) (Binaries, bool, error) {
	if v.IsZero() {
		return Binaries{}, false, fmt.Errorf("version is not set: %s", versionExample)
	}
	have, ok, err := readManifest(s.path(v), v, controlPlaneComponents)
	if err != nil || !ok {
		return Binaries{}, false, err
	}
	found := Binaries{Version: v, Dir: s.path(v), Origin: have.Origin, HandsOver: have.HandsOver, Components: map[string]Component{}}
	for _, name := range controlPlaneComponents {
		found.Components[name] = have.Components[name]
	}
	dir := filepath.Join(s.dir, nodeProgramsFolder(v))
	if have.Origin.Kind == originDownload {
		dir = found.Dir
	}
	have, ok, err = readManifest(dir, v, NodeComponents)
	if errors.Is(err, ErrDamaged) && dir != found.Dir {
		found.NodeDamage = err
		return found, true, nil
	}
	if err != nil {
		return Binaries{}, false, err
	}
	if !ok {
		return found, true, nil
	}
	found.NodeDir = dir
	for _, name := range NodeComponents {
		found.Components[name] = have.Components[name]
	}
	return found, true, nil
}

// List gives the usable releases in the store, oldest version first. A damaged one
// does not hide the others: they are returned together with the error. A store that
// does not exist is empty.
func (s *Store) List() ([]Binaries, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	var found []Binaries
	var damaged []error
	for _, entry := range entries {
		v, err := ParseVersion(entry.Name())
		if err != nil {
			continue // locks, temporary folders, what others left here
		}
		b, ok, err := s.Lookup(v)
		if err != nil {
			damaged = append(damaged, err)
		}
		if ok {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, func(a, b Binaries) int { return a.Version.Compare(b.Version) })
	return found, errors.Join(damaged...)
}

func (s *Store) path(v Version) string { return filepath.Join(s.dir, v.String()) }

// sweep deletes what a crash left of earlier tries. The lock of that name is held, so
// no other process works in there.
func (s *Store) sweep(name string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "."+name+tempMark) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.dir, entry.Name())); err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
	}
	return nil
}
