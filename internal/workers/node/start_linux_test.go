package node

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestFolder puts archives where a machine looks for them, good ones and bad ones.
func TestFolder(t *testing.T) {
	controlplanetest.Real(t)
	if os.Geteuid() != 0 {
		t.Skip("only root runs containerd")
	}
	parts, err := controlplanetest.NodeParts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := startContainerd(t, parts.Program)
	folder := filepath.Join(t.TempDir(), "a[b]*") // a path is no pattern
	var log bytes.Buffer
	s := Start{
		Socket: c.socket, Importer: parts.Program("ctr"), Folder: folder, Marks: t.TempDir(),
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	look := func(what string, want ...string) {
		t.Helper()
		log.Reset()
		s.loadFolder(t.Context())
		for _, w := range want {
			if !strings.Contains(log.String(), w) {
				t.Errorf("%s: the log does not say %q:\n%s", what, w, &log)
			}
		}
		if len(want) == 0 && log.Len() > 0 {
			t.Errorf("%s: the log says:\n%s", what, &log)
		}
	}
	look("no folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	look("nothing in it")

	images := map[string]string{}
	for _, i := range parts.Images() {
		images[filepath.Base(i.Archive)] = i.Name
	}
	archive := filepath.Join(folder, "mine.tar")
	bring(t, filepath.Join(parts.Dir, "images", "pause.tar"), archive)
	broken := filepath.Join(folder, "broken.tar")
	for file, content := range map[string]string{broken: "no archive", filepath.Join(folder, "notes.txt"): "not looked at"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look("a good and a broken one", "level=INFO", "mine.tar", "level=ERROR", "broken.tar", "tries again")
	c.wantImage(t, images["pause.tar"], true)
	c.wantImage(t, images["busybox.tar"], false)

	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	look("imported already")
	bring(t, filepath.Join(parts.Dir, "images", "busybox.tar"), archive)
	look("another one in its place", "level=INFO", "mine.tar")
	c.wantImage(t, images["busybox.tar"], true)
	if err := os.Symlink("nowhere", filepath.Join(folder, "gone.tar")); err != nil {
		t.Fatal(err)
	}
	look("a link that leads nowhere", "level=ERROR", "gone.tar")
	s.Folder = ""
	look("no folder is named")
}

// containerd is one of the test's own.
type containerd struct{ socket, ctr string }

func startContainerd(t *testing.T, program func(name string) string) containerd {
	t.Helper()
	dir := t.TempDir()
	c := containerd{socket: filepath.Join(dir, "containerd.sock"), ctr: program("ctr")}
	config := filepath.Join(dir, "config.toml")
	content := fmt.Sprintf("version = 3\nroot = %q\nstate = %q\ndisabled_plugins = ['io.containerd.grpc.v1.cri', 'io.containerd.nri.v1.nri']\n[grpc]\n  address = %q\n",
		filepath.Join(dir, "root"), filepath.Join(dir, "state"), c.socket)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program("containerd"), "--config", config)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was told to end
		if t.Failed() {
			t.Logf("containerd says:\n%s", &said)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := (Start{Socket: c.socket}).wait(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

// bring copies an archive as a careful administrator does: it has its name when it is whole.
func bring(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(to+".new", to); err != nil {
		t.Fatal(err)
	}
}

func (c containerd) wantImage(t *testing.T, name string, want bool) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), c.ctr, "--address", c.socket, "--namespace", "k8s.io", "images", "ls", "labels."+strconv.Quote("io.cri-containerd.pinned")+"==pinned").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := name != "" && strings.Contains(string(out), name); got != want {
		t.Errorf("image %q is there for good: %t, want %t; there are:\n%s", name, got, want, out)
	}
}
