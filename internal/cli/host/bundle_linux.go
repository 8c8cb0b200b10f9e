package host

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/platform/hostcheck"
	"kqueen.io/kqueen/internal/platform/redact"
)

// bundleReadme is the first file of a bundle.
const bundleReadme = `What KQueen was like when this was made, for those who look for a fault.

version.json    which program it is, and how it was built
host.json       kernel and distribution
status.json     what "kqueen status" says
checks.json     what "kqueen check" says
settings.json   ports, address, domain, networks
objects/        of every object: its name, its status and its conditions, and not its spec
events.json     what happened to them
logs/           the end of each log
problems.txt    what could not be had

Keys, tokens, passwords, kubeconfigs, Secrets and the audit log are not in it. What looks like a secret in a log
is replaced by ` + redact.Mark + `. Names of organizations, clusters and users, addresses and versions are in it.
`

// logBytes is how much of the end of each log is in a bundle.
const logBytes = 256 << 10

func newSupportBundleCommand(e *connection.Env) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect what is needed to look for a fault, without secrets",
		Long: `Collect into one file what is needed to look for a fault of this installation:
versions, status, host checks, settings, the status of every object, events, and the
end of every log. Keys, tokens, passwords, kubeconfigs, Secrets and the audit log are
not in it, and what looks like a secret in a log is replaced.

Names of organizations, clusters and users, and addresses, are in it: look through it
before you hand it on. KQueen need not run; what cannot be had is named in it.`,
		Example: `  kqueen support-bundle
  kqueen support-bundle -o fault.tar.gz
  kqueen support-bundle -o - | tar tz`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeBundle(cmd.Context(), e, file, time.Now())
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write, or - for standard output (default kqueen-support-TIME.tar.gz)")
	_ = cmd.MarkFlagFilename("output", "gz")
	return cmd
}

func writeBundle(ctx context.Context, e *connection.Env, file string, now time.Time) error {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	if !app.Used(dir) {
		return exit.Fail(exit.Failed, "KQueen is not set up in %s; start it with: %s", dir, e.Command("up"))
	}
	if file == "-" {
		return collect(ctx, e, dir, newBundle(e.Stdout, now))
	}
	if file == "" {
		file = "kqueen-support-" + now.UTC().Format("20060102T150405Z") + ".tar.gz"
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exit.Fail(exit.Usage, "--output: %s is there; choose another name", file)
	}
	if err != nil {
		return exit.Fail(exit.Usage, "--output: %w", err)
	}
	b := newBundle(out, now)
	if err := errors.Join(collect(ctx, e, dir, b), out.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	e.Say("written to %s: %d files, %d of them with problems\nsecrets are left out; names and addresses are not: look through it before you hand it on", file, b.files, len(b.problems))
	return nil
}

// bundle is an archive in the making. What cannot be had is noted, and does not end it.
type bundle struct {
	gzip     *gzip.Writer
	tar      *tar.Writer
	now      time.Time
	files    int
	problems []string
}

func newBundle(out io.Writer, now time.Time) *bundle {
	z := gzip.NewWriter(out)
	return &bundle{gzip: z, tar: tar.NewWriter(z), now: now}
}

// add puts a text into the archive, without what looks like a secret. An error is one of writing.
func (b *bundle) add(name, text string) error {
	text = redact.Text(text)
	header := &tar.Header{Name: path.Join("kqueen-support", name), Mode: 0o600, Size: int64(len(text)), ModTime: b.now, Typeflag: tar.TypeReg}
	if err := b.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if _, err := io.WriteString(b.tar, text); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	b.files++
	return nil
}

// note says that something could not be had.
func (b *bundle) note(what string, err error) { b.problems = append(b.problems, what+": "+err.Error()) }

// addJSON adds what is had, or notes why not.
func (b *bundle) addJSON(name string, data any, err error) error {
	var text []byte
	if err == nil {
		text, err = json.MarshalIndent(data, "", "  ")
	}
	if err != nil {
		b.note(name, err)
		return nil
	}
	return b.add(name, string(text)+"\n")
}

func (b *bundle) close() error { return errors.Join(b.tar.Close(), b.gzip.Close()) }

// collect fills a bundle.
func collect(ctx context.Context, e *connection.Env, dir string, b *bundle) error {
	facts := app.HostFacts(ctx, app.Config{Dir: dir})
	here, problem := readHere(ctx, e, dir)
	settings, unread := app.SupportSettings(dir)
	err := b.add("README.txt", bundleReadme)
	for _, section := range []struct {
		name string
		data any
		err  error
	}{
		{"version.json", describeBuild(), nil},
		{"host.json", describeHost(), nil},
		{"status.json", here, problem},
		{"checks.json", checkReport{usualSize().Clusters, usualSize().Nodes, hostcheck.All(facts, usualSize())}, nil},
		{"settings.json", json.RawMessage(settings), unread},
	} {
		if err == nil {
			err = b.addJSON(section.name, section.data, section.err)
		}
	}
	if err == nil {
		err = b.addObjects(ctx, dir)
	}
	if err == nil {
		err = b.addLogs(dir, here)
	}
	if err == nil && len(b.problems) > 0 {
		err = b.add("problems.txt", strings.Join(b.problems, "\n")+"\n")
	}
	return errors.Join(err, b.close())
}

// buildInfo is which program it is.
type buildInfo struct {
	Version  string            `json:"version"`
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	Settings map[string]string `json:"settings,omitempty"`
}

func describeBuild() buildInfo {
	info := buildInfo{Version: program.Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Settings: map[string]string{}}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			info.Settings[s.Key] = s.Value
		}
	}
	return info
}

