package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// watch ends a context when no byte came for a time.
type watch struct {
	timer *time.Timer
	limit time.Duration
	stop  func()
}

// whileBytesCome returns a context that ends when nothing is read for the limit, which zero takes away.
func whileBytesCome(ctx context.Context, limit time.Duration) (context.Context, watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	if limit <= 0 {
		return ctx, watch{stop: func() { cancel(nil) }}
	}
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, watch{timer, limit, func() { timer.Stop(); cancel(nil) }}
}

func (w watch) reader(from io.Reader) io.Reader {
	if w.timer == nil {
		return from
	}
	return watchedReader{from, w}
}

type watchedReader struct {
	io.Reader

	watch watch
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.watch.timer.Reset(r.watch.limit)
	}
	return n, err
}

// nameIn is the last part of a URL's path, as the name of a file in the working directory.
func nameIn(urlPath, otherwise string) string {
	if name := path.Base(urlPath); name != "." && name != "/" && name != ".." && !strings.HasSuffix(urlPath, "/") {
		return name
	}
	return otherwise
}

// saveTo writes a file, and returns its size. A part of an answer stays, as curl and wget leave it.
func saveTo(name string, content io.Reader) (int64, error) {
	file, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(file, content)
	return size, errors.Join(err, file.Close())
}

// prefixed writes lines behind a prefix. Several goroutines of a transport write what they do at the same time; each
// writes whole lines.
type prefixed struct {
	mutex  *sync.Mutex
	to     io.Writer
	prefix string
}

func (p prefixed) Write(lines []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for line := range strings.Lines(string(lines)) {
		if _, err := io.WriteString(p.to, p.prefix+line); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

func (p prefixed) with(prefix string) prefixed {
	p.prefix = prefix
	return p
}
