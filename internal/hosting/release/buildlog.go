package release

import (
	"bytes"
	"strings"
	"sync"

	"kqueen.io/kqueen/internal/platform/text"
)

const (
	keepLines   = 20
	maxLogLine  = 500     // bytes of a line that are kept
	maxPartLine = 1 << 16 // bytes after which a line is cut, whatever follows
)

// buildLog takes the output of "go build -v": it counts the packages and keeps the last
// of the other lines, which are the compiler's complaints.
type buildLog struct {
	mu    sync.Mutex
	part  []byte
	count int64
	lines []string
}

func (l *buildLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		line, rest, found := bytes.Cut(l.part, []byte("\n"))
		if !found && len(line) < maxPartLine {
			return len(p), nil
		}
		l.add(string(line))
		l.part = rest
	}
}

// add takes one line. The Go command writes the import path alone for a package that
// it begins to compile; all else it writes has a blank.
func (l *buildLog) add(line string) {
	if line != "" && !strings.ContainsAny(line, " \t:") {
		l.count++
		return
	}
	l.lines = append(l.lines, text.Cut(line, maxLogLine))
	if len(l.lines) > keepLines {
		l.lines = l.lines[1:]
	}
}

func (l *buildLog) packages() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

func (l *buildLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(strings.Join(append(l.lines, string(l.part)), "\n"))
}
