package guest

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
	// Importer is containerd's own client, and Images are the archives that it imports first.
	Importer string
	Images   []string
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

// importMark says that an archive was imported. It is in containerd's own directory, so that it goes with the images.
func importMark(archive string) string {
	sum := sha256.Sum256([]byte(archive))
	return filepath.Join(ContainerdRoot, "imported-"+hex.EncodeToString(sum[:8]))
}

// load imports an archive, once.
func (s Start) load(ctx context.Context, archive string) error {
	mark := importMark(archive)
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Importer, "--address", s.Socket, "--namespace", "k8s.io", "images", "import", "--local", archive)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("import %s: %w: %.500s", archive, err, said.String())
	}
	return os.WriteFile(mark, nil, 0o600)
}
