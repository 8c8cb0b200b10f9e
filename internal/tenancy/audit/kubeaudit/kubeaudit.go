// Package kubeaudit copies what was done on the admin plane past the REST API into the
// audit log.
//
// The admin plane's API server writes a log of its own, of every caller but KQueen and
// Kubernetes' controllers: an administrator with kubectl, a pipeline with a
// kubeconfig. It is a file, so that nothing is lost while KQueen is away. How far it
// was read is kept in the database together with what was read. It hides files,
// their rotation, and what the lines mean; package app imports it.
package kubeaudit

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// File is the name of the log in its directory. Rotated ones stand beside it.
const File = "audit.log"

const (
	// interval is the time between two looks at the file.
	interval = time.Second
	// retry is the time after what did not work.
	retry = 30 * time.Second
)

// Reader reads one API server's log. All fields are required.
type Reader struct {
	Log *audit.Log
	// Source is the name under which the audit log remembers how far the file was read.
	Source string
	// Dir is the log's directory. It need not be there yet.
	Dir string
	// Kinds are the kinds of resources, such as Cluster of "clusters.kqueen.io".
	Kinds map[string]string
	Warn  *slog.Logger
}

// New returns the Reader of the admin plane's log in dir.
func New(log *audit.Log, dir string, warn *slog.Logger) (*Reader, error) {
	definitions, err := crds.All()
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for _, definition := range definitions {
		kinds[definition.Name] = definition.Spec.Names.Kind
	}
	return &Reader{Log: log, Source: "admin-plane", Dir: dir, Kinds: kinds, Warn: warn}, nil
}

// Path is where the API server has to write.
func Path(dir string) string { return filepath.Join(dir, File) }

// Run reads until ctx ends.
func (r *Reader) Run(ctx context.Context) error {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wait.C:
		}
		after := interval
		if err := r.Read(ctx); err != nil && ctx.Err() == nil {
			r.Warn.Error("read the log of the admin plane", "error", err)
			after = retry
		}
		wait.Reset(after)
	}
}

// Read copies everything that is there into the audit log.
func (r *Reader) Read(ctx context.Context) error {
	text, err := r.Log.Position(ctx, r.Source)
	if err != nil {
		return err
	}
	at, err := parsePosition(text)
	if err != nil {
		return err
	}
	files, err := logFiles(r.Dir)
	if err != nil || len(files) == 0 {
		return err
	}
	begin, lost := at.in(files)
	if lost {
		if err := r.Log.AppendFrom(ctx, r.Source, position{File: files[0].id}.String(), []audit.Record{lostRecord()}); err != nil {
			return err
		}
	}
	read := begin.index // the files before it are read to their ends
	for i := begin.index; i < len(files) && files[i].id != ""; i++ {
		if err := r.readFile(ctx, files[i], begin.offset, i < len(files)-1); err != nil {
			return err
		}
		begin.offset = 0
		// Where the next file begins is remembered before this one goes. One that is not known yet cannot be remembered.
		if i == len(files)-1 || files[i+1].id == "" {
			break
		}
		if err := r.Log.AppendFrom(ctx, r.Source, position{File: files[i+1].id}.String(), nil); err != nil {
			return err
		}
		read = i + 1
	}
	return removeAll(files[:read])
}

// readFile copies a file into the audit log from an offset on. One that is whole is read to its very end; the other
// one may end in the middle of a line.
func (r *Reader) readFile(ctx context.Context, f logFile, offset int64, whole bool) error {
	lines, err := openLines(f.path, offset, whole)
	if err != nil {
		return err
	}
	defer lines.close()
	for {
		batch, end, err := lines.next()
		if err != nil || end == offset {
			return err
		}
		offset = end
		if err := r.Log.AppendFrom(ctx, r.Source, position{File: f.id, Offset: offset}.String(), r.records(batch)); err != nil {
			return err
		}
	}
}
