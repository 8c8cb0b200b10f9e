package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/platform/sealedtar"
)

// written is a file with that content.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func called(t *testing.T) *cobra.Command {
	t.Helper()
	cmd := &cobra.Command{Use: "backup"}
	cmd.SetContext(t.Context())
	return cmd
}

// TestWhoCanOpen: who can open a backup is said in exactly one way, and an error repeats no secret.
func TestWhoCanOpen(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	public := key.Recipient().String()
	phrase := written(t, "five words that are no secret\n")
	cases := map[string]struct {
		said  installationBackup
		count int
		want  string
	}{
		"two recipients":     {installationBackup{recipients: []string{public, public}}, 2, ""},
		"a passphrase":       {installationBackup{passphrase: phrase}, 1, ""},
		"unencrypted":        {installationBackup{unencrypted: true}, 0, ""},
		"nothing":            {installationBackup{}, 0, "say who can open it"},
		"two ways":           {installationBackup{passphrase: phrase, unencrypted: true}, 0, "say who can open it"},
		"a short passphrase": {installationBackup{passphrase: written(t, "s3cret")}, 0, "less than 12 characters"},
		"a secret key":       {installationBackup{recipients: []string{"x"}}, 0, "no public key of age"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := c.said.recipientsOf(called(t), connection.New(strings.NewReader(""), io.Discard, io.Discard))
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret")) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if len(got) != c.count {
				t.Errorf("%d can open it, want %d", len(got), c.count)
			}
		})
	}
	if _, err := (installationBackup{without: []string{"keys"}}).parts(); err == nil || !strings.Contains(err.Error(), "backups, images, inventory, database") {
		t.Errorf("without keys: %v", err)
	}
}

// TestWhatOpens: keys come from files, and what is none is not repeated.
func TestWhatOpens(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	e := connection.New(strings.NewReader(""), io.Discard, io.Discard)
	for name, c := range map[string]struct {
		keys backupKeys
		file string
		want string
	}{
		"an identity":        {backupKeys{identity: written(t, "# created\n"+key.String()+"\n")}, "f", ""},
		"a passphrase":       {backupKeys{passphrase: written(t, "five words")}, "f", ""},
		"no identity":        {backupKeys{identity: written(t, "AGE-SECRET-KEY-1S3CRET")}, "f", "has no identity of age"},
		"no file":            {backupKeys{identity: "/nowhere/key.txt"}, "f", "--identity-file"},
		"both from one pipe": {backupKeys{passphrase: "-"}, "-", "either the backup or the passphrase"},
	} {
		got, err := c.keys.read(called(t), e, c.file)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "S3CRET")) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if err == nil && len(got) != 1 {
			t.Errorf("%s: %d keys", name, len(got))
		}
	}
}

// TestWriteBackup: a backup is there as a whole or not at all, and never in the place of another file.
func TestWriteBackup(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kqueen.backup")
	e := connection.New(strings.NewReader(""), io.Discard, io.Discard)
	failed := errors.New("etcd is gone")
	err := writeBackup(e, file, func(w io.Writer) error {
		_, err := w.Write([]byte("half"))
		return errors.Join(err, failed)
	})
	if left, read := os.ReadDir(dir); !errors.Is(err, failed) || len(left) != 0 || read != nil {
		t.Errorf("got %v, and there are %v (%v)", err, left, read)
	}
	whole := func(w io.Writer) error { _, err := w.Write([]byte("whole")); return err }
	if err := writeBackup(e, file, whole); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v (%v), want 0600", info.Mode(), err)
	}
	if err := writeBackup(e, file, whole); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over a file: %v", err)
	}
}

// TestExplainBackup: each of the ways in which a backup cannot be read has words of its own.
func TestExplainBackup(t *testing.T) {
	for want, err := range map[string]error{
		"give what opens it": sealedtar.ErrNeedsKey, "another passphrase": sealedtar.ErrWrongKey, "another kind of file": sealedtar.ErrForeign,
		"use another backup": &sealedtar.DamagedError{Problem: "it is cut off"}, "context canceled": context.Canceled,
	} {
		if got := explainBackup("f", err).Error(); !strings.Contains(got, want) {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}

// TestVerifyInstallation: a backup says what is in it, for users and for programs.
func TestVerifyInstallation(t *testing.T) {
	var file bytes.Buffer
	about := app.BackupAbout{Host: "h1", DataDir: "/var/lib/kqueen", Version: "v1.2.3", Kubernetes: "v1.36.3", Without: []app.BackupPart{app.PartImages}}
	err := sealedtar.Write(&file, app.BackupKind, about, nil, func(w *sealedtar.Writer) error {
		return errors.Join(w.Add("keys/a", 1, strings.NewReader("a")), w.Add("keys/b", 1<<20, strings.NewReader(strings.Repeat("b", 1<<20))), w.Add("kqueen.db", 0, strings.NewReader("")))
	})
	if err != nil {
		t.Fatal(err)
	}
	path := written(t, file.String())
	for format, want := range map[string]string{
		"table": "whole   taken 0001-01-01T00:00:00Z on h1, from /var/lib/kqueen\nKQueen v1.2.3   admin plane v1.36.3\n\n" +
			"PART        FILES      MIB\nkeys        2          1.0\nkqueen.db   1          0.0\nimages      left out   -\n",
		"json": `"name": "keys/a"`,
	} {
		var out bytes.Buffer
		e := connection.New(strings.NewReader(""), &out, io.Discard)
		if err := verifyInstallation(called(t), e, &backupKeys{}, format, path); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); format == "table" && got != want || !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", format, cmp.Diff(want, got))
		}
	}
}

func TestRestoreWarnings(t *testing.T) {
	about := app.BackupAbout{Host: "h1", Releases: []string{"v1.35.4", "v1.36.3"}, Without: []app.BackupPart{app.PartDatabase, app.PartBackups}}
	all := strings.Join(restoreWarnings(about, []string{"v1.36.3"}), "\n")
	for _, want := range []string{"kqueen release build v1.35.4", "KQUEEN_DATABASE", "copy the folder backups", "installation on h1 must not run"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not said:\n%s", want, all)
		}
	}
	if got := restoreWarnings(app.BackupAbout{Host: "h1"}, nil); len(got) != 1 {
		t.Errorf("of a whole one: %v", got)
	}
}
