package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// rotate moves a log that outgrew its limit aside: copy to <path>.1, then truncate. The program keeps its descriptor,
// so it needs neither us nor a signal. Lost are lines written between the end of the copy and the truncate,
// microseconds apart; a crash between them leaves lines twice, never fewer.
func (r Rotation) rotate(path string) error {
	in, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || info.Size() <= r.Limit {
		return err
	}
	tmp := path + ".tmp"
	out, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	// The bound ends a race against a program that writes faster than we read, and drops what is beyond.
	src := io.LimitReader(in, info.Size()+r.Limit)
	if _, err := io.Copy(out, src); err != nil {
		return errors.Join(fmt.Errorf("copy log: %w", err), out.Close())
	}
	for i := r.Keep - 1; i >= 1; i-- {
		err := os.Rename(fmt.Sprintf("%s.%d", path, i), fmt.Sprintf("%s.%d", path, i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, out.Close())
		}
	}
	if err := os.Rename(tmp, path+".1"); err != nil {
		return errors.Join(err, out.Close())
	}
	_, err = io.Copy(out, src) // what was written during the renames
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy log: %w", err)
	}
	return in.Truncate(0)
}

// tail returns the last whole lines of a log, at most limit bytes; a single longer line is cut at its front. Unreadable
// is empty: it only explains.
func tail(path string, limit int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-limit-1) // one more, to see whether a line begins there
	b, err := io.ReadAll(io.NewSectionReader(f, from, limit+1))
	if err != nil {
		return ""
	}
	if int64(len(b)) <= limit {
		return string(bytes.ToValidUTF8(b, []byte("?")))
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
		return string(bytes.ToValidUTF8(b[i+1:], []byte("?")))
	}
	return string(bytes.ToValidUTF8(b[1:], []byte("?")))
}
