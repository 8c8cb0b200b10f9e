package upgrade

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
	"kqueen.io/kqueen/internal/platform/text"
)

// NewRehearsalCommand returns `rehearsal` and what is under it.
func NewRehearsalCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rehearsal",
		Aliases: []string{"rehearsals", "reh"},
		Short:   "See what rehearsals of upgrades have found",
		Long: `See what rehearsals of upgrades have found. A rehearsal tries an upgrade in a copy of
all that a cluster stores; the cluster itself is only read. It is begun with
"kqueen cluster upgrade NAME --to VERSION --rehearse", or with
"kqueen cluster rollback NAME --rehearse".`,
		Example: `  kqueen cluster upgrade demo --to v1.37.2 --rehearse --wait
  kqueen rehearsal describe demo-v1.37.2`,
	}
	command.Group(cmd)
	d := &verbs.Deletion{Env: e, Kind: kinds.Rehearsal, Content: "records"}
	remove := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm", "abort"},
		Short:   "Delete rehearsals, and end those that go on",
		Long: `Delete rehearsals. The copy of one that goes on is removed with all that runs over it;
its cluster is as it was.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen rehearsal delete demo-v1.37.2
  kqueen rehearsal abort demo-v1.37.2 --yes`,
	}
	d.Register(remove)
	cmd.AddCommand(verbs.ListCommand(e, kinds.Rehearsal), verbs.GetCommand(e, kinds.Rehearsal), newDescribeRehearsalCommand(e),
		verbs.WaitCommand(e, kinds.Rehearsal, v1alpha1.ConditionPlanned, v1alpha1.ConditionCopied, v1alpha1.ConditionRehearsed, v1alpha1.ConditionCopyRemoved), remove)
	return cmd
}

// rehearsalOf is a rehearsal of an upgrade, each time another one.
func rehearsalOf(u *v1alpha1.Upgrade) *v1alpha1.Rehearsal {
	return &v1alpha1.Rehearsal{
		ObjectMeta: metav1.ObjectMeta{Name: u.Name + "-" + rand.String(5)},
		Spec:       v1alpha1.RehearsalSpec{ClusterName: u.Spec.ClusterName, Version: u.Spec.Version, Rollback: u.Spec.Rollback},
	}
}

// rehearseUpgrade creates a rehearsal. One that is waited for shows what was found, and fails when the upgrade would.
func rehearseUpgrade(ctx context.Context, c *verbs.Creation, args []string) error {
	create, e := c.FromFlags, c.Env
	var name string
	c.Kind = kinds.Rehearsal
	c.FromFlags = func(ctx context.Context, connected *objects.Client, away error, of string) ([]client.Object, error) {
		wanted, err := create(ctx, connected, away, of)
		if len(wanted) == 1 {
			name = wanted[0].GetName()
		}
		return wanted, err
	}
	if err := c.Run(ctx, args); err != nil || !c.Waits() {
		return err
	}
	connected, err := e.Connect()
	if err != nil {
		return err
	}
	r, err := kinds.FindAs[*v1alpha1.Rehearsal](ctx, e, connected, kinds.Rehearsal, name)
	if err != nil {
		return err
	}
	for _, f := range r.Status.Findings {
		e.Say("%s", findingLine(rest.UpgradePlanFinding(f)))
	}
	if r.Status.OmittedFindings > 0 {
		e.Say("… and %d more findings", r.Status.OmittedFindings)
	}
	if n := r.Status.BlockingFindings; n > 0 {
		return fmt.Errorf("rehearse the upgrade of cluster %s: %s would block or break it", r.Spec.ClusterName, text.Count(int(n), "finding"))
	}
	return nil
}

// newDescribeRehearsalCommand returns `rehearsal describe`.
func newDescribeRehearsalCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Aliases:           []string{"show"},
		Short:             "Show what a rehearsal did in each version, and what it found",
		Example:           "  kqueen rehearsal describe demo-v1.37.2",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Rehearsal, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Connect()
			if err != nil {
				return err
			}
			r, err := kinds.FindAs[*v1alpha1.Rehearsal](ctx, e, c, kinds.Rehearsal, args[0])
			if err != nil {
				return err
			}
			p := describeRehearsal(r)
			if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, r.Name, kinds.Rehearsal.Kind)); err != nil {
				return err
			}
			return p.Print(e.Stdout)
		},
	}
}

func describeRehearsal(r *v1alpha1.Rehearsal) *describe.Page {
	p, status := &describe.Page{}, r.Status
	copied := ""
	if status.CopiedTime != nil {
		copied = fmt.Sprintf("%d objects of revision %d", status.CopiedObjects, status.Revision)
	}
	p.Fields("",
		"Name", r.Name,
		"Cluster", r.Spec.ClusterName,
		"From", status.FromVersion,
		"To", r.Spec.Version,
		"Copied", copied,
		"Control plane", status.ControlPlaneName,
		"Deleting", describe.Deleting(r),
		"Completed", describe.Ago(status.CompletionTime),
		"Next retry", describe.In(status.NextRetryTime),
	)
	if len(status.Versions) > 0 {
		p.Heading("Versions")
		p.Table(versionRows(status.Versions))
	}
	describeFindings(p, status.Findings, status.OmittedFindings)
	describe.Conditions(p, status.Status)
	return p
}

// versionRows are the versions of a rehearsal. It is pure.
func versionRows(versions []v1alpha1.RehearsedVersion) [][]string {
	rows := [][]string{{"VERSION", "STATE", "TOOK", "KINDS", "READ", "WRITTEN"}}
	for _, v := range versions {
		row := []string{v.Version, "pending", "", "", "", ""}
		switch {
		case v.FinishedTime != nil && v.StartedTime != nil:
			took := fmt.Sprintf("%ds", int64(v.FinishedTime.Sub(v.StartedTime.Time).Seconds()))
			row = []string{v.Version, "tried", took, fmt.Sprint(v.Kinds), fmt.Sprint(v.Objects), fmt.Sprint(v.Written)}
		case v.StartedTime != nil:
			row[1] = "running"
		}
		rows = append(rows, row)
	}
	return rows
}

// describeFindings shows what was found.
func describeFindings(p *describe.Page, findings []v1alpha1.UpgradeFinding, omitted int32) {
	if len(findings) == 0 {
		return
	}
	p.Heading("Findings")
	for _, f := range findings {
		p.Block(findingLine(rest.UpgradePlanFinding(f)))
	}
	if omitted > 0 {
		p.Block(fmt.Sprintf("… and %d more", omitted))
	}
}