// hostInfo is what the host is.
type hostInfo struct {
	Kernel       string `json:"kernel"`
	Distribution string `json:"distribution"`
	Processors   int    `json:"processors"`
	Root         bool   `json:"root"`
}

func describeHost() hostInfo {
	info := hostInfo{Processors: runtime.NumCPU(), Root: os.Geteuid() == 0}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		info.Kernel = unix.ByteSliceToString(name.Release[:]) + " " + unix.ByteSliceToString(name.Version[:])
	}
	if text, err := os.ReadFile("/etc/os-release"); err == nil {
		for line := range strings.Lines(string(text)) {
			if pretty, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
				info.Distribution = strings.Trim(strings.TrimSpace(pretty), `"`)
			}
		}
	}
	return info
}

// addLogs adds the end of every log, and what KQueen wrote when it crashed.
func (b *bundle) addLogs(dir string, here statusHere) error {
	all, err := logSources(dir, here.Status)
	if err != nil {
		b.note("logs", err)
	}
	for _, s := range all {
		text, err := endOfLog(s)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			b.note("the log of "+s.String(), err)
			continue
		}
		if err := b.add(path.Join("logs", fileName(s.Workload), fileName(s.Component)+".log"), text); err != nil {
			return err
		}
	}
	words, err := daemon.EarlierWords(dir)
	if err != nil {
		b.note("earlier crashes", err)
	}
	for _, file := range append(words, filepath.Join(filepath.Dir(daemon.ServerLog(dir)), daemon.LastWords)) {
		text, err := readEnd(os.Open(file))
		if err != nil || text == "" {
			continue // there is none, or it was removed for a newer one
		}
		if err := b.add(path.Join("logs", ownWorkload, filepath.Base(file)), text); err != nil {
			return err
		}
	}
	return nil
}

// fileName is a name of a workload as that of one file.
func fileName(name string) string { return strings.ReplaceAll(name, "/", "_") }

// endOfLog is the end of the file that a log is written to.
func endOfLog(s logSource) (string, error) { return readEnd(s.Open(s.Names[len(s.Names)-1])) }

// readEnd reads the last whole lines of a file.
func readEnd(file *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, info.Size()-logBytes)
	text, err := io.ReadAll(io.NewSectionReader(file, from, logBytes))
	if err != nil {
		return "", err
	}
	if _, whole, cut := strings.Cut(string(text), "\n"); cut && from > 0 {
		return whole, nil
	}
	return string(text), nil
}
