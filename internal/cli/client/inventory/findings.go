package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// severities are those of findings, the worst first, as users write them.
var severities = []string{"critical", "warning", "info"}

func newFindingsCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	var failOn string
	var only []string
	cmd := &cobra.Command{
		Use:     "findings",
		Aliases: []string{"finding"},
		Short:   "List what deserves attention",
		Long: `List what deserves attention in clusters, and with -o wide what to do about it.

With --fail-on the exit code is 1 when there is something of that severity or
worse, so that a pipeline can stop. A cluster that cannot be reached is judged as
it was seen last.`,
		Example: "  kqueen inventory findings -A --severity critical\n  kqueen inventory findings --cluster shop --fail-on critical",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if q.filter.Severities, err = severitiesOf(cmd, only); err != nil {
				return err
			}
			if failOn == "" {
				return findings().run(cmd, q)
			}
			return judged(cmd, q, failOn)
		},
	}
	q.registerWhere(cmd, formats)
	q.registerAt(cmd)
	q.registerNamespace(cmd)
	cmd.Flags().StringArrayVar(&only, "severity", nil, "only findings of this severity: critical, warning or info; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("severity", command.OneOf(severities...))
	cmd.Flags().StringVar(&failOn, "fail-on", "", "exit with 1 when there is this severity or a worse one: warning or critical")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", command.OneOf("warning", "critical"))
	return cmd
}

// severitiesOf are severities as the API has them.
func severitiesOf(cmd *cobra.Command, said []string) ([]string, error) {
	var out []string
	for _, one := range said {
		lower := strings.ToLower(one)
		if !slices.Contains(severities, lower) {
			return nil, exit.UsageError(cmd, "--severity: %q has to be critical, warning or info", one)
		}
		out = append(out, strings.ToUpper(lower[:1])+lower[1:])
	}
	return out, nil
}

// judged shows findings, as many as are wanted, and fails when among all of them one is too bad.
func judged(cmd *cobra.Command, q *question, failOn string) error {
	if failOn != "warning" && failOn != "critical" {
		return exit.UsageError(cmd, "--fail-on: %q has to be warning or critical", failOn)
	}
	if len(q.filter.Severities) > 0 {
		return exit.UsageError(cmd, "--fail-on looks at findings of all severities: leave --severity out")
	}
	if err := refuseFormats(cmd, q, "--fail-on"); err != nil {
		return err
	}
	if err := q.settle(cmd, time.Now()); err != nil {
		return err
	}
	d, err := q.env.API()
	if err != nil {
		return err
	}
	page, err := findings().read(cmd.Context(), d, q.filter, maxRead)
	if err != nil {
		return fmt.Errorf("list findings: %w", err)
	}
	bad, all := tooBad(page.Items, failOn), page.Cursor == ""
	if len(page.Items) > q.limit {
		page.Items, page.Cursor = page.Items[:q.limit], "more"
	}
	if err := findings().show(q, page); err != nil {
		return err
	}
	switch {
	case bad > 0 && failOn == "critical":
		return exit.Fail(exit.Failed, "critical findings: %d", bad)
	case bad > 0:
		return exit.Fail(exit.Failed, "findings of severity %s or worse: %d", failOn, bad)
	case !all:
		return exit.Fail(exit.Failed, "there are more than %d findings, of which the rest was not looked at; narrow the question, as by --cluster", maxRead)
	}
	return nil
}

// tooBad counts findings of a severity and of worse ones. One of a severity that this program does not know is taken to be the worst.
func tooBad(all []rest.InventoryFinding, severity string) int {
	count, limit := 0, slices.Index(severities, severity)
	for _, f := range all {
		if slices.Index(severities, strings.ToLower(f.Severity)) <= limit {
			count++
		}
	}
	return count
}
