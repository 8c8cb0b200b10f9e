package host

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/server/status"
)

// unitTemplate is the unit of systemd for a kqueen in /usr/local/bin with root's usual data directory. deploy/ has the same file.
//
//go:embed kqueen.service
var unitTemplate string

const (
	unitName    = "kqueen.service"
	unitProgram = "ExecStart=/usr/local/bin/kqueen up --foreground"
)

// releasesVariable says where programs are kept; a unit has none of its user's variables.
const releasesVariable = "KQUEEN_RELEASES"

// systemd is the one of this host. Tests give it other places.
type systemd struct {
	// booted is a folder that is there when systemd runs, units has the administrator's units, and control is systemctl.
	booted, units, control string
}

func hostSystemd() systemd {
	return systemd{booted: "/run/systemd/system", units: "/etc/systemd/system", control: "systemctl"}
}

// unit is the file for a program and a data directory. It is pure.
func unit(program, dir, releases string) string {
	start := "ExecStart=" + unitWord(program) + " up --foreground --data-dir=" + unitWord(dir)
	if releases != "" {
		start = "Environment=" + unitWord(releasesVariable+"="+releases) + "\n" + start
	}
	return strings.Replace(unitTemplate, unitProgram, start, 1)
}

// unitWord writes a word as a unit takes it: systemd.service(5), quoting. It is pure.
func unitWord(word string) string {
	word = strings.NewReplacer("%", "%%", "$", "$$", `\`, `\\`, `"`, `\"`).Replace(word)
	if strings.ContainsAny(word, " \t'\"\\") {
		return `"` + word + `"`
	}
	return word
}

// able says why KQueen cannot be a service of this host.
func (s systemd) able() error {
	if os.Geteuid() != 0 {
		return exit.Fail(exit.Denied, "--systemd: units are installed by root alone; run kqueen up as root, or without --systemd")
	}
	if _, err := os.Stat(s.booted); err != nil {
		return exit.Fail(exit.Failed, "--systemd: systemd does not run on this host (there is no %s); leave it out, and KQueen has a keeper that starts it again when it crashes", s.booted)
	}
	return nil
}

// file is that of the unit.
func (s systemd) file() string { return filepath.Join(s.units, unitName) }

// has says whether the unit starts a KQueen on a data directory.
func (s systemd) has(dir string) (bool, error) {
	text, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return strings.Contains(string(text), " --data-dir="+unitWord(dir)+"\n"), err
}

// run calls systemctl.
func (s systemd) run(ctx context.Context, args ...string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, s.control, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s; see: journalctl -u %s", s.control, strings.Join(args, " "), err, strings.TrimSpace(said.String()), unitName)
	}
	return nil
}

// install writes the unit for a program, and has it start with the host.
func (s systemd) install(ctx context.Context, program, dir string) error {
	if _, err := os.Stat(s.file()); err == nil {
		if ours, err := s.has(dir); err != nil || !ours {
			return errors.Join(exit.Fail(exit.Failed, "--systemd: %s is there, and not for %s; remove it first, or edit it", s.file(), dir), err)
		}
	}
	if err := atomicfile.Write(s.file(), []byte(unit(program, dir, os.Getenv(releasesVariable))), 0o644); err != nil {
		return fmt.Errorf("write the unit: %w", err)
	}
	if err := s.run(ctx, "daemon-reload"); err != nil {
		return err
	}
	return s.run(ctx, "enable", unitName)
}

// startAsService starts KQueen, or finds it running, and makes a service of it. What was said of it holds for the service: it is
// kept in the data directory.
func startAsService(ctx context.Context, e *connection.Env, flags upFlags, s systemd) error {
	if err := s.able(); err != nil {
		return err
	}
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	if err := startInBackground(ctx, e, flags); err != nil {
		return err
	}
	if err := invite(ctx, e); err != nil {
		return err
	}
	return moveToSystemd(ctx, e, dir, s)
}

// moveToSystemd makes a service of a KQueen that runs: its keeper and the server end, and systemd starts it. What it runs goes on.
func moveToSystemd(ctx context.Context, e *connection.Env, dir string, s systemd) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if err := s.install(ctx, program, dir); err != nil {
		return err
	}
	found, err := status.Read(ctx, dir)
	if err == nil && found.RestartedBy == bySystemd {
		e.Say("%s is installed, and KQueen is that service already", s.file())
		return nil
	}
	if err := stopServer(ctx, dir); err != nil {
		return err
	}
	if err := s.run(ctx, "restart", unitName); err != nil {
		return fmt.Errorf("%w\nits clusters go on; start KQueen again without systemd with: %s", err, e.Command("up"))
	}
	e.Say("%s is installed: systemd starts KQueen with this host, and again when it crashes. Take it back with:\n  systemctl disable --now %s && rm %s", s.file(), unitName, s.file())
	return nil
}

// tellOfUnit says that systemd starts KQueen again with the host, to an owner who has just removed all of it.
func tellOfUnit(e *connection.Env, dir string, s systemd) {
	if ours, err := s.has(dir); err == nil && ours {
		e.Say("note: systemd starts KQueen again with this host; to keep it from that: systemctl disable %s && rm %s", unitName, s.file())
	}
}
