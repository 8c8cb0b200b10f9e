package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
	// Pin names images that the kubelet is to keep when it clears images away.
	Pin []string
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
	for _, image := range s.Pin {
		if err := s.client(ctx, "images", "label", image, pinned); err != nil {
			return fmt.Errorf("pin %s: %w", image, err)
		}
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

// pinned is the label by which containerd's CRI tells the kubelet to keep an image.
const pinned = "io.cri-containerd.pinned=pinned"

// importMark says that an archive was imported.
func (s Start) importMark(archive string) string {
	sum := sha256.Sum256([]byte(archive))
	return filepath.Join(s.Marks, "imported-"+hex.EncodeToString(sum[:8]))
}

// load imports an archive, once.
func (s Start) load(ctx context.Context, archive string) error {
	mark := s.importMark(archive)
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.client(ctx, "images", "import", "--local", archive); err != nil {
		return fmt.Errorf("import %s: %w", archive, err)
	}
	return os.WriteFile(mark, nil, 0o600)
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
