package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Written is what became of a backup that was written.
type Written struct {
	Manifest
	// Digest of the manifest's file: who keeps it knows the backup from an older one that took its place.
	Digest string
	// NewBytes is how many bytes of files were written; the rest was there.
	NewBytes int64
}

// Write writes a backup of entries, which come in the order of their keys, and reads back what it has written. revision is looked at
// after the last entry. The manifest is written last: before that there is no backup, and what was written is found by the next retry.
// It may not run while [Remove] does for the same bucket.
func Write(ctx context.Context, to Bucket, k Keys, about About, entries iter.Seq2[Entry, error], revision *int64, now func() time.Time) (Written, error) {
	w := Written{Manifest: Manifest{Format: format, About: about}}
	for chunk, err := range split(w.count(entries)) {
		if err != nil {
			return Written{}, err
		}
		stored, isNew, err := k.keep(ctx, to, chunk)
		if err != nil {
			return Written{}, err
		}
		if isNew {
			w.NewBytes += stored.Size
		}
		w.Chunks = append(w.Chunks, stored)
	}
	w.Revision, w.TakenAt = *revision, now().UTC().Truncate(time.Second)
	file, digest, err := k.encode(w.Manifest)
	if err != nil {
		return Written{}, err
	}
	w.Digest, w.NewBytes = digest, w.NewBytes+int64(len(file))
	if err := to.Put(ctx, manifestFile(about.Backup), file); err != nil {
		return Written{}, fmt.Errorf("write the manifest: %w", err)
	}
	return w, nil
}

// count counts entries as they pass.
func (w *Written) count(entries iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range entries {
			w.Keys, w.Bytes = w.Keys+1, w.Bytes+int64(len(e.Key)+len(e.Value))
			if !yield(e, err) {
				return
			}
		}
	}
}

// keep writes a chunk that is not there, or not whole, and reads it back.
func (k Keys) keep(ctx context.Context, to Bucket, plain []byte) (Chunk, bool, error) {
	name := k.name(plain)
	stored, err := k.look(ctx, to, name)
	if err == nil {
		return stored, false, nil
	}
	if _, bad := errors.AsType[*DamagedError](err); !bad && !errors.Is(err, ErrNotFound) {
		return Chunk{}, false, err
	}
	sealed, err := k.seal(plain)
	if err != nil {
		return Chunk{}, false, err
	}
	if err := to.Put(ctx, chunkFile(name), sealed); err != nil {
		return Chunk{}, false, fmt.Errorf("write a chunk: %w", err)
	}
	stored, err = k.look(ctx, to, name)
	if err != nil {
		return Chunk{}, false, fmt.Errorf("read back what was written: %w", err)
	}
	return stored, true, nil
}

// look reads a chunk and returns what it is when it is whole.
func (k Keys) look(ctx context.Context, from Bucket, name string) (Chunk, error) {
	sealed, err := from.Get(ctx, chunkFile(name), mostStored)
	if err != nil {
		return Chunk{}, fmt.Errorf("read chunk %.12s: %w", name, err)
	}
	if _, err := k.check(name, sealed); err != nil {
		return Chunk{}, err
	}
	return Chunk{Name: name, Size: int64(len(sealed)), SHA256: digestOf(sealed)}, nil
}

// check opens a chunk, whose content must be the one that it is named by.
func (k Keys) check(name string, sealed []byte) ([]byte, error) {
	plain, err := k.open(sealed)
	if err != nil {
		return nil, damaged("chunk %.12s: %v", name, err)
	}
	if k.name(plain) != name {
		return nil, damaged("chunk %.12s has another content than the one that it is named by", name)
	}
	return plain, nil
}
