package archive

import (
	"context"
	"fmt"
	"path"
)

// Remove removes a backup, and the chunks that no other backup of the bucket has. It is idempotent. It may not run while [Write] does
// for the same bucket. While the manifest of another backup cannot be read, no chunk is removed: it might have it.
func Remove(ctx context.Context, from Bucket, k Keys, backup string) error {
	if err := from.Delete(ctx, manifestFile(backup)); err != nil {
		return fmt.Errorf("remove the manifest: %w", err)
	}
	manifests, err := from.List(ctx, backupsFolder)
	if err != nil {
		return fmt.Errorf("list backups: %w", err)
	}
	used := map[string]bool{}
	for _, name := range manifests {
		file, err := from.Get(ctx, name, mostManifest)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		m, err := k.decode(file)
		if err != nil {
			return fmt.Errorf("backup %.40s beside it: %w", path.Base(name), err)
		}
		for _, c := range m.Chunks {
			used[c.Name] = true
		}
	}
	chunks, err := from.List(ctx, chunksFolder)
	if err != nil {
		return fmt.Errorf("list chunks: %w", err)
	}
	for _, name := range chunks {
		if used[path.Base(name)] {
			continue
		}
		if err := from.Delete(ctx, name); err != nil {
			return fmt.Errorf("remove a chunk: %w", err)
		}
	}
	return nil
}
