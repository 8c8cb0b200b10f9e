package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// LastWords is the file that gets what a server writes past its log, such as the trace of a crash. What earlier ones have
// written is beside it, named by its time: stderr-20261123T060038.123Z.log.
const LastWords = "stderr.log"

const (
	wordsBegin, wordsEnd = "stderr-", ".log"
	wordsTime            = "20060102T150405.000Z"
	// wordsKept is how many earlier ones are kept.
	wordsKept = 10
	// crashMark begins the line that a keeper adds when a server has crashed.
	crashMark = "kqueen: crashed at "
	// markedBytes is how much of the end of a file is read to find that line.
	markedBytes = 4 << 10
)

// keepLastWords moves what was written to standard error aside, where there is something, and removes what is too old.
func keepLastWords(logs string) error {
	path := filepath.Join(logs, LastWords)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Size() == 0:
		return nil
	}
	aside := filepath.Join(logs, wordsBegin+info.ModTime().UTC().Format(wordsTime)+wordsEnd)
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	all, err := earlierWords(logs)
	if err != nil {
		return err
	}
	for _, old := range all[:max(0, len(all)-wordsKept)] {
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return nil
}

// earlierWords are the files of earlier servers, oldest first.
func earlierWords(logs string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(logs, wordsBegin+"*"+wordsEnd))
	slices.Sort(all)
	return all, err
}

// EarlierWords are the files with what earlier servers have written past their logs, oldest first.
func EarlierWords(dir string) ([]string, error) { return earlierWords(filepath.Dir(ServerLog(dir))) }

// Crash is one of a server.
type Crash struct {
	Time time.Time `json:"time"`
	// How it ended, in words, and after how long.
	How string `json:"how"`
	// Log is the file with what it wrote to standard error.
	Log string `json:"log"`
}

func (c Crash) String() string {
	return fmt.Sprintf("%s, %s; see %s", c.Time.UTC().Format(time.RFC3339), c.How, c.Log)
}

// noteCrash adds to the last words of a server how it ended, so that there are some where the kernel has ended it.
func noteCrash(logs string, at time.Time, how string) error {
	log, err := os.OpenFile(filepath.Join(logs, LastWords), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(log, "\n%s%s: %s\n", crashMark, at.UTC().Format(time.RFC3339), how)
	return errors.Join(err, log.Close())
}

// runningNote is a file that is there while a server runs that has no keeper: with the start of the host, so that a host that was
// switched off is no crash of KQueen.
const runningNote = "running"

// NoteRunning notes that a server runs. Where the note of another one is there, that has crashed: this is noted, too, with where its
// last words are.
func NoteRunning(dir, place string) error {
	logs := filepath.Dir(ServerLog(dir))
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return fmt.Errorf("read the start of the host: %w", err)
	}
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return err
	}
	note := filepath.Join(logs, runningNote)
	before, err := os.ReadFile(note)
	if err == nil && bytes.Equal(before, boot) {
		err = errors.Join(noteCrash(logs, time.Now(), "how is not known; "+place), keepLastWords(logs))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Write(note, boot, 0o600)
}

// NoteEnded takes the note of a server back that has ended in order.
func NoteEnded(dir string) error {
	err := os.Remove(filepath.Join(filepath.Dir(ServerLog(dir)), runningNote))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// LastCrash finds the last crash of the server of a directory; nil when there was none, or when it is too long ago.
func LastCrash(dir string) (*Crash, error) {
	logs := filepath.Dir(ServerLog(dir))
	all, err := earlierWords(logs)
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Backward(append(all, filepath.Join(logs, LastWords))) {
		text, err := endOf(file)
		if err != nil {
			return nil, err
		}
		if crash := crashIn(text); crash != nil {
			crash.Log = file
			return crash, nil
		}
	}
	return nil, nil
}

// crashIn reads the line of a keeper at the end of a text; nil when there is none. It is pure.
func crashIn(text string) *Crash {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	said, marked := strings.CutPrefix(lines[len(lines)-1], crashMark)
	when, how, whole := strings.Cut(said, ": ")
	at, err := time.Parse(time.RFC3339, when)
	if !marked || !whole || err != nil {
		return nil
	}
	return &Crash{Time: at, How: how}
}

// endOf is the end of a file; empty for one that is not there.
func endOf(file string) (string, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	text := make([]byte, min(info.Size(), markedBytes))
	n, err := f.ReadAt(text, max(0, info.Size()-markedBytes))
	return string(text[:n]), err
}
