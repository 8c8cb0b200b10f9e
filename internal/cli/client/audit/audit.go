package audit

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// verifier checks an export with the key of its installation, and says whether it holds the whole log.
type verifier func(from io.Reader) (report *rest.AuditReport, complete bool, err error)

// NewCommand returns `audit` and what is under it.
func NewCommand(e *connection.Env, verify verifier) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read and verify the audit log",
		Example: `  kqueen audit list --org blue --since 24h
  kqueen audit export -A --file log.jsonl
  kqueen audit verify`,
	}
	command.Group(cmd)
	cmd.AddCommand(newListAuditCommand(e), newExportAuditCommand(e), newVerifyAuditCommand(e, verify))
	return cmd
}

// auditList is one run of `audit list`.
type auditList struct {
	env    *connection.Env
	filter client.AuditFilter
	since  time.Duration
	limit  int
	all    bool
	format string
}

func newListAuditCommand(e *connection.Env) *cobra.Command {
	l := &auditList{env: e}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List records of the audit log, newest first",
		Long: `Show what was done in an organization, newest first; with -A in the whole
installation, which is for its administrators.`,
		Example: "  kqueen audit list --org blue --since 24h\n  kqueen audit list -A --actor alice --outcome denied -o json",
		Args:    command.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}
	f := cmd.Flags()
	f.BoolVarP(&l.all, "all-organizations", "A", false, "the log of the whole installation")
	f.StringVar(&l.filter.Actor, "actor", "", "only what this user or service account did")
	f.StringVar(&l.filter.Action, "action", "", "only this action, such as create")
	f.StringVar(&l.filter.Kind, "kind", "", "only what was done to this kind of object, such as Cluster")
	f.StringVar(&l.filter.Object, "object", "", "only what was done to the object of this name")
	f.StringVar(&l.filter.Outcome, "outcome", "", "only this outcome: succeeded, denied, failed or unknown")
	f.DurationVar(&l.since, "since", 0, "only what was done since, such as 24h for the last day")
	f.IntVar(&l.limit, "limit", 100, "maximum number of records")
	_ = cmd.RegisterFlagCompletionFunc("outcome", command.OneOf("succeeded", "denied", "failed", "unknown"))
	command.RegisterOutput(cmd, &l.format, "table", console.DataFormats)
	return cmd
}

func (l *auditList) run(cmd *cobra.Command) error {
	if l.limit < 1 || l.since < 0 {
		return exit.UsageError(cmd, "--limit must be 1 or more, and --since not negative")
	}
	d, err := l.env.API()
	if err != nil {
		return err
	}
	if l.since > 0 {
		l.filter.Since = time.Now().Add(-l.since)
	}
	records, err := l.read(cmd.Context(), d)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	if len(records) == 0 {
		l.env.Say("no records")
	}
	rows := [][]string{{"SEQUENCE", "TIME", "ACTOR", "ACTION", "OBJECT", "ORGANIZATION", "OUTCOME"}}
	for i := range records {
		r := &records[i]
		actor := r.Actor.Name
		if actor == "" {
			actor = r.Actor.Kind
		}
		rows = append(rows, []string{
			strconv.FormatInt(r.Sequence, 10), console.When(r.Time), actor, r.Action, strings.TrimSuffix(r.Object.Kind+"/"+r.Object.Name, "/"), r.Organization, r.Outcome,
		})
	}
	return l.env.PrintData(l.format, records, rows)
}

// read reads pages until there are as many records as are wanted.
func (l *auditList) read(ctx context.Context, d *connection.API) ([]rest.AuditRecord, error) {
	records := []rest.AuditRecord{}
	for len(records) < l.limit {
		l.filter.Limit = min(l.limit-len(records), 500)
		var page *rest.Page[rest.AuditRecord]
		var err error
		if l.all {
			page, err = d.ListAudit(ctx, l.filter)
		} else {
			page, err = d.ListOrganizationAudit(ctx, l.env.Organization(), l.filter)
		}
		if err != nil {
			return nil, err
		}
		records = append(records, page.Items...)
		switch page.Cursor {
		case "":
			return records, nil
		case l.filter.Cursor: // it would be asked for again and again
			return nil, fmt.Errorf("the list does not end after %d records", len(records))
		}
		l.filter.Cursor = page.Cursor
	}
	return records, nil
}

func newVerifyAuditCommand(e *connection.Env, verify verifier) *cobra.Command {
	var format, head, file string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the audit log was not changed",
		Long: `Check that the audit log of the installation was not changed, and print its
head: how many records there are, and the hash of the last one. Keep the head
elsewhere: with --head the log is also checked to go on from there, so that
nothing was removed from its end. Exit code 1 means that something is wrong.

With --file it is an export that is checked ("kqueen audit export"), with the key
in the data directory: on the machine of the installation, as its owner. KQueen
need not run.`,
		Example: "  kqueen audit verify\n  kqueen audit verify --head 42:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			expect, err := parseHead(cmd, head)
			if err != nil {
				return err
			}
			if file != "" {
				return verifyFile(cmd, e, verify, file, format, expect)
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			report, err := d.VerifyAudit(cmd.Context(), expect)
			if err != nil {
				return fmt.Errorf("check the audit log: %w", err)
			}
			return printReport(e, format, report)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "export to check instead of the log itself")
	cmd.Flags().StringVar(&head, "head", "", "earlier head of the log: SEQUENCE:HASH")
	_ = cmd.RegisterFlagCompletionFunc("head", command.NoCompletion)
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

// verifyFile checks an export, which is complete in itself.
func verifyFile(cmd *cobra.Command, e *connection.Env, verify verifier, path, format string, expect *rest.AuditHead) error {
	if expect != nil {
		return exit.UsageError(cmd, "--head is for the log itself; an export says what its head is")
	}
	from, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("check the export: %w", err)
	}
	defer func() { _ = from.Close() }() // It was only read.
	report, complete, err := verify(from)
	if err != nil {
		return fmt.Errorf("check the export: %w", err)
	}
	if !complete {
		e.Say("the export is of a part of the log: that records of others lie between is not seen in it")
	}
	return printReport(e, format, report)
}

// parseHead reads SEQUENCE:HASH; nil for nothing.
func parseHead(cmd *cobra.Command, text string) (*rest.AuditHead, error) {
	if text == "" {
		return nil, nil
	}
	number, hash, ok := strings.Cut(text, ":")
	sequence, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || sequence < 0 || hash == "" {
		return nil, exit.UsageError(cmd, "--head: %q: must be SEQUENCE:HASH, as kqueen audit verify prints it", text)
	}
	return &rest.AuditHead{Sequence: sequence, Hash: hash}, nil
}

func printReport(e *connection.Env, format string, report *rest.AuditReport) error {
	done, err := e.PrintForPrograms(format, report)
	if err == nil && !done {
		_, err = fmt.Fprintf(e.Stdout, "%d:%s\n", report.Head.Sequence, console.CleanLine(report.Head.Hash))
	}
	if err != nil || len(report.Problems) == 0 {
		return err
	}
	var lines []string
	for _, p := range report.Problems {
		lines = append(lines, "  "+console.CleanLine(p.Detail))
	}
	if report.More {
		lines = append(lines, "  and more")
	}
	return exit.Fail(exit.Failed, "the audit log is not whole:\n%s", strings.Join(lines, "\n"))
}
