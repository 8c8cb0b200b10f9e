package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// newExportAuditCommand returns `audit export`.
func newExportAuditCommand(e *env) *cobra.Command {
	var file string
	var all bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the action log of an organization, or all of it, a record a line",
		Long: `Write the action log of an organization, with -A of the whole installation, as
lines of JSON: {"record": …} for each record, the oldest first, and {"seal": …} at
the end. It is for administrators of the installation. A file is there whole, or not
at all.

"kqueen audit verify --file" checks it, on the machine of the installation.`,
		Example: "  kqueen audit export -A --file log.jsonl\n  kqueen audit export --org payments | jq -c .record.action",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			organization := e.organization()
			if all {
				organization = ""
			}
			if file == "" {
				err = d.ExportAudit(cmd.Context(), organization, e.stdout)
			} else {
				err = exportInto(cmd.Context(), d, organization, file)
			}
			if err != nil {
				return fmt.Errorf("export the action log: %w", err)
			}
			if file != "" {
				e.say("wrote %s", file)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&all, "all-organizations", "A", false, "the log of the whole installation")
	cmd.Flags().StringVar(&file, "file", "", "file to write it to (default standard output)")
	return cmd
}

// exportInto writes the log to a file that only its user can read, whole or not at all.
func exportInto(ctx context.Context, d *door, organization, path string) error {
	// CreateTemp makes files with mode 0600.
	out, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	err = d.ExportAudit(ctx, organization, out)
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}
