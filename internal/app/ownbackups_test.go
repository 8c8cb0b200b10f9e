//go:build linux

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestDueOwnBackup(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	for name, c := range map[string]struct {
		taken []time.Time
		born  time.Time
		want  time.Time
	}{
		"New":               {born: now, want: at(24)},
		"OldWithoutAny":     {born: at(-1000), want: at(-976)},
		"NotKnownWhenMade":  {want: time.Time{}.Add(24 * time.Hour)},
		"Taken":             {[]time.Time{at(-50), at(-20)}, at(-1000), at(4)},
		"Overdue":           {[]time.Time{at(-50)}, at(-1000), at(-26)},
		"MadeInATimeToCome": {born: at(900), want: now},
	} {
		if got := dueOwnBackup(c.taken, c.born, now, 24*time.Hour); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// An installation backs itself up when it is time, keeps some, says when it cannot, and tries again. What was being written when it ended is removed,
// and what its owner has put there stays, as does one of a time to come.
func TestOwnBackups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), ownBackupsFolder)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		torn, owners := filepath.Join(dir, ".kqueen-20000101T000000Z.backup.ABCDEFGH.tmp"), filepath.Join(dir, "before-the-move.backup")
		toCome := filepath.Join(dir, "kqueen-20970101T000000Z.backup")
		if err := errors.Join(os.WriteFile(torn, nil, 0o600), os.WriteFile(owners, nil, 0o600), os.WriteFile(toCome, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		var said atomic.Value // a text
		born := time.Now()
		o := &ownBackups{
			dir: dir, every: 24 * time.Hour, kept: 2, born: born, now: time.Now, log: slog.New(slog.DiscardHandler),
			problem: func(err error) { said.Store(fmt.Sprint(err)) }, taken: prometheus.NewGauge(prometheus.GaugeOpts{Name: "t", Help: "When."}),
			take: func(_ context.Context, to io.Writer) error {
				_, err := io.WriteString(to, "whole")
				if age := time.Since(born); age >= 72*time.Hour && age < 73*time.Hour+5*time.Minute {
					err = errors.Join(err, errors.New("the disk is full"))
				}
				return err
			},
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.Start(ctx) }()
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		pass(73 * time.Hour)
		if got := said.Load().(string); !strings.Contains(got, "the disk is full; it tries again within 10m") {
			t.Errorf("it says %s", got)
		}
		measured := prometheus.NewRegistry()
		measured.MustRegister(o.taken)
		families, err := measured.Gather()
		if err != nil || families[0].GetMetric()[0].GetGauge().GetValue() != float64(born.Add(48*time.Hour).Unix()) {
			t.Errorf("the last one that is kept is of %v (%v)", families, err)
		}
		pass(10 * time.Minute)
		end()
		if err := <-ended; err != nil || said.Load() != "<nil>" {
			t.Errorf("it ended with %v, and says %v", err, said.Load())
		}
		if got, want := filesIn(t, dir), map[string]string{
			"kqueen-20970101T000000Z.backup": "", "before-the-move.backup": "",
			born.Add(48 * time.Hour).UTC().Format(ownBackupName):                "whole",
			born.Add(73*time.Hour + 10*time.Minute).UTC().Format(ownBackupName): "whole",
		}; !cmp.Equal(want, got) {
			t.Errorf("in the folder (-want +got):\n%s", cmp.Diff(want, got))
		}
	})
}
