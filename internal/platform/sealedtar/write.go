package sealedtar

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// Writer adds files to an archive.
type Writer struct {
	tar   *tar.Writer
	files []File
	now   time.Time
}

// Write writes an archive with the files that fill adds. kind says what it is for, and about what is in it; each reader is told. Without
// recipients it is not encrypted. After an error what was written is of no use, and [Read] says so.
func Write[T any](to io.Writer, kind string, what T, recipients []age.Recipient, fill func(*Writer) error) error {
	var sealed io.WriteCloser = keepOpen{to}
	if len(recipients) > 0 {
		var err error
		if sealed, err = age.Encrypt(to, recipients...); err != nil {
			return fmt.Errorf("encrypt: %w", err)
		}
	}
	packed, err := zstd.NewWriter(sealed)
	if err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	w := &Writer{tar: tar.NewWriter(packed), now: time.Now()}
	err = w.json(aboutFile, about[T]{kind, format, what})
	if err == nil {
		err = fill(w)
	}
	if err == nil {
		err = w.json(manifestFile, manifest{slices.Clip(w.files)})
	}
	if err == nil {
		err = w.tar.Close()
	}
	if err != nil { // the end of a whole archive is not written
		return err
	}
	return errors.Join(packed.Close(), sealed.Close())
}

// keepOpen leaves it to the caller to close a writer.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// Add adds size bytes as a file.
func (w *Writer) Add(name string, size int64, from io.Reader) error {
	if !filepath.IsLocal(name) || name == aboutFile || name == manifestFile {
		return fmt.Errorf("add %s: it is no name for a file of an archive", name)
	}
	return w.add(name, size, from)
}

// AddFile adds the file at path as it is when it is opened: what is appended to it later is left out.
func (w *Writer) AddFile(name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return w.Add(name, info.Size(), file)
}

func (w *Writer) add(name string, size int64, from io.Reader) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.now, Format: tar.FormatPAX}
	if err := w.tar.WriteHeader(head); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w.tar, sum), from, size); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	w.files = append(w.files, File{name, size, hex.EncodeToString(sum.Sum(nil))})
	return nil
}

func (w *Writer) json(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return w.add(name, int64(len(data)), bytes.NewReader(data))
}

// Files are those that were added.
func (w *Writer) Files() []File {
	return slices.DeleteFunc(slices.Clone(w.files), func(f File) bool { return f.Name == aboutFile })
}
