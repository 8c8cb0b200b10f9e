package logfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Log is one log: its files, oldest first, of which the last one is written to.
type Log struct {
	// Open opens a file by its name. One that is not there is left out.
	Open  func(name string) (*os.File, error)
	Names []string
}

// Filter says which lines are wanted. A line that does not say when it was written goes with the one before it.
type Filter struct {
	// Since and Until bound when a line was written; zero for no bound.
	Since, Until time.Time
	// Tail is how many lines there are at most, the last ones; negative for all.
	Tail int
	// Now tells the year to lines that leave it out.
	Now time.Time
}

// maxLine bounds what is kept of one line, in bytes.
const maxLine = 256 << 10

// Copy writes the wanted lines. It returns how far it has read of the last file, for [Log.Follow].
func (l Log) Copy(out io.Writer, f Filter) (place Place, err error) {
	p := picker{Filter: f, out: out}
	for n, name := range l.Names {
		file, err := l.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Place{}, err
		}
		read, err := p.from(file)
		if err != nil || n < len(l.Names)-1 {
			if err = errors.Join(err, file.Close()); err != nil {
				return Place{}, fmt.Errorf("read %s: %w", name, err)
			}
			continue
		}
		place = Place{file: file, read: read}
	}
	return place, p.flush()
}

// picker writes the lines that are wanted, or keeps the last ones of them until it is flushed.
type picker struct {
	Filter

	out io.Writer
	// kept are the last lines, when not all are wanted.
	kept []string
	// dated says that a line with a time was seen, and in that the last one is wanted.
	dated, in bool
}

// from reads a file to its end and returns how far it has read.
func (p *picker) from(r io.Reader) (read int64, err error) {
	lines := bufio.NewReader(r)
	for {
		line, n, err := readLine(lines)
		read += n
		if n > 0 {
			if err := p.take(line); err != nil {
				return read, err
			}
		}
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return read, err
		}
	}
}

// readLine reads a line with its end, of which it keeps maxLine bytes, and says how many bytes it had.
func readLine(from *bufio.Reader) (line string, read int64, err error) {
	var kept strings.Builder
	for {
		part, err := from.ReadSlice('\n')
		read += int64(len(part))
		if left := maxLine - kept.Len(); left > 0 {
			kept.Write(part[:min(len(part), left)])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return kept.String(), read, err
		}
	}
}

func (p *picker) take(line string) error {
	if !p.wants(line) || p.Tail == 0 {
		return nil
	}
	if p.Tail < 0 {
		_, err := io.WriteString(p.out, line)
		return err
	}
	if len(p.kept) == p.Tail {
		p.kept = append(p.kept[:0], p.kept[1:]...)
	}
	p.kept = append(p.kept, line)
	return nil
}

func (p *picker) wants(line string) bool {
	if p.Since.IsZero() && p.Until.IsZero() {
		return true
	}
	at, dated := Stamp(line, p.Now)
	switch {
	case dated:
		p.dated, p.in = true, !at.Before(p.Since) && (p.Until.IsZero() || at.Before(p.Until))
	case !p.dated:
		return p.Since.IsZero() // from before everything that says when it was
	}
	return p.in
}

func (p *picker) flush() error {
	for _, line := range p.kept {
		if _, err := io.WriteString(p.out, line); err != nil {
			return err
		}
	}
	p.kept = nil
	return nil
}

// Place is how far a log was read.
type Place struct {
	file *os.File // nil when there is none yet
	read int64
}

// Close lets go of it.
func (p *Place) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// lookEvery is the time between two looks at a log that is followed. Nothing tells of every way in which one can be rotated.
const lookEvery = 200 * time.Millisecond

// Follow writes what is added from a place on, until ctx ends. A log that is truncated is read from its beginning, and one that is
// renamed is read to its end before the next one.
func (l Log) Follow(ctx context.Context, out io.Writer, place Place) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	defer func() { _ = place.Close() }()
	for {
		if err := l.more(out, &place); err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// more writes what was added since the last look.
func (l Log) more(out io.Writer, place *Place) error {
	if place.file != nil {
		if err := place.rest(out); err != nil {
			return err
		}
	}
	next, err := l.Open(l.Names[len(l.Names)-1])
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if place.is(next) {
		return next.Close()
	}
	if err := place.Close(); err != nil {
		return errors.Join(err, next.Close())
	}
	*place = Place{file: next}
	return place.rest(out)
}

// is says whether a file is the one that is being read.
func (p *Place) is(other *os.File) bool {
	if p.file == nil {
		return false
	}
	mine, err := p.file.Stat()
	if err != nil {
		return false
	}
	its, err := other.Stat()
	return err == nil && os.SameFile(mine, its)
}

// rest writes what there is from the place on.
func (p *Place) rest(out io.Writer) error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < p.read {
		p.read = 0
	}
	n, err := io.Copy(out, io.NewSectionReader(p.file, p.read, info.Size()-p.read))
	p.read += n
	return err
}
