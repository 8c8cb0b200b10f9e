//go:build linux

package app

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/server"
	"kqueen.io/kqueen/internal/server/status"
)

// damages are what may become of a file.
var damages = map[string]func(file string) error{
	"Missing":   os.RemoveAll,
	"Empty":     func(file string) error { return os.WriteFile(file, nil, 0o600) },
	"Truncated": func(file string) error { return os.Truncate(file, 7) },
	"Garbage":   func(file string) error { return os.WriteFile(file, []byte(strings.Repeat("\x00garbage", 600)), 0o600) },
	"Directory": func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
}

// oneOfEach are a file that is lost and one that is damaged: whole installations need no more. TestOpenAPIOfDamaged opens
// these files after all damages.
var oneOfEach = []string{"Missing", "Garbage"}

// damaged is an installation that has run, and of which files are damaged.
type damaged struct {
	Config

	good map[string][]byte
}

func newDamaged(t *testing.T) *damaged {
	t.Helper()
	d := &damaged{Config: Config{
		Engine: existing{config: controlplanetest.Config(t)}, Dir: filepath.Join(t.TempDir(), "data"), Program: os.Args[0], Version: "test",
		Releases: t.TempDir(), Log: slog.New(slog.DiscardHandler), MendInterval: 50 * time.Millisecond,
	}, good: map[string][]byte{}}
	t.Run("first start", func(t *testing.T) {
		first := d.Config
		first.APIPort, first.GatewayPort = quietPort(t), quietPort(t) // which later starts remember
		_, stop := run(t, first)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
	return d
}

// quietPort is a free port that no other program gets by chance: below those that the kernel gives away, and none of
// those that KQueen chooses itself.
func quietPort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		port := 12000 + rand.IntN(8000)
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// damage does it to a file of the data directory, and remembers what was in it.
func (d *damaged) damage(t *testing.T, name string, damage func(string) error) string {
	t.Helper()
	file := filepath.Join(d.Dir, name)
	data, err := os.ReadFile(file)
	if err == nil {
		d.good[name] = data
		err = damage(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} { // which would mend the database
		if err := os.RemoveAll(file + suffix); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// restore puts back what was in a file.
func (d *damaged) restore(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join(d.Dir, name)
	err := os.RemoveAll(file)
	if err == nil {
		err = os.WriteFile(file+".new", d.good[name], 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// await reads the status until it is as wanted.
func (d *damaged) await(t *testing.T, what string, done func(*status.Status) bool) *status.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		found, err := status.Read(ctx, d.Dir)
		if err == nil && done(found) {
			return found
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("want %s, got %+v, %v", what, found, err)
		}
	}
}

// says whether one of the problems has a text.
func says(found *status.Status, text string) bool {
	return slices.ContainsFunc(found.Problems, func(p string) bool { return strings.Contains(p, text) })
}

// TestDamageThatMends: what can be made again, or is there twice, is. What is damaged is kept under another name, and the
// owner is told.
func TestDamageThatMends(t *testing.T) {
	d := newDamaged(t)
	files := []string{
		"settings.json", "endings.json", "api-ca.crt", "keys/cursors.key", "keys/answers.key", "keys/issuer.json",
		"run/workloads/gateway/routes.json", "run/workloads/gateway/ports.json",
	}
	told := []string{"settings.json", "keys/cursors.key", "keys/answers.key", "keys/issuer.json", "run/workloads/gateway/ports.json"}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			port := settingsOf(t, d.Dir).APIPort
			for _, file := range files {
				d.damage(t, file, damage)
			}
			_, stop := run(t, d.Config)
			found := d.await(t, "that it is ready", func(s *status.Status) bool { return s.Ready })
			for _, file := range told {
				if name == "Missing" && file != "settings.json" { // as at the first start
					continue
				}
				if !says(found, filepath.Join(d.Dir, file)) {
					t.Errorf("nothing is said of %s: %q", file, found.Problems)
				}
				if asides, err := filepath.Glob(filepath.Join(d.Dir, file) + ".damaged-*"); name != "Missing" && (err != nil || len(asides) == 0) {
					t.Errorf("%s was not kept: %v", file, err)
				}
			}
			if got := settingsOf(t, d.Dir).APIPort; got != port {
				t.Errorf("the API is on port %d, and was on %d", got, port)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func settingsOf(t *testing.T, dir string) *settings {
	t.Helper()
	s, err := loadSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDamageThatStalls: keys that clients and records depend on are not made again. The status answers, says which file it
// is and what helps, and with the right file back everything goes on.
func TestDamageThatStalls(t *testing.T) {
	d := newDamaged(t)
	for _, file := range []string{"keys/door.json", "keys/audit.key"} {
		for _, name := range oneOfEach {
			t.Run(filepath.Base(file)+name, func(t *testing.T) {
				path := d.damage(t, file, damages[name])
				stop := d.start(t)
				found := d.await(t, "that it is stalled", func(s *status.Status) bool { return s.Stalled })
				if found.Ready || !says(found, path) || !says(found, "restore it from a backup") {
					t.Errorf("got %+v, want %s and what helps", found, path)
				}
				d.restore(t, file)
				found = d.await(t, "that it is ready", func(s *status.Status) bool { return s.Ready })
				if found.Stalled || len(found.Problems) > 0 {
					t.Errorf("with the file back: %q", found.Problems)
				}
				stop()
			})
		}
	}
}

// start is run for an installation that does not become ready.
func (d *damaged) start(t *testing.T) (stop func()) {
	t.Helper()
	told := make(chan error, 100)
	c := d.Config
	c.Degraded = func(err error) {
		select {
		case told <- err:
		default:
		}
	}
	a, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, func() {}) }()
	stop = func() {
		cancel()
		if err := errors.Join(<-ended, a.Close()); err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	downAfter(t, c)
	select {
	case <-told:
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("it does not say that it runs in part")
	}
	return stop
}

// TestDamagedDatabase: a database that is lost or damaged closes the REST API and nothing else, no other takes its place, and
// with the right one back the API answers.
func TestDamagedDatabase(t *testing.T) {
	d := newDamaged(t)
	for _, name := range oneOfEach {
		t.Run(name, func(t *testing.T) {
			path := d.damage(t, databaseFile, damages[name])
			_, stop := run(t, d.Config)
			found := d.await(t, "that it is ready", func(s *status.Status) bool { return s.Ready })
			if !says(found, path) || !says(found, "restore it from a backup") {
				t.Errorf("got %q, want %s and what helps", found.Problems, path)
			}
			if got := d.ask(t, rest.Prefix+"/organizations"); got != http.StatusServiceUnavailable {
				t.Errorf("the API answers %d", got)
			}
			if got := d.ask(t, server.IssuerPath+"/keys"); got != http.StatusOK {
				t.Errorf("API servers that ask for keys get %d", got)
			}
			d.restore(t, databaseFile)
			d.await(t, "that nothing is wrong", func(s *status.Status) bool { return len(s.Problems) == 0 })
			if got := d.ask(t, rest.Prefix+"/organizations"); got != http.StatusOK {
				t.Errorf("with the database back, the API answers %d", got)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLockedDatabase: what has the database locked while KQueen runs is told, and nothing ends for it.
func TestLockedDatabase(t *testing.T) {
	d := newDamaged(t)
	_, stop := run(t, d.Config)
	d.await(t, "that it is ready", func(s *status.Status) bool { return s.Ready && len(s.Problems) == 0 })
	other, err := database.Open(t.Context(), database.FileURL(filepath.Join(d.Dir, databaseFile)))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Do(t.Context(), "another program", func(*sql.Tx) error {
		found := d.await(t, "that it is told", func(s *status.Status) bool { return len(s.Problems) > 0 })
		if !found.Ready || !says(found, "the database cannot be written") {
			t.Errorf("the status is %+v", found)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "that nothing is wrong", func(s *status.Status) bool { return s.Ready && len(s.Problems) == 0 })
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// ask calls the API as the owner of the machine.
func (d *damaged) ask(t *testing.T, path string) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return status.OnSocket(d.Dir, rest.LocalSocket, func(path string) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) })
	}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://kqueen"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

// TestDownOfDamaged: an installation is stopped and removed whatever is damaged in it.
func TestDownOfDamaged(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			files := []string{
				"settings.json", "settings.json.copy", databaseFile, "keys/store.json", "keys/encryption.key", "etcd/member/snap",
				"run/workloads/tenant/ports.json", "run/workloads/node/machine.json", "run/workloads/node/ports.json", "run/workloads/gateway/routes.json",
			}
			for _, file := range files {
				path := filepath.Join(dir, file)
				err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(`{"cluster": "c", "address": "10.223.0.2/24"}`), 0o600))
				if err == nil && file != "etcd/member/snap" {
					err = damage(path)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !Used(dir) {
				t.Error("it is not seen that the directory is used")
			}
			log, report := slog.New(slog.DiscardHandler), func(stage.Step) {}
			if err := Down(t.Context(), existing{}, dir, log, report); err != nil {
				t.Errorf("down: %v", err)
			}
			if err := Reset(t.Context(), existing{}, dir, log, report); err != nil {
				t.Errorf("reset: %v", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}
