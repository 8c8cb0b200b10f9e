package supervise

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"kqueen.io/kqueen/internal/platform/confine"
)

// userBook knows the users under which the programs of confined workloads run. That of a workload is the group of its
// directory: no file has it that could be lost or torn, and a directory without one gets one.
type userBook struct {
	able func() error // why programs cannot be confined on this host, or nil

	mu    sync.Mutex
	byID  map[string]int
	taken map[int]bool
	next  int // where the search goes on, so that what was a user's rests for long
}

// loadUsers reads the users of all workloads. Only root gives any.
func loadUsers(conf Config) (*userBook, error) {
	b := &userBook{byID: map[string]int{}, taken: map[int]bool{}}
	b.able = sync.OnceValue(func() error { return confine.Able(conf.Dir) })
	// Supervisors of different directories on one host do not know each other: they begin at different places.
	sum := sha256.Sum256([]byte(conf.Dir))
	b.next = confine.FirstUser + int(binary.BigEndian.Uint32(sum[:])%(confine.LastUser-confine.FirstUser))
	if os.Geteuid() != 0 {
		return b, nil
	}
	workloads := filepath.Join(conf.Dir, "workloads")
	entries, err := os.ReadDir(workloads)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read users: %w", err)
		}
		if user := groupOf(info); isUser(user) && !b.taken[user] {
			b.byID[e.Name()], b.taken[user] = user, true
		}
	}
	return b, nil
}

// unable says why programs cannot be confined here; empty when they can.
func (b *userBook) unable() string {
	if err := b.able(); err != nil {
		return err.Error()
	}
	return ""
}

func groupOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Gid) }

// isUser says whether a number is one that we give.
func isUser(uid int) bool { return uid >= confine.FirstUser && uid <= confine.LastUser }

// take returns the workload's user, and gives it one when it has none. Its directory is then the user's to read, and
// what is put into it, too; nothing in it is the user's to write, so that what we read there is our own. Callers keep two
// calls for one id apart.
func (b *userBook) take(id, dir string) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	user := b.byID[id]
	for user == 0 {
		if !b.taken[b.next] {
			user = b.next
		}
		if b.next++; b.next > confine.LastUser {
			b.next = confine.FirstUser
		}
	}
	if err := os.Lchown(dir, 0, user); err != nil {
		return 0, fmt.Errorf("give the directory to user %d: %w", user, err)
	}
	b.byID[id], b.taken[user] = user, true
	// With setgid, whatever is made in it has its group.
	if err := os.Chmod(dir, 0o750|fs.ModeSetgid); err != nil {
		return 0, fmt.Errorf("let user %d read the directory: %w", user, err)
	}
	return user, nil
}

// release forgets the user of id; its directory is gone already.
func (b *userBook) release(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.taken, b.byID[id])
	delete(b.byID, id)
}

// ours leaves the processes that may be what they say they are: those of KQueen's own user, and those of the workload's.
// A confined program can give what it starts any mark, and would have us take or kill it for one of another workload.
func (b *userBook) ours(all []found) []found {
	b.mu.Lock()
	defer b.mu.Unlock()
	own := os.Geteuid()
	return slices.DeleteFunc(all, func(f found) bool {
		if f.uid == own {
			return false
		}
		if user, ok := b.byID[f.workload]; ok {
			return f.uid != user
		}
		return b.taken[f.uid] // that of a directory that was removed by hand is of no other workload
	})
}
