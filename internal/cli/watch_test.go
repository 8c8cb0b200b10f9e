//go:build linux

package cli

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestWatchUntilInterrupted runs `cluster list --watch` as a program, sees a cluster come and go, and wants
// the exit code that says that it was interrupted.
func TestWatchUntilInterrupted(t *testing.T) {
	const organization = "watched"
	c := controlplanetest.Client(t)
	namespace := v1alpha1.NamespacePrefix + organization
	dir, err := os.MkdirTemp("", "kq") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	there := newServers(t)
	if err := errors.Join(there.organization(organization), there.local(dir, there.owners, t.Cleanup)); err != nil {
		t.Fatal(err)
	}
	first, second := watchedCluster(namespace, "first"), watchedCluster(namespace, "second")
	if err := c.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kqueen", "cluster", "list", "--watch", "--data-dir", dir, "--org", organization)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, talk, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stderr = talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	talk.Close()

	rows, words := bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	expect(t, rows, "NAME ")
	expect(t, rows, "first ")
	if err := c.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	expect(t, rows, "second ")
	if err := c.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	expect(t, words, "cluster second is gone")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	expect(t, words, "interrupted")
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != exit.Interrupted {
		t.Errorf("ended with %v, want exit code %d", err, exit.Interrupted)
	}
}

// expect wants the next line to begin so.
func expect(t *testing.T, lines *bufio.Scanner, begin string) {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("no line, want one that begins with %q: %v", begin, lines.Err())
	}
	if !strings.HasPrefix(lines.Text(), begin) {
		t.Fatalf("got the line %q, want one that begins with %q", lines.Text(), begin)
	}
}

// watchedCluster is a cluster that can be made.
func watchedCluster(namespace, name string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.ClusterSpec{Version: "v1.36.10"},
	}
}
