//go:build linux

package e2e

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// TestPostgreSQL is an installation whose users and audit log are in PostgreSQL: they are there after a crash, also
// when the address is not said again, and what is in the database helps no attacker who reads it.
func TestPostgreSQL(t *testing.T) {
	parallel(t, 2*time.Minute)
	address, err := url.Parse(databasetest.PostgreSQL(t))
	if err != nil {
		t.Fatal(err)
	}
	// This server asks for no password; what is said is a marker.
	const password = "marker-of-the-databases-password-41f9"
	address.User = url.UserPassword(address.User.Username(), password)
	i := newInstallation(t)
	i.env = []string{"KQUEEN_DATABASE=" + address.String()}
	i.up()
	d := i.api()
	root := i.setup(d)
	root.member("alice")
	root.want(http.StatusCreated, "POST", "/organizations", rest.Input{Name: "payments", Spec: []byte(`{"members":[{"user":"alice","role":"owner"}]}`)}, nil)
	alice := d.as("alice")
	var issued rest.Issued
	token := rest.NewToken{Name: "ci", Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	alice.want(http.StatusCreated, "POST", "/me/tokens", token, &issued, "Idempotency-Key", "once")
	alice.keep("Issued.token", issued.Token)
	before := verified(t, root)

	i.halt()
	i.env = nil
	i.up()
	var me rest.Me
	for _, bearer := range []string{alice.token, issued.Token} {
		again := *alice
		again.token = bearer
		again.want(http.StatusOK, "GET", "/me", nil, &me)
		if me.Name != "alice" || me.Roles["payments"] != "owner" {
			t.Errorf("after a crash %v is %q with the roles %v", me.Credential, me.Name, me.Roles)
		}
	}
	d.as("alice")
	file := filepath.Join(i.base, "kqueen.backup")
	if r := i.kqueen("installation", "backup", file, "--unencrypted"); r.code == 0 || !strings.Contains(r.stderr, "pg_dump") {
		t.Errorf("a backup without a word of the database: exit code %d: %s", r.code, r.stderr)
	}
	i.ok("installation", "backup", file, "--unencrypted", "--without", "database")
	if after := verified(t, root); after.Records <= before.Records {
		t.Errorf("the audit log had %d records, and after a crash and a sign-in it has %d", before.Records, after.Records)
	}
	if _, err := os.Stat(filepath.Join(i.dir, "kqueen.db")); !os.IsNotExist(err) {
		t.Errorf("there is a SQLite database, too: %v", err)
	}
	d.keep("the database's address", password)
	places := append(said(t, i), kept(t, i)...)
	d.secretsAbsent(t, append(places, dump(t, address)))
}

// verified checks the audit log.
func verified(t *testing.T, root *api) rest.AuditReport {
	t.Helper()
	var report rest.AuditReport
	root.want(http.StatusOK, "POST", "/audit/verification", nil, &report)
	if len(report.Problems) > 0 || report.Records == 0 {
		t.Errorf("the audit log has %d records and problems %v", report.Records, report.Problems)
	}
	return report
}

// dump is what upstream's program for backups reads.
func dump(t *testing.T, address *url.URL) place {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	if err != nil || len(programs) == 0 {
		t.Fatalf("no pg_dump: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), programs[len(programs)-1], "--dbname="+address.String()).Output()
	if err != nil {
		t.Fatalf("dump the database: %v", err)
	}
	if !strings.Contains(string(out), "$argon2id$") {
		t.Error("the dump has no hash of a password")
	}
	return place{"the dump of the database", out}
}
