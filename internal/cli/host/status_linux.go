package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/server/status"
)

func newStatusCommand(e *connection.Env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what KQueen runs on this machine, and what it uses",
		Example: `  kqueen status
  kqueen status -o json`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.AbsoluteDataDir()
			if err != nil {
				return err
			}
			found, err := status.Read(cmd.Context(), dir)
			if errors.Is(err, status.ErrNotRunning) {
				return exit.Fail(exit.Failed, "%s", e.NotRunning(dir))
			}
			if err != nil {
				return err
			}
			// Without it the rest is as true: its damage is a problem of its own.
			here := statusHere{Status: found}
			authority, err := app.APIAuthority(dir)
			if err == nil {
				here.APIFingerprint, err = client.PinOf(authority)
			}
			if err != nil {
				here.Problems = append(here.Problems, err.Error())
			}
			return printStatus(e.Stdout, cmd, output, here)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return cmd
}

// statusHere is what the installation tells, and what its owner tells those who sign in for the first time.
type statusHere struct {
	*status.Status
	APIFingerprint string `json:"apiFingerprint"`
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
	fmt.Fprintf(out, "data %s   gateway %s   API %s\n", s.DataDir, s.Gateway, s.API)
	fmt.Fprintf(out, "fingerprint of the API's authority %s\n", s.APIFingerprint)
	if !s.Ready {
		fmt.Fprintln(out, "not everything is ready")
	}
	for _, problem := range s.Problems {
		fmt.Fprintf(out, "PROBLEM: %s\n", console.CleanLine(problem))
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "WORKLOAD\tCOMPONENT\tSTATE\tPID\tRESTARTS\tMEMORY\tCPU")
	for _, workload := range s.Workloads {
		for _, c := range workload.Components {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%.1fs\n", console.Clean(workload.Name), c.Name, c.State, c.PID, c.Restarts, mebibytes(c.MemoryBytes), c.CPUSeconds)
		}
	}
	if err := w.Flush(); err != nil || len(s.Warnings) == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "\nwarning: %s\n", strings.Join(s.Warnings, "\nwarning: "))
	return err
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
