package audit

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// newExportAuditCommand returns `audit export`.
func newExportAuditCommand(e *connection.Env) *cobra.Command {
	var file string
	var all bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the audit log of an organization, or all of it, one record per line",
		Long: `Write the audit log of an organization, with -A of the whole installation, as
lines of JSON: {"record": …} for each record, oldest first, and {"seal": …} at
the end. It is for administrators of the installation. A file is there whole, or not
at all.

"kqueen audit verify --file" checks it, on the machine of the installation.`,
		Example: "  kqueen audit export -A --file log.jsonl\n  kqueen audit export --org payments | jq -c .record.action",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			organization := e.Organization()
			if all {
				organization = ""
			}
			if file == "" {
				err = d.ExportAudit(cmd.Context(), organization, e.Stdout)
			} else {
				err = atomicfile.WriteFrom(file, 0o600, func(w io.Writer) error { // whole or not at all
					return d.ExportAudit(cmd.Context(), organization, w)
				})
			}
			if err != nil {
				return fmt.Errorf("export the audit log: %w", err)
			}
			if file != "" {
				e.Say("wrote %s", file)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&all, "all-organizations", "A", false, "the log of the whole installation")
	cmd.Flags().StringVar(&file, "file", "", "file to write it to (default standard output)")
	return cmd
}
