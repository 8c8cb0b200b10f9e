package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Wakes are the control planes that sleep and for which clients wait: a folder of files, each with the UID of one as its name. The
// process of the gateway makes them, KQueen removes them when it has taken note, and either may be away meanwhile.
type Wakes struct {
	// Folder is made by Run.
	Folder string
	// Notify is given the UID of each, again with each change of the folder.
	Notify func(uid string)

	seen time.Time
}

// wakesLook is the time between two looks: a call to the kernel while nothing has changed.
const wakesLook = 100 * time.Millisecond

// File is that of a control plane.
func (w *Wakes) File(uid types.UID) string { return filepath.Join(w.Folder, string(uid)) }

// Asked says whether clients wait for a control plane.
func (w *Wakes) Asked(uid types.UID) (bool, error) {
	_, err := os.Stat(w.File(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Taken removes what says that clients wait. It is idempotent.
func (w *Wakes) Taken(uid types.UID) error {
	if err := os.Remove(w.File(uid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("note that control plane %s is being woken: %w", uid, err)
	}
	return nil
}

// Run notifies until ctx ends.
func (w *Wakes) Run(ctx context.Context) error {
	if err := os.MkdirAll(w.Folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of control planes to be woken: %w", err)
	}
	tick := time.NewTicker(wakesLook)
	defer tick.Stop()
	for {
		w.look()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *Wakes) look() {
	info, err := os.Stat(w.Folder)
	if err != nil || info.ModTime().Equal(w.seen) {
		return // one that was removed by hand is made by the next start
	}
	entries, err := os.ReadDir(w.Folder)
	if err != nil {
		return
	}
	// What comes within the same tick of the file system's clock changes the time no more.
	if time.Since(info.ModTime()) > wakesLook {
		w.seen = info.ModTime()
	}
	for _, e := range entries {
		w.Notify(e.Name())
	}
}
