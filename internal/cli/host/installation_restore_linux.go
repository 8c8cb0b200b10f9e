package host

import (
	"errors"
	"fmt"
	"io"
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
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/engine/standalone"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/sealedtar"
)

// backupKeys are the flags that say what opens a backup.
type backupKeys struct{ identity, passphrase string }

func (k *backupKeys) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.identity, "identity-file", "", "file with an identity of age (AGE-SECRET-KEY-1…) that opens it")
	cmd.Flags().StringVar(&k.passphrase, "passphrase-file", "", "file whose first line is the passphrase that opens it; - to be asked, or for standard input")
	cmd.MarkFlagsMutuallyExclusive("identity-file", "passphrase-file")
}

func (k *backupKeys) read(cmd *cobra.Command, e *connection.Env, file string) ([]age.Identity, error) {
	if k.identity != "" {
		text, err := os.Open(k.identity)
		if err != nil {
			return nil, exit.Fail(exit.Usage, "--identity-file: %w", err)
		}
		defer text.Close()
		keys, err := age.ParseIdentities(text)
		if err != nil { // its error could quote a key
			return nil, exit.Fail(exit.Usage, "--identity-file: %s has no identity of age, as age-keygen writes it", k.identity)
		}
		return keys, nil
	}
	if k.passphrase == "" {
		return nil, nil
	}
	if k.passphrase == "-" && file == "-" {
		return nil, exit.UsageError(cmd, "standard input is either the backup or the passphrase; name a file for one of them")
	}
	word, err := e.SecretFromFile(cmd.Context(), k.passphrase, "passphrase", "Passphrase: ")
	if err != nil {
		return nil, err
	}
	key, err := age.NewScryptIdentity(word)
	if err != nil {
		return nil, fmt.Errorf("use the passphrase: %w", err)
	}
	return []age.Identity{key}, nil
}

// openBackup opens a file, or standard input.
func openBackup(e *connection.Env, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(e.Stdin), nil
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, exit.Fail(exit.Usage, "open the backup: %w", err)
	}
	return opened, nil
}

// explainBackup says what to do about a backup that cannot be read.
func explainBackup(file string, err error) error {
	_, hurt := errors.AsType[*sealedtar.DamagedError](err)
	switch {
	case errors.Is(err, sealedtar.ErrNeedsKey):
		return exit.Fail(exit.Usage, "%s: it is encrypted; give what opens it, by --identity-file or --passphrase-file", file)
	case errors.Is(err, sealedtar.ErrWrongKey), errors.Is(err, sealedtar.ErrForeign):
		return exit.Fail(exit.Failed, "%s: %w", file, err)
	case hurt:
		return exit.Fail(exit.Failed, "%s: %w; use another backup", file, err)
	}
	return err
}

func newInstallationRestoreCommand(e *connection.Env) *cobra.Command {
	var keys backupKeys
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup of an installation into an empty data directory",
		Long: `Create an installation from a backup, in a data directory that is not there yet or is
empty. It may be on another machine and at another path. Nothing is in its place
before the whole backup was read and found whole; a restore that was interrupted is
repeated. "kqueen up" starts the installation.

The installation that was backed up must not run any more: two of the same keys would
both change the same clusters and nodes. Nodes on its machine are created again here,
and their pods start again, without what was in local volumes. Self-managed nodes,
agents and users find it when the address, or the name, is the one of before.`,
		Example: `  kqueen installation restore kqueen.backup --passphrase-file passphrase
  kqueen installation restore kqueen.backup --identity-file key.txt --data-dir /srv/kqueen
  ssh vault cat kqueen.backup | kqueen installation restore - --identity-file key.txt`,
		Args: backupFile,
		RunE: func(cmd *cobra.Command, args []string) error { return restoreInstallation(cmd, e, &keys, args[0]) },
	}
	keys.register(cmd)
	return cmd
}

