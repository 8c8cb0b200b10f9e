package release

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/internal/platform/filelock"
)

// progressFile is in the folder of the store.
const progressFile = "." + nodeName + ".progress"

// maxProgress bounds what is read of it, in bytes.
const maxProgress = 1 << 12

// String says what is being done and how far it is, without times.
func (s Step) String() string {
	if s.Total == 0 {
		return s.Name
	}
	return fmt.Sprintf("%s, %d of %d %s", s.Name, s.Done, s.Total, s.Unit)
}

// publish returns a report that also writes each step to the store, at most once in [reportEvery], for other
// processes to read. done removes it. The lock of nodes is held. A step that cannot be written is not worth the build.
func (s *Store) publish(report func(Step)) (published func(Step), done func()) {
	path := filepath.Join(s.dir, progressFile)
	var last time.Time
	published = func(step Step) {
		report(step)
		if time.Since(last) < reportEvery {
			return
		}
		last = time.Now()
		if data, err := json.Marshal(step); err == nil && os.WriteFile(path+".new", data, 0o600) == nil {
			_ = os.Rename(path+".new", path)
		}
	}
	return published, func() { _ = os.Remove(path) }
}

// NodeBuild says what a process that makes the programs of nodes in this store does at the moment; false when none
// does. The lock tells, so that what a crash has left is not believed.
func (s *Store) NodeBuild() (Step, bool) {
	if _, held := filelock.Holder(s.lockOf(nodeName)); !held {
		return Step{}, false
	}
	step := Step{Name: "begin"}
	if data, err := os.ReadFile(filepath.Join(s.dir, progressFile)); err == nil && len(data) <= maxProgress {
		_ = json.Unmarshal(data, &step) // half of a file is as good as none
	}
	return step, true
}
