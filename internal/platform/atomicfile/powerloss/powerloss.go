// Package powerloss is a disk for tests that forgets, when its power goes, everything that was not synced: the content
// of files and, apart from it, the names in folders. File systems may keep more than that; none promises it.
//
// It hides what is on the platters and what is only in memory. Tests of whatever writes through atomicfile may import it.
package powerloss

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// ErrOff is the error of every call after the power went.
var ErrOff = errors.New("the power is off")

// Disk starts empty but for the folder "/".
type Disk struct {
	// Calls is how many calls still work; the power goes with the one after. Negative: all of them do.
	Calls int

	memory, platters map[string]*node
}

// node is a file or, when it has no file, a folder.
type node struct{ *file }

type file struct {
	disk            *Disk
	memory, platter []byte
	mode            fs.FileMode
}

// New returns a disk whose power goes after so many calls, and never when calls is negative.
func New(calls int) *Disk {
	return &Disk{Calls: calls, memory: map[string]*node{"/": {}}, platters: map[string]*node{"/": {}}}
}

// Read returns a file after the power has come back: nil and false when there is none.
func (d *Disk) Read(name string) ([]byte, bool) {
	for above := filepath.Dir(name); ; above = filepath.Dir(above) {
		if n := d.platters[above]; n == nil || n.file != nil {
			return nil, false
		}
		if above == "/" {
			break
		}
	}
	n := d.platters[name]
	if n == nil || n.file == nil {
		return nil, false
	}
	return n.platter, true
}

// Names returns what is there for programs as long as the power is on.
func (d *Disk) Names() []string { return slices.Sorted(maps.Keys(d.memory)) }

// call counts one call.
func (d *Disk) call() error {
	if d.Calls == 0 {
		return ErrOff
	}
	d.Calls--
	return nil
}

// place says whether a name can be made: its folder must be there.
func (d *Disk) place(op, name string) error {
	if err := d.call(); err != nil {
		return err
	}
	if n := d.memory[filepath.Dir(name)]; n == nil || n.file != nil {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

// Create implements atomicfile.Disk.
func (d *Disk) Create(name string) (atomicfile.File, error) {
	if err := d.place("create", name); err != nil {
		return nil, err
	}
	if d.memory[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	made := &file{disk: d, mode: 0o600}
	d.memory[name] = &node{made}
	return made, nil
}

// Mkdir implements atomicfile.Disk.
func (d *Disk) Mkdir(name string, _ fs.FileMode) error {
	if err := d.place("mkdir", name); err != nil {
		return err
	}
	if d.memory[name] != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	d.memory[name] = &node{}
	return nil
}

// Rename implements atomicfile.Disk.
func (d *Disk) Rename(from, to string) error {
	if err := d.place("rename", to); err != nil {
		return err
	}
	if d.memory[from] == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	d.memory[to] = d.memory[from]
	delete(d.memory, from)
	return nil
}

// Remove implements atomicfile.Disk.
func (d *Disk) Remove(name string) error {
	if err := d.place("remove", name); err != nil {
		return err
	}
	if d.memory[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(d.memory, name)
	return nil
}

// Sync implements atomicfile.Disk: the names in the folder last, not the content of files.
func (d *Disk) Sync(folder string) error {
	if err := d.call(); err != nil {
		return err
	}
	within := func(name string, _ *node) bool { return name != "/" && filepath.Dir(name) == folder }
	maps.DeleteFunc(d.platters, within)
	for name, n := range d.memory {
		if within(name, n) {
			d.platters[name] = n
		}
	}
	return nil
}

func (f *file) Write(data []byte) (int, error) {
	if err := f.disk.call(); err != nil {
		return 0, err
	}
	f.memory = append(f.memory, data...)
	return len(data), nil
}

func (f *file) Chmod(mode fs.FileMode) error {
	f.mode = mode
	return f.disk.call()
}

func (f *file) Sync() error {
	if err := f.disk.call(); err != nil {
		return err
	}
	f.platter = bytes.Clone(f.memory)
	return nil
}

func (f *file) Close() error { return f.disk.call() }
