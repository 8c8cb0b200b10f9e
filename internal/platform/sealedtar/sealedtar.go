// Package sealedtar writes files into one stream and reads them back: a tar archive, compressed by zstd and encrypted by age, with a list
// of its files and their digests at its end.
//
// It hides how one tells that such a stream is whole: one that is changed, cut off, foreign or locked with another key is an error that
// says which of these it is. No file of a stream counts before [Read] has returned. It knows nothing of what is in the files.
//
// Without this program: age --decrypt FILE | zstd --decompress | tar --extract.
package sealedtar

import (
	"errors"
	"fmt"
)

// Names within the archive that are its own.
const (
	aboutFile    = "about.json"
	manifestFile = "manifest.json"
)

// format is that of the archive.
const format = 1

// Errors of [Read] beside [DamagedError].
var (
	// ErrForeign says that a stream was not written by [Write], or holds something else than was asked for.
	ErrForeign = errors.New("it is another kind of file")
	// ErrNeedsKey says that a stream is encrypted, and no key was given.
	ErrNeedsKey = errors.New("it is encrypted, and no key was given")
	// ErrWrongKey says that none of the keys opens the stream.
	ErrWrongKey = errors.New("it is encrypted to another key, or with another passphrase")
)

// DamagedError says that a stream is not what was written.
type DamagedError struct{ Problem string }

func (e *DamagedError) Error() string { return e.Problem }

func damaged(format string, args ...any) error { return &DamagedError{fmt.Sprintf(format, args...)} }

// about is the first file.
type about[T any] struct {
	Kind   string `json:"kind"`
	Format int    `json:"format"`
	About  T      `json:"about"`
}

// File is one that is in an archive.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// manifest is the last file.
type manifest struct {
	Files []File `json:"files"`
}
