//go:build linux

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/sealedtar"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// storesOfFiles are data stores that are one file each, or fail.
type storesOfFiles struct{ fails error }

func (s storesOfFiles) SaveStores(_ context.Context, dir, to string) error {
	return errors.Join(s.fails, copyOf(filepath.Join(dir, "etcd", "member"), filepath.Join(to, "etcd.snapshot")))
}

func (s storesOfFiles) RestoreStores(dir, from string) error {
	if s.fails != nil {
		return s.fails
	}
	if err := os.Mkdir(filepath.Join(dir, "etcd"), 0o700); err != nil {
		return err
	}
	return copyOf(filepath.Join(from, "etcd.snapshot"), filepath.Join(dir, "etcd", "member"))
}

func (storesOfFiles) Workloads() []engine.Workload { return []engine.Workload{{ID: "etcd"}} }

func copyOf(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// used is a data directory as an installation leaves it, with so many records in its audit log.
func used(t *testing.T, records int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	for name, text := range map[string]string{
		"keys/store.json": "keys", "keys/.store.json.X.tmp": "half", "etcd/member": "clusters", "endings.json": "[]", "audit/audit.log": "one\nhalf a li",
		"run/workloads/5b2f/ports.json": `{"server":20001}`, "run/workloads/5b2f/kube-apiserver.key": "made again", "run/workloads/etcd/ports.json": `{"client":20002}`,
		"run/workloads/gateway/ports.json": "{}", "backups/default/demo/chunks/ab/abcd": "chunk", "images/mine.tar": "image", "logs/kqueen.log": "log", "admin.kubeconfig": "made again",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	key, err := pki.SecretKey(filepath.Join(dir, "keys", "audit.key"), pki.Forgetful{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), database.FileURL(filepath.Join(dir, databaseFile)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id, err := db.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), db, key)
	for range records {
		if err == nil {
			_, err = log.Append(t.Context(), audit.Record{Actor: audit.Actor{Kind: audit.Owner}, Action: "create", Outcome: audit.Succeeded})
		}
	}
	s := &settings{Domain: "k.example", AdminVersion: "v1.36.3", Trust: map[string]map[string]string{databaseFile: {databaseID: id}}}
	if err := errors.Join(err, s.save(dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func silent(stage.Step) {}

func backUp(t *testing.T, dir string, change func(*BackupConfig)) ([]byte, BackupAbout, error) {
	t.Helper()
	c := BackupConfig{Dir: dir, Stores: storesOfFiles{}, Version: "v1.2.3", Releases: t.TempDir(), Report: silent}
	if change != nil {
		change(&c)
	}
	var out bytes.Buffer
	about, _, err := BackUp(t.Context(), c, &out)
	return out.Bytes(), about, err
}

func restoreInto(t *testing.T, dir string, from io.Reader, change func(*RestoreConfig)) error {
	t.Helper()
	c := RestoreConfig{Dir: dir, Stores: storesOfFiles{}, Version: "v1.2.3", Report: silent}
	if change != nil {
		change(&c)
	}
	_, err := Restore(t.Context(), c, from)
	return err
}

// filesIn are the files below a folder, with what is in the small ones.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		if strings.HasPrefix(name, databaseFile) || strings.HasPrefix(name, "settings") || strings.HasSuffix(name, ".key") {
			data = nil
		}
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// restored is what there has to be of an installation as used makes it.
var restored = map[string]string{
	"settings.json": "", "settings.json.copy": "", "keys/store.json": "keys", "keys/audit.key": "", "etcd/member": "clusters", "endings.json": "[]",
	"audit/audit.log": "one\nhalf a li\n", "run/workloads/5b2f/ports.json": `{"server":20001}`, "backups/default/demo/chunks/ab/abcd": "chunk",
	"images/mine.tar": "image", databaseFile: "",
}

// TestBackUpAndRestore: what cannot be made again comes back elsewhere, with the audit log, which says what was done; and what is for the
// old host alone stays behind.
func TestBackUpAndRestore(t *testing.T) {
	from, to := used(t, 3), filepath.Join(t.TempDir(), "elsewhere")
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file, about, err := backUp(t, from, func(c *BackupConfig) { c.Recipients = []age.Recipient{key.Recipient()} })
	if err != nil {
		t.Fatal(err)
	}
	if about.DataDir != from || about.Kubernetes != "v1.36.3" || about.Bytes == 0 {
		t.Errorf("it says %+v of itself", about)
	}
	if _, err := os.Stat(filepath.Join(from, spoolFolder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("copies of keys are left in the data directory: %v", err)
	}
	open := func(c *RestoreConfig) { c.Keys = []age.Identity{key} }
	if err := restoreInto(t, to, bytes.NewReader(file), open); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(restored, filesIn(t, to)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	s, err := loadSettings(to)
	if err != nil || s.Domain != "k.example" || !slices.Equal(s.MovedFrom, []string{from}) {
		t.Errorf("settings are %+v (%v)", s, err)
	}
	wantChain(t, to, "create create create back-up-installation restore-installation")
	wantChain(t, from, "create create create back-up-installation")

	if err := restoreInto(t, to, bytes.NewReader(file), open); err == nil || !strings.Contains(err.Error(), "is not empty") || !strings.Contains(err.Error(), "kqueen reset") {
		t.Errorf("over an installation: %v", err)
	}
	if diff := cmp.Diff(restored, filesIn(t, to)); diff != "" {
		t.Errorf("it was changed (-want +got):\n%s", diff)
	}
}

// wantChain verifies the audit log of a data directory, and wants these actions in it.
func wantChain(t *testing.T, dir, want string) {
	t.Helper()
	db, err := database.Open(t.Context(), database.FileURL(filepath.Join(dir, databaseFile)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key, err := pki.ReadSecretKey(filepath.Join(dir, "keys", "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), db, key)
	if err != nil {
		t.Fatal(err)
	}
	report, err := log.Verify(t.Context(), nil)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the chain: %+v, %v", report, err)
	}
	page, err := log.List(t.Context(), audit.Filter{AllOrganizations: true})
	var actions []string
	for _, r := range slices.Backward(page.Records) {
		actions = append(actions, r.Action)
	}
	if got := strings.Join(actions, " "); got != want || err != nil {
		t.Errorf("the audit log has %q (%v), want %q", got, err, want)
	}
}

// TestRestoreRefuses: what cannot be restored leaves the data directory as empty as it was, and says why.
func TestRestoreRefuses(t *testing.T) {
	file, _, err := backUp(t, used(t, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(file)
	flipped[len(flipped)/2] ^= 1
	var unknown bytes.Buffer
	err = sealedtar.Write(&unknown, BackupKind, BackupAbout{}, nil, func(w *sealedtar.Writer) error { return w.Add("usr/bin/sh", 0, &bytes.Buffer{}) })
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("no space left on device")
	cases := map[string]struct {
		file   []byte
		change func(*RestoreConfig)
		want   string
	}{
		"cut off":           {file[:len(file)-40], nil, "cut off"},
		"changed":           {flipped, nil, "damaged"},
		"foreign":           {[]byte("PK\x03\x04"), nil, "another kind of file"},
		"of a newer KQueen": {file, func(c *RestoreConfig) { c.Version = "v1.1.9" }, "taken by KQueen v1.2.3, and this is v1.1.9"},
		"a file of no part": {unknown.Bytes(), nil, "does not know"},
		"the disk is full":  {file, func(c *RestoreConfig) { c.Stores = storesOfFiles{gone} }, gone.Error()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := restoreInto(t, dir, bytes.NewReader(c.file), c.change); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left := filesIn(t, dir); len(left) > 0 || interrupted(dir) != nil {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestBackUpRefuses: what is not backed up says so, and what helps.
func TestBackUpRefuses(t *testing.T) {
	dir := used(t, 1)
	gone := errors.New("etcd is gone")
	if _, _, err := backUp(t, dir, func(c *BackupConfig) { c.Stores = storesOfFiles{gone} }); !errors.Is(err, gone) {
		t.Errorf("without a data store: %v", err)
	}
	unlock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := backUp(t, dir, nil); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Errorf("two at once: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := backUp(t, dir, func(c *BackupConfig) { c.Without = []BackupPart{PartDatabase} }); err == nil || !strings.Contains(err.Error(), "cannot be left out") {
		t.Errorf("without the database that is a file: %v", err)
	}
	s, err := loadSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Database = "postgres://kqueen:s3cret@db/kqueen"
	if err := s.save(dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := backUp(t, dir, nil); err == nil || !strings.Contains(err.Error(), "pg_dump") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("with PostgreSQL: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, spoolFolder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("copies are left: %v", err)
	}
}

// TestWithout: parts that are left out are not in it.
func TestWithout(t *testing.T) {
	file, _, err := backUp(t, used(t, 1), func(c *BackupConfig) { c.Without = []BackupPart{PartBackups, PartImages, PartInventory} })
	if err != nil {
		t.Fatal(err)
	}
	about, files, err := VerifyBackup(bytes.NewReader(file), nil)
	if err != nil || len(about.Without) != 3 {
		t.Fatalf("it says %+v (%v)", about, err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	want := []string{"audit/audit.log", "endings.json", "keys/audit.key", "keys/store.json", "kqueen.db", "run/workloads/5b2f/ports.json", "settings.json", "snapshots/etcd.snapshot"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// killedAt names the step of a restore or backup, and whether it has begun or ended, at which a child of these tests ends as if it were killed.
const killedAt, killedIn = "KQUEEN_TEST_KILLED_AT", "KQUEEN_TEST_KILLED_IN"

// killed backs up or restores until it ends itself, as if it were killed; TestMain calls it in a child.
func killed(at, dir string) error {
	report := func(s stage.Step) {
		if at == moment(s) {
			os.Exit(0) // nothing is put in order
		}
	}
	data := filepath.Join(dir, "data")
	file, err := os.Open(filepath.Join(dir, "file"))
	if errors.Is(err, fs.ErrNotExist) {
		_, _, err = BackUp(context.Background(), BackupConfig{Dir: data, Stores: storesOfFiles{}, Version: "v1.2.3", Releases: dir, Report: report}, io.Discard)
	} else if err == nil {
		_, err = Restore(context.Background(), RestoreConfig{Dir: data, Stores: storesOfFiles{}, Version: "v1.2.3", Report: report}, file)
	}
	return fmt.Errorf("it came to its end, and not to %q: %w", at, err)
}

func moment(s stage.Step) string {
	if s.Done {
		return s.Name + " ended"
	}
	return s.Name + " began"
}

func killChild(t *testing.T, dir, at string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killedAt+"="+at, killedIn+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestKilledAtEachStep: after a backup that was killed the next one is whole, and nothing of it is left; a restore that was killed is no
// installation, KQueen does not start on it, and it is repeated.
func TestKilledAtEachStep(t *testing.T) {
	from := used(t, 2)
	var moments []string
	file, _, err := backUp(t, from, func(c *BackupConfig) { c.Report = func(s stage.Step) { moments = append(moments, moment(s)) } })
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range moments {
		t.Run("backup "+at, func(t *testing.T) {
			killChild(t, filepath.Dir(from), at)
			again, _, err := backUp(t, from, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := VerifyBackup(bytes.NewReader(again), nil); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(from, spoolFolder)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("copies are left: %v", err)
			}
		})
	}
	moments = nil
	if err := restoreInto(t, filepath.Join(t.TempDir(), "data"), bytes.NewReader(file), func(c *RestoreConfig) {
		c.Report = func(s stage.Step) { moments = append(moments, moment(s)) }
	}); err != nil {
		t.Fatal(err)
	}
	for _, at := range moments[:len(moments)-1] { // after the last one it is done
		t.Run("restore "+at, func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "data")
			if err := os.WriteFile(filepath.Join(base, "file"), file, 0o600); err != nil {
				t.Fatal(err)
			}
			killChild(t, base, at)
			wantRepeated(t, dir, file)
		})
	}
}

// wantRepeated wants that KQueen does not start on an interrupted restore, and that it can be repeated.
func wantRepeated(t *testing.T, dir string, file []byte) {
	t.Helper()
	if _, err := New(t.Context(), Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "was interrupted; repeat it") {
		t.Errorf("KQueen on it: %v", err)
	}
	if err := restoreInto(t, dir, bytes.NewReader(file), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(restored, filesIn(t, dir)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// TestInterruptedBetweenMoves: a restore that was interrupted while it put files in their places is repeated, whichever were there.
func TestInterruptedBetweenMoves(t *testing.T) {
	file, _, err := backUp(t, used(t, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	for moved := range len(restored) {
		dir := filepath.Join(t.TempDir(), "data")
		if err := restoreInto(t, dir, bytes.NewReader(file), nil); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, restoringFolder), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries[min(moved, len(entries)):] {
			if err := os.Rename(filepath.Join(dir, entry.Name()), filepath.Join(dir, restoringFolder, entry.Name())); err != nil {
				t.Fatal(err)
			}
		}
		wantRepeated(t, dir, file)
	}
}

func TestRelocated(t *testing.T) {
	before := []string{"/srv/old", "/var/lib/kqueen"}
	for from, want := range map[string]string{
		"/var/lib/kqueen/backups": "/data/backups", "/srv/old/backups/x": "/data/backups/x", "/mnt/backups": "/mnt/backups", "/srv/older/backups": "/srv/older/backups",
	} {
		if got := relocated(from, before, "/data"); got != want {
			t.Errorf("%s is %s, want %s", from, got, want)
		}
	}
	if got := relocated("/srv/old/backups", nil, "/data"); got != "/srv/old/backups" {
		t.Errorf("one that never moved is at %s", got)
	}
}

// TestMoved: an installation knows where it was, also after several moves and back, and finds its database in the data directory.
func TestMoved(t *testing.T) {
	other := "sqlite:///mnt/sql/k.db"
	s := &settings{Database: other, Trust: map[string]map[string]string{databaseName(Config{Dir: "/a", Database: other}): {databaseID: "x"}, "keys": {"ca": "y"}}}
	s.moved("/a", "/b")
	if diff := cmp.Diff(map[string]map[string]string{databaseFile: {databaseID: "x"}, "keys": {"ca": "y"}}, s.Trust); diff != "" || s.Database != "" {
		t.Errorf("the database is %q, and trust (-want +got):\n%s", s.Database, diff)
	}
	s.moved("/b", "/c")
	s.moved("/c", "/a")
	if diff := cmp.Diff([]string{"/b", "/c"}, s.MovedFrom); diff != "" {
		t.Error(diff)
	}
	server := &settings{Database: "postgres://db/k"}
	if server.moved("/a", "/b"); server.Database != "postgres://db/k" {
		t.Errorf("the database is %q", server.Database)
	}
}

func TestNewer(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"v1.3.0", "v1.2.9"}: true, {"v1.2.3", "v1.2.3"}: false, {"v1.2.2", "v1.2.3"}: false, {"dev", "v1.0.0"}: false, {"v1.0.0", "dev"}: false,
	} {
		if got := newer(pair[0], pair[1]); got != want {
			t.Errorf("%v: %t", pair, got)
		}
	}
}