func restoreInstallation(cmd *cobra.Command, e *connection.Env, flags *backupKeys, file string) error {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	keys, err := flags.read(cmd, e, file)
	if err != nil {
		return err
	}
	from, err := openBackup(e, file)
	if err != nil {
		return err
	}
	defer from.Close()
	about, err := app.Restore(cmd.Context(), app.RestoreConfig{
		Dir: dir, Stores: standalone.New(), Version: program.Version(), Keys: keys, Report: daemon.StepPrinter(e.Stderr),
	}, from)
	if err != nil {
		return explainBackup(file, err)
	}
	e.Say("restored the installation of %s, as of %s, into %s", console.CleanLine(about.Host), console.When(about.TakenAt), dir)
	for _, warning := range restoreWarnings(about, installedHere()) {
		e.Say("warning: %s", console.CleanLine(warning))
	}
	e.Say("start it with: %s\nand with --listen ADDRESS where the address of the host is another one", e.Command("up"))
	return nil
}

// installedHere are the versions whose programs are on this machine.
func installedHere() (versions []string) {
	dir, err := release.DefaultDir()
	if err != nil {
		return nil
	}
	all, _ := release.NewStore(dir).List() // one that is damaged is to be built again in any case
	for _, binaries := range all {
		versions = append(versions, binaries.Version.String())
	}
	return versions
}

// restoreWarnings say what a restored installation lacks here. It is pure.
func restoreWarnings(about app.BackupAbout, installed []string) (warnings []string) {
	missing := slices.DeleteFunc(slices.Clone(about.Releases), func(v string) bool { return slices.Contains(installed, v) })
	if len(missing) > 0 {
		warnings = append(warnings, "these releases were there and are not here; build those that clusters run: kqueen release build "+strings.Join(missing, " "))
	}
	if slices.Contains(about.Without, app.PartDatabase) {
		warnings = append(warnings, "users, tokens and the audit log are not in it: restore the dump of PostgreSQL, and say where with KQUEEN_DATABASE, before you start KQueen")
	}
	if slices.Contains(about.Without, app.PartBackups) {
		warnings = append(warnings, "the files of backups of clusters are not in it: copy the folder backups of the data directory")
	}
	return append(warnings, "the installation on "+about.Host+" must not run any more")
}

func newInstallationVerifyCommand(e *connection.Env) *cobra.Command {
	var keys backupKeys
	var format string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Read a backup of an installation to its end, and say what is in it",
		Long: `Read a backup to its end and say what is in it. Exit code 1 means that it is
damaged, cut off or foreign, or that the key is another one. Nothing is restored.`,
		Example: `  kqueen installation verify kqueen.backup --passphrase-file passphrase
  kqueen installation verify kqueen.backup --identity-file key.txt -o json`,
		Args: backupFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return verifyInstallation(cmd, e, &keys, format, args[0])
		},
	}
	keys.register(cmd)
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

// verified is what `installation verify` prints for programs.
type verified struct {
	app.BackupAbout

	Files []sealedtar.File `json:"files"`
}

func verifyInstallation(cmd *cobra.Command, e *connection.Env, flags *backupKeys, format, file string) error {
	keys, err := flags.read(cmd, e, file)
	if err != nil {
		return err
	}
	from, err := openBackup(e, file)
	if err != nil {
		return err
	}
	defer from.Close()
	about, files, err := app.VerifyBackup(from, keys)
	if err != nil {
		return explainBackup(file, err)
	}
	if done, err := e.PrintForPrograms(format, verified{about, files}); done || err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "whole   taken %s on %s, from %s\nKQueen %s   admin plane %s\n\n", console.When(about.TakenAt),
		console.CleanLine(about.Host), console.CleanLine(about.DataDir), console.CleanLine(about.Version), console.CleanLine(about.Kubernetes))
	rows := [][]string{{"PART", "FILES", "MIB"}}
	return e.PrintData("table", nil, append(rows, partRows(about, files)...))
}

// partRows sum up the files by their folders. It is pure.
func partRows(about app.BackupAbout, files []sealedtar.File) (rows [][]string) {
	type sum struct{ files, bytes int64 }
	parts, order := map[string]sum{}, []string{}
	for _, f := range files {
		part, _, _ := strings.Cut(f.Name, "/")
		if _, ok := parts[part]; !ok {
			order = append(order, part)
		}
		parts[part] = sum{parts[part].files + 1, parts[part].bytes + f.Size}
	}
	for _, part := range order {
		rows = append(rows, []string{part, fmt.Sprint(parts[part].files), fmt.Sprintf("%.1f", float64(parts[part].bytes)/(1<<20))})
	}
	for _, part := range about.Without {
		rows = append(rows, []string{string(part), "left out", ""})
	}
	return rows
}
