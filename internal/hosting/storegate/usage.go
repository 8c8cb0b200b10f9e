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

// Usage is what a gate tells KQueen.
type Usage struct {
	// Bytes are how many bytes tenants hold, by UID. One that was not counted yet is not in it.
	Bytes map[string]int64 `json:"bytes"`
	// Left is how much is left of the store for all of them.
	Left Level `json:"left"`
}

func (u Usage) equal(other Usage) bool {
	return u.Left == other.Left && maps.Equal(u.Bytes, other.Bytes)
}

// ReadUsage returns what a gate wrote to a file. As long as there is none, nothing is known of any tenant.
func ReadUsage(file string) (Usage, error) {
	told, err := readUsage(file)
	if os.IsNotExist(err) {
		return Usage{Bytes: map[string]int64{}}, nil
	}
	if err != nil {
		return Usage{}, fmt.Errorf("read what the store gate has counted: %w", err)
	}
	return told, nil
}

// readUsage leaves the folder by no symlink: it is the gate's, which has another user than the caller.
func readUsage(file string) (Usage, error) {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return Usage{}, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(filepath.Base(file))
	if err != nil {
		return Usage{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxUsage {
		return Usage{}, fmt.Errorf("%s is not a file of a gate", file)
	}
	f, err := root.Open(filepath.Base(file))
	if err != nil {
		return Usage{}, err
	}
	defer func() { _ = f.Close() }()
	told := Usage{Bytes: map[string]int64{}}
	if err := json.NewDecoder(io.LimitReader(f, maxUsage)).Decode(&told); err != nil {
		return Usage{}, err
	}
	for uid, bytes := range told.Bytes {
		if bytes < 0 {
			return Usage{}, fmt.Errorf("%s holds %d bytes", uid, bytes)
		}
	}
	return told, nil
}

// usage is what is known now.
func (g *gate) usage() Usage {
	g.mu.RLock()
	defer g.mu.RUnlock()
	now := Usage{Bytes: map[string]int64{}, Left: Level(g.space.left.Load())}
	for _, t := range g.tenants {
		if bytes, known := t.count.held(); known {
			now.Bytes[t.uid] = bytes
		}
	}
	return now
}

// tell writes what is known, whenever it has changed.
func (g *gate) tell(ctx context.Context, file string, log *slog.Logger) error {
	tick := time.NewTicker(usageInterval)
	defer tick.Stop()
	var last Usage
	told := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := g.usage()
		if told && now.equal(last) {
			continue
		}
		if err := writeUsage(file, now); err != nil {
			log.Error("what control planes hold is not told to KQueen; it is tried again", "error", err)
			continue
		}
		last, told = now, true
	}
}

func writeUsage(file string, now Usage) error {
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, data, 0o600)
}
