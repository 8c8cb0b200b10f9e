package kubeaudit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// maxLine is how long a line may be, in bytes. What is longer is recorded as unreadable.
	maxLine = 256 << 10
	// maxBatch is how many lines become records in one transaction.
	maxBatch = 500
)

// position is how far the log was read.
type position struct {
	// File is the inode: names change when files are rotated.
	File   uint64
	Offset int64
}

func (p position) String() string { return fmt.Sprintf("%d:%d", p.File, p.Offset) }

// parsePosition reads what String wrote; the empty one is that of a log which was never read.
func parsePosition(text string) (position, error) {
	var p position
	if text == "" {
		return p, nil
	}
	if _, err := fmt.Sscanf(text, "%d:%d", &p.File, &p.Offset); err != nil || p.Offset < 0 || p.String() != text {
		return position{}, fmt.Errorf("position %q in the log of the admin plane: want FILE:OFFSET", text)
	}
	return p, nil
}

// logFile is one file of the log.
type logFile struct {
	path string
	id   uint64
	size int64
}

// logFiles are the files of the log, oldest first. Rotated ones have the time in their name, between it and the suffix.
func logFiles(dir string) ([]logFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for the log of the admin plane: %w", err)
	}
	stem, suffix := strings.TrimSuffix(File, filepath.Ext(File)), filepath.Ext(File)
	var files []logFile
	for _, entry := range entries { // by name
		rotated := strings.HasPrefix(entry.Name(), stem+"-") && strings.HasSuffix(entry.Name(), suffix)
		if entry.Name() != File && !rotated {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // rotated since; the next look has it
		}
		if err != nil {
			return nil, fmt.Errorf("look for the log of the admin plane: %w", err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
			files = append(files, logFile{filepath.Join(dir, entry.Name()), stat.Ino, info.Size()})
		}
	}
	// "audit-….log" is before "audit.log" already; said for who reads this.
	slices.SortStableFunc(files, func(a, b logFile) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// place is where reading begins among files.
type place struct {
	index  int
	offset int64
}

// in finds the place of the position. It is lost when its file is not there or is shorter than what was read of it:
// an operator took it away or wrote another one. All that is there is read then.
func (p position) in(files []logFile) (begin place, lost bool) {
	if p == (position{}) {
		return place{}, false
	}
	i := slices.IndexFunc(files, func(f logFile) bool { return f.id == p.File })
	if i < 0 || files[i].size < p.Offset {
		return place{}, true
	}
	return place{i, p.Offset}, false
}

// removeAll removes files that were read.
func removeAll(files []logFile) error {
	var problems []error
	for _, f := range files {
		if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Errorf("remove what was read: %w", err))
		}
	}
	return errors.Join(problems...)
}

// lines reads a file in batches of lines.
type lines struct {
	file   *os.File
	from   *bufio.Reader
	offset int64
	// whole says that nothing will be added: what stands behind the last line break is a line, too.
	whole bool
}

func openLines(path string, offset int64, whole bool) (*lines, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the log of the admin plane: %w", err)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("read the log of the admin plane: %w", err), file.Close())
	}
	return &lines{file: file, from: bufio.NewReader(file), offset: offset, whole: whole}, nil
}

func (l *lines) close() { _ = l.file.Close() }

// next returns lines that are whole, and the offset behind them. One that is too long is cut.
func (l *lines) next() (batch [][]byte, end int64, err error) {
	for len(batch) < maxBatch {
		line, length, err := l.line()
		if errors.Is(err, io.EOF) && (length == 0 || !l.whole) {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, fmt.Errorf("read the log of the admin plane: %w", err)
		}
		l.offset += length
		batch = append(batch, line)
	}
	return batch, l.offset, nil
}

// line reads up to the next line break and returns how long that was, with io.EOF where there is none.
func (l *lines) line() (line []byte, length int64, err error) {
	for {
		part, err := l.from.ReadSlice('\n')
		length += int64(len(part))
		if room := maxLine + 1 - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), length, err
		}
	}
}
