// Command generate writes the Go modules below kubernetes/, each of which builds the
// upstream programs of one Kubernetes minor, and checks that they were not changed by hand.
//
// It is for developers who add a minor or move one to a newer patch; nothing imports it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/hosting/release"
)

const example = `  # Write kubernetes/v1.35 for v1.35.4, or move it there from an older patch:
  go run ./kubernetes/generate v1.35.4

  # A minor that is older than the newest one, whose conformance tests are not run:
  go run ./kubernetes/generate --programs-only v1.34.4

  # Look at the result somewhere else first:
  go run ./kubernetes/generate --out /tmp/kubernetes v1.35.4

  # Fail if a module below kubernetes/ is not what this command would write:
  go run ./kubernetes/generate --check`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cmd := command(stdout)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return cmd.ExecuteContext(ctx)
}

func command(stdout io.Writer) *cobra.Command {
	var out, testsOut string
	var check, programsOnly bool
	programs, tests := kinds()
	cmd := &cobra.Command{
		Use:   "generate <version> | --check",
		Short: "Write the Go modules that build the programs and the tests of a Kubernetes minor",
		Long: `Write the Go modules that build the programs of a Kubernetes minor and its conformance
tests: a Go file, go.mod with the replacements that upstream's own go.mod asks for, and go.sum
by "go mod tidy", which downloads the modules. Nothing is compiled.`,
		Example:       example,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case check && len(args) > 0:
				return errors.New("--check takes no version: it checks every module below --out")
			case !check && len(args) != 1:
				return fmt.Errorf("%d versions given: give one, for example v1.35.4, or --check (see --help)", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if check {
				return errors.Join(programs.checkAll(cmd.Context(), out, stdout), tests.checkAll(cmd.Context(), testsOut, stdout))
			}
			v, err := release.ParseVersion(args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "read %s %s\n", release.KubernetesModule, v)
			up, err := readUpstream(cmd.Context(), v)
			if err != nil {
				return err
			}
			err = programs.generate(cmd.Context(), out, v, up, stdout)
			if programsOnly {
				return err
			}
			return errors.Join(err, tests.generate(cmd.Context(), testsOut, v, up, stdout))
		},
	}
	cmd.Flags().StringVar(&out, "out", "kubernetes", "folder that has a folder for every minor")
	cmd.Flags().StringVar(&testsOut, "tests-out", "test/conformance", "folder that has a folder with the conformance tests of every minor")
	cmd.Flags().BoolVar(&programsOnly, "programs-only", false, "write no module for the conformance tests, which are run with the newest minor alone")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, fail if a module differs from what would be written")
	return cmd
}
