package kubeaudit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	// maxLine is how long a line may be, in bytes. What is longer is recorded as unreadable.
	maxLine = 256 << 10
	// maxBatch is how many lines become records in one transaction.
	maxBatch = 500
)

// position is how far the log was read. The zero value is that of a log which was never read.
type position struct {
	// File is what the file's first line is known by: names change when files are rotated, and inodes when they are copied.
	File   string
	Offset int64
	// inode is in positions that were written before files were known by their content.
	inode uint64
}

// fileDigits is the length of position.File.
const fileDigits = 32

func (p position) String() string {
	switch {
	case p.inode != 0:
		return fmt.Sprintf("%d:%d", p.inode, p.Offset)
	case p.File == "":
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Offset)
}

// parsePosition reads what String wrote.
func parsePosition(text string) (position, error) {
	if text == "" {
		return position{}, nil
	}
	file, offset, _ := strings.Cut(text, ":")
	var p position
	var err error
	if p.Offset, err = strconv.ParseInt(offset, 10, 64); err == nil && len(file) == fileDigits {
		p.File = file
		_, err = hex.DecodeString(file)
	} else if err == nil {
		p.inode, err = strconv.ParseUint(file, 10, 64)
	}
	if err != nil || p.Offset < 0 || p.String() != text {
		return position{}, fmt.Errorf("position %q in the log of the admin plane: want FILE:OFFSET", text)
	}
	return p, nil
}

// logFile is one file of the log.
type logFile struct {
	path string
	// id is as in position; empty while the first line of the file that is written now is not whole.
	id    string
	inode uint64
	size  int64
}

// identify says what a file is known by. whole says that nothing will be added to it.
func identify(path string, whole bool) (string, error) {
	lines, err := openLines(path, 0, whole)
	if err != nil {
		return "", err
	}
	defer lines.close()
	line, _, err := lines.line()
	if errors.Is(err, io.EOF) && !whole {
		return "", nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the log of the admin plane: %w", err)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])[:fileDigits], nil
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
			files = append(files, logFile{path: filepath.Join(dir, entry.Name()), inode: stat.Ino, size: info.Size()})
		}
	}
	// "audit-….log" is before "audit.log" already; said for who reads this.
	slices.SortStableFunc(files, func(a, b logFile) int { return strings.Compare(a.path, b.path) })
	for i := range files {
		id, err := identify(files[i].path, i < len(files)-1)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // rotated since; the next look has all of them
		}
		if err != nil {
			return nil, err
		}
		files[i].id = id
	}
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
	i := slices.IndexFunc(files, func(f logFile) bool {
		return p.inode != 0 && f.inode == p.inode || p.File != "" && f.id == p.File
	})
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
