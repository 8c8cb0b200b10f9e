package node

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/progress"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/join"
)

// TestInFlags: what is wrong is named by the flag that said it, and a token is never repeated.
func TestInFlags(t *testing.T) {
	good := join.Request{
		Server: "a:1", Token: "abcdef.0123456789abcdef", Hashes: []string{"sha256:" + strings.Repeat("0", 64)}, Node: "hand-a",
	}
	for want, change := range map[string]func(*join.Request){
		`SERVER: "a" is not the address`:           func(r *join.Request) { r.Server = "a" },
		`SERVER: "0" is not a port`:                func(r *join.Request) { r.Server = "a:0" },
		"the token is not a token of a cluster":    func(r *join.Request) { r.Token = "s3cret" },
		"--ca-cert-hash: is missing":               func(r *join.Request) { r.Hashes = nil },
		`--ca-cert-hash: "md5:00" is not a hash`:   func(r *join.Request) { r.Hashes = append(r.Hashes, "md5:00") },
		`--node-name: "Hand" is not the name of a`: func(r *join.Request) { r.Node = "Hand" },
	} {
		bad := good
		change(&bad)
		if err := inFlags(bad.Check()); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	other := errors.New("another")
	if err := inFlags(other); !errors.Is(err, other) {
		t.Errorf("got %v, want the error as it is", err)
	}
	if _, known := errors.AsType[*invalid.Error](good.Check()); known {
		t.Error("what is right is refused")
	}
}

// TestLeaveNothing: a machine that is no node is told so, and who may not take one out; neither changes anything.
func TestLeaveNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	t.Setenv(connection.DataDirVariable, t.TempDir())
	e := connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	e.Flags.Register(root)
	root.AddCommand(Commands(e)...)
	for _, args := range [][]string{{"leave", "--yes"}, {"leave", "--dry-run"}} {
		root.SetArgs(append(args, "--dir", dir))
		want := "this machine has not joined a cluster (there is no node in " + dir + ")"
		if os.Geteuid() != 0 {
			want = "run the same as root"
		}
		if err := root.ExecuteContext(t.Context()); err == nil || exit.CodeOf(err) != exit.Failed || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

// TestConclude: a node that lacks only what its user brings, such as a network, is no failure, and what it lacks is told.
func TestConclude(t *testing.T) {
	for name, tc := range map[string]struct {
		verdict join.Verdict
		want    string
	}{
		"ready":     {join.Verdict{Done: true, Ready: true}, "node hand-a is ready after "},
		"not ready": {join.Verdict{Done: true, Message: "no\x1b[2J network"}, "and not ready yet: no[2J network\n"},
	} {
		var words bytes.Buffer
		start := time.Now()
		j := &machineJoin{env: connection.New(nil, nil, &words), want: join.Request{Node: "hand-a"}}
		if err := j.conclude(progress.NewDisplay(&words, start), tc.verdict, start); err != nil || !strings.Contains(words.String(), tc.want) {
			t.Errorf("%s: %v, said %q, want %q", name, err, words.String(), tc.want)
		}
	}
}
