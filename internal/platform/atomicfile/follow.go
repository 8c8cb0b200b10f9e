package atomicfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// lookInterval is the time between two looks at a file that is followed: a call to the kernel while nothing has changed.
const lookInterval = 100 * time.Millisecond

// Follower has a process do what a file says that another process replaces, each time with a new file, as [Write] does.
type Follower struct {
	Path string
	// Take is given what a new file says.
	Take func(data []byte) error
	// Failed is told why a file was not taken, once of each file: it does not become better by itself.
	Failed func(error)

	last os.FileInfo
}

// Look takes what the file says when it is another one than last time. Without a file nothing is taken and nothing failed.
func (f *Follower) Look() {
	info, err := os.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && f.last != nil && os.SameFile(info, f.last) && info.ModTime().Equal(f.last.ModTime()) {
		return
	}
	var data []byte
	if err == nil {
		f.last = info
		data, err = os.ReadFile(f.Path)
	}
	if err == nil {
		err = f.Take(data)
	}
	if err != nil {
		f.Failed(err)
	}
}

// Run looks until ctx ends.
func (f *Follower) Run(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.Look()
		}
	}
}
