package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Scores say which programs the kernel ends first when the host has no memory left: the highest (proc_pid_oom_score_adj(5)).
const (
	ScoreKept   = -900 // what all others depend on
	ScoreUsual  = 0
	ScoreTenant = 300 // one of many, which comes back by itself
)

// Score sets that of a process. A host on which KQueen may not go below what it has itself leaves the process there: then
// those that go first are still told apart from the others.
func Score(pid, score int) error {
	have, err := scoreOf(strconv.Itoa(pid))
	if err != nil || have == score {
		return gone(err)
	}
	err = write(scoreFile(strconv.Itoa(pid)), strconv.Itoa(score))
	if errors.Is(err, fs.ErrPermission) && score < have {
		return nil
	}
	return gone(err)
}

// Usual takes from a process a score below the usual one, which it has inherited.
func Usual(pid int) error {
	have, err := scoreOf(strconv.Itoa(pid))
	if err != nil || have >= ScoreUsual {
		return gone(err)
	}
	return Score(pid, ScoreUsual)
}

// Keep has the kernel end this process last, as far as it lets us. What it starts afterwards inherits that.
func Keep() error { return Score(os.Getpid(), ScoreKept) }

func scoreFile(pid string) string { return "/proc/" + pid + "/oom_score_adj" }

func scoreOf(pid string) (int, error) {
	data, err := os.ReadFile(scoreFile(pid))
	if err != nil {
		return 0, err
	}
	score, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("read the score of %s: %w", pid, err)
	}
	return score, nil
}

// gone takes it for no error that a process has ended.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// openFiles is how many files a confined program may have open, sockets included.
const openFiles = 65536

// Bound lowers what the kernel lets a process have: no core file, in which its keys would be, and so many open files. It
// takes CAP_SYS_RESOURCE, because the process is another user's; without, the process keeps KQueen's own bounds.
func Bound(pid int) error {
	for resource, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: openFiles} {
		var have unix.Rlimit
		err := unix.Prlimit(pid, resource, nil, &have)
		if err == nil && have.Max > most {
			err = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: min(have.Cur, most), Max: most}, nil)
		}
		if errors.Is(err, unix.EPERM) {
			return nil
		}
		if gone(err) != nil {
			return fmt.Errorf("bound process %d: %w", pid, err)
		}
	}
	return nil
}
