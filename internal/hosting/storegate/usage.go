package storegate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// usageInterval is the least time between two writes of what tenants hold.
const usageInterval = 10 * time.Second

// maxUsage is more than what a hundred thousand tenants take.
const maxUsage = 8 << 20

// ReadUsage returns how many bytes tenants hold, by UID, as a gate wrote it to a file. A tenant that was not counted yet is not in it,
// and neither is any as long as there is no file.
func ReadUsage(file string) (map[string]int64, error) {
	held, err := readUsage(file)
	if os.IsNotExist(err) {
		return map[string]int64{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the store gate has counted: %w", err)
	}
	return held, nil
}

// readUsage leaves the folder by no symlink: it is the gate's, which has another user than the caller.
func readUsage(file string) (map[string]int64, error) {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(filepath.Base(file))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxUsage {
		return nil, fmt.Errorf("%s is no file of a gate", file)
	}
	f, err := root.Open(filepath.Base(file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	held := map[string]int64{}
	if err := json.NewDecoder(io.LimitReader(f, maxUsage)).Decode(&held); err != nil {
		return nil, err
	}
	for uid, bytes := range held {
		if bytes < 0 {
			return nil, fmt.Errorf("%s holds %d bytes", uid, bytes)
		}
	}
	return held, nil
}

// usage is what is known of tenants, by UID.
func (g *gate) usage() map[string]int64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	held := map[string]int64{}
	for _, t := range g.tenants {
		if bytes, known := t.count.held(); known {
			held[t.uid] = bytes
		}
	}
	return held
}

// tell writes what tenants hold, whenever it has changed.
func (g *gate) tell(ctx context.Context, file string, log *slog.Logger) error {
	tick := time.NewTicker(usageInterval)
	defer tick.Stop()
	var last map[string]int64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := g.usage()
		if maps.Equal(now, last) {
			continue
		}
		if err := writeUsage(file, now); err != nil {
			log.Error("what control planes hold is not told to KQueen; it is tried again", "error", err)
			continue
		}
		last = now
	}
}

func writeUsage(file string, held map[string]int64) error {
	data, err := json.Marshal(held)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, data, 0o600)
}
