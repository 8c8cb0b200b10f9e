package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

// newOperationCommand returns `operation` and what is under it.
func newOperationCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "operation",
		Aliases: []string{"operations"},
		Short:   "What is being done in an organization now",
		Example: "  kqueen operation list --state stalled",
	}
	asGroup(cmd)
	cmd.AddCommand(newListOperationsCommand(e))
	return cmd
}

func newListOperationsCommand(e *env) *cobra.Command {
	var format string
	filter := client.OperationFilter{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "Show what is being done in an organization now, and what does not get on",
		Long: `Show what is being done to the objects of an organization now: what is made,
changed, scaled, upgraded or deleted, how far that is, and what it waits for. It
goes through the door (see "kqueen login").`,
		Example: "  kqueen operation list --org payments\n  kqueen operation list --cluster demo --state stalled -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			all, err := everything(cmd.Context(), func(ctx context.Context, page client.Paging) (*rest.Page[rest.Operation], error) {
				filter.Paging = page
				return d.ListOperations(ctx, e.organization(), filter)
			})
			if err != nil {
				return fmt.Errorf("list what is being done in organization %s: %w", e.organization(), err)
			}
			if len(all) == 0 {
				e.say("nothing is being done in organization %s", e.organization())
			}
			return e.printData(format, all, operationRows(all, time.Now()))
		},
	}
	f := cmd.Flags()
	f.StringVar(&filter.Kind, "kind", "", "only what is done to this kind of object: Cluster, NodePool or Machine")
	f.StringVar(&filter.Cluster, "cluster", "", "only what is done to the cluster of this name")
	f.StringVar(&filter.State, "state", "", "only what is in this state: running, retrying or stalled")
	_ = cmd.RegisterFlagCompletionFunc("kind", oneOf(clusterNoun.kind, nodePoolNoun.kind, machineNoun.kind))
	_ = cmd.RegisterFlagCompletionFunc("cluster", e.completeNames(clusterNoun, -1))
	_ = cmd.RegisterFlagCompletionFunc("state", oneOf(rest.StateRunning, rest.StateRetrying, rest.StateStalled))
	registerOutput(cmd, &format, "table", dataFormats)
	return cmd
}

// operationRows are operations for people.
func operationRows(all []rest.Operation, now time.Time) [][]string {
	rows := [][]string{{"OBJECT", "ACTION", "STATE", "PROGRESS", "FOR", "MESSAGE"}}
	for i := range all {
		o := &all[i]
		progress, since := "", ""
		if o.Progress != nil {
			progress = fmt.Sprintf("%d/%d", o.Progress.Done, o.Progress.Total)
		}
		if o.Since != nil {
			since = duration.HumanDuration(now.Sub(*o.Since))
		}
		rows = append(rows, []string{o.Object.Kind + "/" + o.Object.Name, o.Action, o.State, progress, since, o.Message})
	}
	return rows
}
