package activity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// NewOperationCommand returns `operation` and what is under it.
func NewOperationCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "operation",
		Aliases: []string{"operations"},
		Short:   "List the operations in progress in an organization",
		Example: "  kqueen operation list --state Stalled",
	}
	command.Group(cmd)
	cmd.AddCommand(newListOperationsCommand(e))
	return cmd
}

func newListOperationsCommand(e *connection.Env) *cobra.Command {
	var format string
	filter, states := client.OperationFilter{}, []string{rest.StateRunning, rest.StateRetrying, rest.StateStalled}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "Show operations in an organization that are in progress or stalled",
		Long: `Show the operations in progress in an organization: what is being created,
changed, scaled, upgraded, backed up, restored, rotated or deleted, how far that is,
and what it waits for.`,
		Example: "  kqueen operation list --org payments\n  kqueen operation list --cluster demo --state Stalled -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			filter.State = command.InAnyCase(filter.State, states...)
			all, err := connection.Everything(cmd.Context(), func(ctx context.Context, page client.Paging) (*rest.Page[rest.Operation], error) {
				filter.Paging = page
				return d.ListOperations(ctx, e.Organization(), filter)
			})
			if err != nil {
				return fmt.Errorf("list what is being done in organization %s: %w", e.Organization(), err)
			}
			if len(all) == 0 {
				e.Say("nothing is being done in organization %s", e.Organization())
			}
			return e.PrintData(format, all, operationRows(all, time.Now()))
		},
	}
	f := cmd.Flags()
	f.StringVar(&filter.Kind, "kind", "", "only what is done to this kind of object, or by it: one of "+strings.Join(rest.KindsOfOperations(), ", "))
	f.StringVar(&filter.Cluster, "cluster", "", "only what is done to the cluster of this name")
	f.StringVar(&filter.State, "state", "", "only what is in this state: Running, Retrying or Stalled")
	_ = cmd.RegisterFlagCompletionFunc("kind", command.OneOf(rest.KindsOfOperations()...))
	_ = cmd.RegisterFlagCompletionFunc("cluster", kinds.CompleteNames(e, kinds.Cluster, -1))
	_ = cmd.RegisterFlagCompletionFunc("state", command.OneOf(states...))
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

// operationRows are operations in a table.
func operationRows(all []rest.Operation, now time.Time) [][]string {
	rows := [][]string{{"OBJECT", "ACTION", "STATE", "PROGRESS", "FOR", "MESSAGE"}}
	for i := range all {
		o := &all[i]
		progress, since := "", ""
		if o.Progress != nil {
			progress = fmt.Sprintf("%d/%d", o.Progress.Done, o.Progress.Total)
		}
		if o.LastTransitionAt != nil {
			since = duration.HumanDuration(now.Sub(*o.LastTransitionAt))
		}
		rows = append(rows, []string{o.Object.Kind + "/" + o.Object.Name, o.Action, o.State, progress, since, o.Message})
	}
	return rows
}
