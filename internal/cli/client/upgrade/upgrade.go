package upgrade

import (
	"fmt"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewCommand returns `upgrade` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "upgrade",
		Aliases: []string{"upgrades", "upg"},
		Short:   "Watch, pause and end upgrades of clusters",
		Long: `Watch, pause and end upgrades of clusters to other versions of Kubernetes. They are
begun with "kqueen cluster upgrade".`,
		Example: `  kqueen cluster upgrade demo --to v1.37.2
  kqueen upgrade describe demo-v1.37.2
  kqueen upgrade pause demo-v1.37.2`,
	}
	command.Group(cmd)
	update, _ := verbs.UpdateCommand(e, kinds.Upgrade, `kqueen upgrade update demo-v1.37.2 --spec '{"ignore":["DisruptionBudgets"]}'`)
	cmd.AddCommand(verbs.ListCommand(e, kinds.Upgrade), verbs.GetCommand(e, kinds.Upgrade), newDescribeCommand(e),
		verbs.WaitCommand(e, kinds.Upgrade, v1alpha1.ConditionPlanned, v1alpha1.ConditionPreflightPassed, v1alpha1.ConditionBackedUp, v1alpha1.ConditionUpgraded),
		verbs.PauseCommand(e, kinds.Upgrade, "Keep the next step of an upgrade from beginning; one that has begun goes on", "demo-v1.37.2"),
		verbs.ResumeCommand(e, kinds.Upgrade, "Let the next step of an upgrade begin again", "demo-v1.37.2"), update, newDeleteCommand(e))
	return cmd
}

// newDescribeCommand returns `upgrade describe`.
func newDescribeCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Aliases:           []string{"show"},
		Short:             "Show the steps of an upgrade, and what stands against it",
		Example:           "  kqueen upgrade describe demo-v1.37.2",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Upgrade, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Connect()
			if err != nil {
				return err
			}
			u, err := kinds.FindAs[*v1alpha1.Upgrade](ctx, e, c, kinds.Upgrade, args[0])
			if err != nil {
				return err
			}
			p := describeUpgrade(u)
			if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, u.Name, kinds.Upgrade.Kind)); err != nil {
				return err
			}
			return p.Print(e.Stdout)
		},
	}
}

func describeUpgrade(u *v1alpha1.Upgrade) *describe.Page {
	p, status := &describe.Page{}, u.Status
	paused := ""
	if u.Spec.Paused {
		paused = "the next step does not begin; resume with: kqueen upgrade resume " + u.Name
	}
	p.Fields("",
		"Name", u.Name,
		"Cluster", u.Spec.ClusterName,
		"From", status.FromVersion,
		"To", u.Spec.Version,
		"Paused", paused,
		"Next window", describe.In(status.NextWindowTime),
		"Backup", status.BackupName,
		"Deleting", describe.Deleting(u),
		"Checked", describe.Ago(status.CheckedTime),
		"Completed", describe.Ago(status.CompletionTime),
		"Next retry", describe.In(status.NextRetryTime),
	)
	if len(status.Steps) > 0 {
		p.Heading("Steps")
		p.Table(stepRows(status.Steps))
	}
	describeFindings(p, status.Findings, status.OmittedFindings)
	describe.Conditions(p, status.Status)
	return p
}

// stepRows are the steps of an upgrade: what one waits for, or why it is there. It is pure.
func stepRows(steps []v1alpha1.UpgradeStep) [][]string {
	rows := [][]string{{"STEP", "STATE", "TOOK", "LAST TIME", "MESSAGE"}}
	for _, s := range steps {
		took, message := "", s.Message
		if s.StartedTime != nil && s.FinishedTime != nil {
			took = fmt.Sprintf("%ds", int64(s.FinishedTime.Sub(s.StartedTime.Time).Seconds()))
		}
		if message == "" {
			message = s.Why
		}
		rows = append(rows, []string{s.Name, s.State, took, lastTime(s.LastSeconds), message})
	}
	return rows
}

// newDeleteCommand returns `upgrade delete`.
func newDeleteCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.Upgrade, Content: "records"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm", "abort"},
		Short:   "Delete upgrades, and end those that go on",
		Long: `Delete upgrades. The record of one that has ended goes, and its cluster stays as it is.
One that goes on ends: while the control plane has not reached its next version, the
cluster stays at the version that it has; else what is done stays. Node pools whose
turn has not come keep their version as one of their own, and nothing further begins.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen upgrade delete demo-v1.37.2
  kqueen upgrade abort demo-v1.37.2 --yes`,
	}
	d.Register(cmd)
	return cmd
}
