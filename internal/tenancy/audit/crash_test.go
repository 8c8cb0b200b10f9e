package audit

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// appendTo is the variable that names the database to which a test binary appends until it is killed.
const appendTo = "KQUEEN_TEST_APPEND_TO"

// appendForever appends by ten writers and prints each record that is appended.
func appendForever(address string) error {
	ctx := context.Background()
	db, err := database.Open(ctx, address)
	if err != nil {
		return err
	}
	l, err := Open(ctx, db, testKey)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range 10 {
		go func() {
			for n := 0; ; n++ {
				r, err := l.Append(ctx, sample(n))
				if err != nil {
					failed <- err
					return
				}
				fmt.Printf("%d %s\n", r.Sequence, r.Hash)
			}
		}()
	}
	return <-failed
}

// TestAppendCrash kills a process that appends, wherever it is, again and again: what it has said to be there is
// there, the chain is whole, and the next one goes on.
func TestAppendCrash(t *testing.T) {
	databasetest.EachAddress(t, func(t *testing.T, address string) {
		said := map[int64]string{}
		for round := range 5 {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), appendTo+"="+address)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for n := 0; lines.Scan(); n++ {
				var head Head
				if _, err := fmt.Sscan(lines.Text(), &head.Sequence, &head.Hash); err != nil || len(head.Hash) != len(origin) {
					continue // the kill may come in the middle of a line
				}
				said[head.Sequence] = head.Hash
				if n == 20+round*7 {
					if err := cmd.Process.Kill(); err != nil {
						t.Error(err)
					}
				}
			}
			_ = cmd.Wait()
		}
		if len(said) < 100 {
			t.Fatalf("only %d records were appended", len(said))
		}
		l := open(t, databasetest.Open(t, address))
		if report := verify(t, l, nil); !report.Sound() || report.Records < int64(len(said)) {
			t.Errorf("%d said to be there: %+v", len(said), report)
		}
		records, err := l.read(t.Context(), Filter{OldestFirst: true}, 0, 1<<62, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if said[r.Sequence] == r.Hash {
				delete(said, r.Sequence)
			}
		}
		if len(said) > 0 {
			t.Errorf("said to be there and are not: %v", said)
		}
	})
}
