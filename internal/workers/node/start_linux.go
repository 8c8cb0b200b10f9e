package node

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Start says what has to be there before a program of the machine is executed.
type Start struct {
	// Socket has to accept connections, Path has to exist. Either may be empty.
	Socket, Path string
	// Importer is containerd's own client, and Images are the archives that it imports first. Marks is the folder
	// that notes which were; it has to go when the images do, so it is containerd's own.
	Importer string
	Images   []string
	Marks    string
	// Folder holds more archives, *.tar, which the operator put there. Empty: there is none.
	Folder string
	// Insist says that the program waits until all of them are imported.
	Insist bool
	// Label names the Node that then gets the label of a node which has the images of addons, by the kubeconfig Path. Empty for none.
	Label string
	Log   *slog.Logger
	// Program is executed, with its arguments, in place of the caller.
	Program []string
}

// startInterval is the time between two looks at what is waited for.
const startInterval = 50 * time.Millisecond

// Exec waits, imports, and becomes the program. It returns only on an error.
func (s Start) Exec(ctx context.Context) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	for _, image := range s.Images {
		if err := s.load(ctx, image); err != nil {
			return err
		}
	}
	if err := s.loadAll(ctx); err != nil {
		return err
	}
	if err := s.label(ctx); err != nil {
		return err
	}
	return fmt.Errorf("execute %s: %w", s.Program[0], unix.Exec(s.Program[0], s.Program, os.Environ()))
}

func (s Start) wait(ctx context.Context) error {
	again := time.NewTicker(startInterval)
	defer again.Stop()
	for {
		if s.ready(ctx) {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s%s: %w", s.Socket, s.Path, context.Cause(ctx))
		}
	}
}

func (s Start) ready(ctx context.Context) bool {
	if s.Path != "" {
		if _, err := os.Stat(s.Path); err != nil {
			return false
		}
	}
	if s.Socket == "" {
		return true
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", s.Socket)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// loadTimeout bounds the import of one image.
const loadTimeout = 5 * time.Minute

// pinned is the label by which containerd tells the kubelet never to remove an image: it could not be pulled again.
const pinned = "io.cri-containerd.pinned=pinned"

// againInterval is the time between two tries to import what could not be.
const againInterval = 30 * time.Second

// loadAll imports what is in the folder, and tries again as long as something of it cannot be where that is asked for.
func (s Start) loadAll(ctx context.Context) error {
	again := time.NewTicker(againInterval)
	defer again.Stop()
	for {
		if s.loadFolder(ctx) || !s.Insist {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("import the images of %s: %w", s.Folder, context.Cause(ctx))
		}
	}
}

// loadFolder imports what is in the folder, and says whether all of it is imported. What is wrong with one archive does not keep
// others from being imported.
func (s Start) loadFolder(ctx context.Context) bool {
	if s.Folder == "" {
		return true
	}
	archives, err := filepath.Glob(filepath.Join(escapePattern(s.Folder), "*.tar"))
	if err != nil {
		s.Log.Error("images of this host are not imported", "folder", s.Folder, "error", err)
	}
	all := err == nil
	slices.SortStableFunc(archives, smallerFirst) // so that some can be used soon
	for _, archive := range archives {
		if err := s.load(ctx, archive); err != nil {
			s.Log.Error("images of this host are not imported; "+s.next(), "error", err)
			all = false
		}
	}
	return all
}

// smallerFirst compares archives; one that is gone comes first, and is told when it is loaded.
func smallerFirst(a, b string) int {
	size := func(file string) int64 {
		info, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return cmp.Compare(size(a), size(b))
}

// next says when an import that failed is tried again.
func (s Start) next() string {
	if s.Insist {
		return fmt.Sprintf("the next retry is in %s", againInterval)
	}
	return "the next start of this machine's kubelet tries again"
}

// escapePattern makes of a path a pattern that matches it alone.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// load imports an archive, once as long as it stays the same file.
func (s Start) load(ctx context.Context, archive string) error {
	var st unix.Stat_t
	if err := unix.Stat(archive, &st); err != nil {
		return fmt.Errorf("look at %s: %w", archive, err)
	}
	name := sha256.Sum256([]byte(archive))
	mark := filepath.Join(s.Marks, "imported-"+hex.EncodeToString(name[:8]))
	// Whatever writes to the file or takes its place changes this; copying a whole data directory does too, and costs an import.
	now := fmt.Sprintf("%d %d %d.%d\n", st.Ino, st.Size, st.Ctim.Sec, st.Ctim.Nsec)
	then, err := os.ReadFile(mark)
	if err == nil && string(then) == now {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	begin := time.Now()
	if err := s.client(ctx, "images", "import", "--local", "--label", pinned, archive); err != nil {
		return fmt.Errorf("import %s: %w", archive, err)
	}
	s.Log.Info("images are imported", "archive", archive, "took", time.Since(begin).Round(time.Millisecond))
	return os.WriteFile(mark, []byte(now), 0o600)
}

// client runs containerd's own client for one thing.
func (s Start) client(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Importer, append([]string{"--address", s.Socket, "--namespace", "k8s.io"}, args...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %.500s", err, said.String())
	}
	return nil
}
