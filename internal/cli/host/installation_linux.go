package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/here"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/engine/standalone"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/sealedtar"
)

func newInstallationCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "installation",
		Short: "Back up and restore the whole installation on this machine",
		Long: `Back up and restore the whole installation on this machine: its objects and keys,
every hosted cluster, users, and the audit log. Backups of single clusters are
"kqueen backup".`,
		Example: `  kqueen installation backup kqueen.backup --passphrase-file passphrase
  kqueen installation verify kqueen.backup --passphrase-file passphrase
  kqueen installation restore kqueen.backup --passphrase-file passphrase`,
	}
	command.Group(cmd)
	cmd.AddCommand(here.Only(e, newInstallationBackupCommand(e), newInstallationRestoreCommand(e))...)
	cmd.AddCommand(newInstallationVerifyCommand(e))
	return cmd
}

// backupFile takes the one argument FILE.
func backupFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.UsageError(cmd, "%s takes one file, or - for standard input or output", cmd.CommandPath())
	}
	return nil
}

// installationBackup is one run of `installation backup`.
type installationBackup struct {
	recipients  []string
	passphrase  string
	unencrypted bool
	without     []string
}

func newInstallationBackupCommand(e *connection.Env) *cobra.Command {
	var b installationBackup
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the whole installation, while it works",
		Long: `Write one file with everything that the installation on this machine is: objects,
keys, all hosted clusters, users, tokens, the audit log, ports, settings, and what is
in the folders for backups and images. Clusters and KQueen go on meanwhile; what was
acknowledged before the command began is in the file. With - it goes to standard output.

A user who can read the file has every key: it is encrypted by age, to recipients
(age1…, by age-keygen) or with a passphrase. Keep that elsewhere than the file; without
it the backup is of no use. It is recorded in the audit log.

Not in it: the programs of releases, logs, and what is on nodes, such as local
volumes and images. Users and audit log in PostgreSQL are left out with --without
database, and dumped with pg_dump after that.`,
		Example: `  kqueen installation backup kqueen.backup --passphrase-file passphrase
  kqueen installation backup kqueen.backup --recipient age1…
  kqueen installation backup - --recipient age1… | ssh vault 'cat > kqueen.backup'`,
		Args: backupFile,
		RunE: func(cmd *cobra.Command, args []string) error { return b.run(cmd, e, args[0]) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&b.recipients, "recipient", nil, "public key of age that can open it, such as age1…; may be repeated")
	f.StringVar(&b.passphrase, "passphrase-file", "", "file whose first line is a passphrase that opens it; - to be asked, or for standard input")
	f.BoolVar(&b.unencrypted, "unencrypted", false, "do not encrypt it: users who can read the file have every key")
	f.StringSliceVar(&b.without, "without", nil, "leave a part out: backups, images, inventory, or database where that is PostgreSQL; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("recipient", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("without", command.OneOf(partNames()...))
	return cmd
}

func partNames() (names []string) {
	for _, part := range app.BackupParts() {
		names = append(names, string(part))
	}
	return names
}

func (b installationBackup) run(cmd *cobra.Command, e *connection.Env, file string) error {
	without, err := b.parts()
	if err != nil {
		return err
	}
	recipients, err := b.recipientsOf(cmd, e)
	if err != nil {
		return err
	}
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	if !app.Used(dir) {
		return exit.Fail(exit.Failed, "KQueen is not set up in %s; start it with: %s", dir, e.Command("up"))
	}
	releases, err := release.DefaultDir()
	if err != nil {
		return err
	}
	var about app.BackupAbout
	var files []sealedtar.File
	fill := func(to io.Writer) error {
		about, files, err = app.BackUp(cmd.Context(), app.BackupConfig{
			Dir: dir, Stores: standalone.New(), Version: program.Version(), Releases: releases, Without: without, Recipients: recipients,
			Report: daemon.StepPrinter(e.Stderr),
		}, to)
		return err
	}
	if err := writeBackup(e, file, fill); err != nil {
		return err
	}
	e.Say("backed up %s: %d files, %d MiB before compression; check it with: kqueen installation verify", dir, len(files), about.Bytes>>20)
	if len(recipients) == 0 {
		e.Say("warning: it is not encrypted, and has every key of the installation")
	}
	return nil
}

// writeBackup has a file filled, which is there as a whole or not at all.
func writeBackup(e *connection.Env, file string, fill func(io.Writer) error) error {
	if file == "-" {
		if console.IsTerminal(e.Stdout) {
			return exit.Fail(exit.Usage, "a backup is not for a terminal; name a file, or pipe it into a program")
		}
		return fill(e.Stdout)
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return exit.Fail(exit.Usage, "%s is there already; choose another name", file)
	}
	return atomicfile.WriteFrom(file, 0o600, fill)
}

func (b installationBackup) parts() (parts []app.BackupPart, err error) {
	for _, name := range b.without {
		if !slices.Contains(partNames(), name) {
			return nil, exit.Fail(exit.Usage, "--without: %q is no part; choose one of %s", name, strings.Join(partNames(), ", "))
		}
		parts = append(parts, app.BackupPart(name))
	}
	return parts, nil
}

// leastPassphrase is how long a passphrase is that opens every key, in bytes.
const leastPassphrase = 12

// recipientsOf are those who can open it: exactly one way is said.
func (b installationBackup) recipientsOf(cmd *cobra.Command, e *connection.Env) ([]age.Recipient, error) {
	ways := 0
	for _, said := range []bool{len(b.recipients) > 0, b.passphrase != "", b.unencrypted} {
		if said {
			ways++
		}
	}
	if ways != 1 {
		return nil, exit.UsageError(cmd, "a backup has every key of the installation: say who can open it, by --recipient or --passphrase-file, or use --unencrypted")
	}
	if b.passphrase != "" {
		word, err := e.SecretFromFile(cmd.Context(), b.passphrase, "passphrase", "Passphrase: ")
		if err != nil {
			return nil, err
		}
		if len(word) < leastPassphrase {
			return nil, exit.Fail(exit.Usage, "--passphrase-file: the passphrase has less than %d characters; want a longer one, such as five random words", leastPassphrase)
		}
		lock, err := age.NewScryptRecipient(word)
		if err != nil {
			return nil, fmt.Errorf("use the passphrase: %w", err)
		}
		return []age.Recipient{lock}, nil
	}
	var all []age.Recipient
	for _, text := range b.recipients {
		some, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, exit.Fail(exit.Usage, "--recipient: %.80q is no public key of age, such as age1… by age-keygen", text)
		}
		all = append(all, some...)
	}
	return all, nil
}
