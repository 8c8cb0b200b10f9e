//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// killServer kills KQueen itself, which its keeper starts again, and then the keeper, which "kqueen up" starts again: what KQueen
// runs goes on, and so does KQueen when its keeper goes.
func killServer(t *testing.T, i *installation) {
	before, programs := i.status(), i.running(func(process) bool { return true })
	if !slices.Equal(i.keepers(), []int{before.Keeper}) || before.LastCrash != nil {
		t.Fatalf("the keeper is %d, of %v; the last crash is %v", before.Keeper, i.keepers(), before.LastCrash)
	}
	kill(t, before.PID)
	var after status
	eventually(t, "KQueen is ready again", func(context.Context) error {
		r := i.kqueen("status", "-o", "json")
		if r.code != 0 {
			return errors.New(r.stderr)
		}
		if err := json.Unmarshal([]byte(r.stdout), &after); err != nil || !after.Ready || after.PID == before.PID {
			return fmt.Errorf("process %d, ready %t, %w", after.PID, after.Ready, err)
		}
		return nil
	})
	if c := after.LastCrash; c == nil || !strings.HasPrefix(c.How, "signal: killed, after ") {
		t.Errorf("the last crash is %v", c)
	} else if text, err := os.ReadFile(c.Log); err != nil || !strings.Contains(string(text), "signal: killed") {
		t.Errorf("its log has %q, %v", text, err)
	}
	if out := i.ok("logs", "kqueen", "--previous"); !strings.Contains(out, "signal: killed") {
		t.Errorf("what KQueen wrote last is %q", out)
	}

	kill(t, after.Keeper)
	if now := i.status(); now.PID != after.PID || now.Keeper != 0 || !slices.ContainsFunc(now.Warnings, func(w string) bool { return strings.Contains(w, "keeper") }) {
		t.Errorf("without its keeper KQueen is process %d, want %d; warnings are %v", now.PID, after.PID, now.Warnings)
	}
	i.up()
	if now := i.status(); now.PID != after.PID || now.Keeper == 0 || !slices.Equal(i.keepers(), []int{now.Keeper}) {
		t.Errorf("KQueen is process %d, want %d; its keeper is %d of %v", now.PID, after.PID, now.Keeper, i.keepers())
	}
	if got := i.running(func(process) bool { return true }); !slices.Equal(got, programs) {
		t.Errorf("running are\n%s\nand were\n%s", strings.Join(got, "\n"), strings.Join(programs, "\n"))
	}
}
