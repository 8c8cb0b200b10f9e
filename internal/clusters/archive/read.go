package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Backup is one whose manifest was read and is ours.
type Backup struct {
	Manifest
	from Bucket
	keys Keys
}

// Open reads the manifest of a backup. digest is what [Write] said of it. A manifest that is gone, changed, or of another backup or
// cluster is a [*DamagedError].
func Open(ctx context.Context, from Bucket, k Keys, about About, digest string) (*Backup, error) {
	file, err := from.Get(ctx, manifestFile(about.Backup), mostManifest)
	if errors.Is(err, ErrNotFound) {
		return nil, damaged("the manifest is gone")
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	m, err := k.decode(file)
	if err != nil {
		return nil, err
	}
	if m.Backup != about.Backup || m.Cluster != about.Cluster || m.ControlPlane != about.ControlPlane {
		return nil, damaged("the manifest is that of backup %.40s of cluster %.40s", m.Backup, m.Cluster)
	}
	if digestOf(file) != digest {
		return nil, damaged("the manifest is another one than was written")
	}
	return &Backup{m, from, k}, nil
}

// Entries reads the entries of a backup in the order of their keys. What is not as it was written ends them with a [*DamagedError].
func (b *Backup) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		keys, last, stopped := int64(0), "", false
		for _, chunk := range b.Chunks {
			plain, err := b.read(ctx, chunk)
			if err == nil {
				err = parse(plain, func(e Entry) bool {
					if keys > 0 && e.Key <= last {
						stopped = true
						yield(Entry{}, damaged("keys are out of order"))
						return false
					}
					keys, last = keys+1, e.Key
					stopped = !yield(e, nil)
					return !stopped
				})
			}
			if stopped {
				return
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
		}
		if keys != b.Keys {
			yield(Entry{}, damaged("there are %d keys; want %d", keys, b.Keys))
		}
	}
}

func (b *Backup) read(ctx context.Context, chunk Chunk) ([]byte, error) {
	sealed, err := b.from.Get(ctx, chunkFile(chunk.Name), mostStored)
	if errors.Is(err, ErrNotFound) {
		return nil, damaged("chunk %.12s is gone", chunk.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("read chunk %.12s: %w", chunk.Name, err)
	}
	if digestOf(sealed) != chunk.SHA256 {
		return nil, damaged("chunk %.12s is not what was written", chunk.Name)
	}
	return b.keys.check(chunk.Name, sealed)
}

// Verify reads all of a backup and says whether it is whole.
func (b *Backup) Verify(ctx context.Context) error {
	for _, err := range b.Entries(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}
