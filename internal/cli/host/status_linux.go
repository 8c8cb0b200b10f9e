package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/server/status"
)

func newStatusCommand(e *connection.Env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what KQueen runs on this machine, and what it uses",
		Long: `Show what KQueen runs on this machine, cluster by cluster, and what the programs use
together. The memory is what they take from the host and share with no other.`,
		Example: `  kqueen status
  kqueen status -o json`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.AbsoluteDataDir()
			if err != nil {
				return err
			}
			here, err := readHere(cmd.Context(), e, dir)
			if err != nil {
				return err
			}
			return printStatus(e.Stdout, cmd, output, here)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return cmd
}

// readHere asks the installation in dir how it is, and looks beside it at what the owner alone can see.
func readHere(ctx context.Context, e *connection.Env, dir string) (statusHere, error) {
	found, err := status.Read(ctx, dir)
	crash, damaged := daemon.LastCrash(dir)
	if errors.Is(err, status.ErrNotRunning) {
		return statusHere{}, exit.Fail(exit.Failed, "%s%s", e.NotRunning(dir), ofCrash(crash))
	}
	if err != nil {
		return statusHere{}, err
	}
	// Without these the rest is as true: their damage is a problem of its own.
	here := statusHere{Status: found, Keeper: daemon.FindKeeper(dir), LastCrash: crash}
	if damaged != nil {
		here.Problems = append(here.Problems, damaged.Error())
	}
	if found.RestartedBy == byKeeper && here.Keeper == 0 {
		here.Warnings = append(here.Warnings, "the keeper, which starts KQueen again when it crashes, has ended; start it with: "+e.Command("up"))
	}
	authority, err := app.APIAuthority(dir)
	if err == nil {
		here.APIFingerprint, err = client.PinOf(authority)
	}
	if err != nil {
		here.Problems = append(here.Problems, err.Error())
	}
	return here, nil
}

// statusHere is what the installation tells, and what its owner tells those who sign in for the first time.
type statusHere struct {
	*status.Status
	APIFingerprint string `json:"apiFingerprint"`
	// Keeper is the process that starts KQueen again when it crashes; 0 when there is none.
	Keeper int `json:"keeper,omitempty"`
	// LastCrash is the last one of KQueen itself; nil when none is known.
	LastCrash *daemon.Crash `json:"lastCrash,omitempty"`
}

// ofCrash tells when KQueen crashed, to an owner who finds it gone.
func ofCrash(crash *daemon.Crash) string {
	if crash == nil {
		return ""
	}
	return "\nit crashed last at " + crash.String()
}

// restarts says what starts KQueen again when it crashes.
func (s statusHere) restarts() string {
	switch {
	case s.Keeper != 0:
		return fmt.Sprintf("its keeper (pid %d)", s.Keeper)
	case s.RestartedBy == bySystemd:
		return "systemd"
	}
	return "nothing that KQueen knows of"
}

func printStatus(out io.Writer, cmd *cobra.Command, format string, s statusHere) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(s)
	case "yaml":
		data, err := yaml.Marshal(s)
		if err != nil {
			return fmt.Errorf("encode the status: %w", err)
		}
		_, err = out.Write(data)
		return err
	case "table":
	default:
		return exit.UsageError(cmd, "--output: %q is not one of table, json, yaml", format)
	}
	fmt.Fprintf(out, "KQueen %s   pid %d   up %s   %s\n", s.Version, s.PID, duration.HumanDuration(time.Since(s.StartedAt)), mebibytes(s.MemoryBytes))
	fmt.Fprintf(out, "data %s   gateway %s   ingress %s   API %s\n", s.DataDir, s.Gateway, s.Ingress, s.API)
	fmt.Fprintf(out, "fingerprint of the API's authority %s\n", s.APIFingerprint)
	fmt.Fprintf(out, "restarted after a crash by %s\n", s.restarts())
	if s.LastCrash != nil {
		fmt.Fprintf(out, "last crash %s\n", console.CleanLine(s.LastCrash.String()))
	}
	if !s.Ready {
		fmt.Fprintln(out, "not everything is ready")
	}
	for _, problem := range s.Problems {
		fmt.Fprintf(out, "PROBLEM: %s\n", console.CleanLine(problem))
	}
	fmt.Fprintln(out)
	if err := printWorkloads(out, s.Workloads); err != nil || len(s.Warnings) == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "\nwarning: %s\n", strings.Join(s.Warnings, "\nwarning: "))
	return err
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
