package rotation

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewCommand returns `rotation` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rotation",
		Aliases: []string{"rotations", "rot"},
		Short:   "Watch rotations of credentials of clusters",
		Long: `Watch rotations of credentials of clusters. They are begun with "kqueen cluster rotate",
and finished with "kqueen cluster rotate finish".`,
		Example: `  kqueen cluster rotate ca demo --wait
  kqueen rotation list
  kqueen rotation describe demo-ca-x7k2f`,
	}
	command.Group(cmd)
	d := &verbs.Deletion{Env: e, Kind: kinds.Rotation, Content: "records"}
	remove := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete records of rotations",
		Long: `Delete records of rotations. What one that goes on has done stays: its cluster trusts
the old and the new credential until another rotation of the same credential, which goes
on where that one was, is finished.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen rotation delete demo-ca-x7k2f
  kqueen rotation delete demo-ca-x7k2f --yes`,
	}
	d.Register(remove)
	update, _ := verbs.UpdateCommand(e, kinds.Rotation, `kqueen rotation update demo-ca-x7k2f --spec '{"finish":true}'`)
	cmd.AddCommand(verbs.ListCommand(e, kinds.Rotation), verbs.GetCommand(e, kinds.Rotation), newDescribeCommand(e),
		verbs.WaitCommand(e, kinds.Rotation, v1alpha1.ConditionNewTrusted, v1alpha1.ConditionNewSigns, v1alpha1.ConditionNewServes, v1alpha1.ConditionOldRemoved),
		update, remove)
	return cmd
}

// newDescribeCommand returns `rotation describe`.
func newDescribeCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Aliases:           []string{"show"},
		Short:             "Show how far a rotation is, and what still depends on the old credential",
		Example:           "  kqueen rotation describe demo-ca-x7k2f",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Rotation, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Connect()
			if err != nil {
				return err
			}
			r, err := kinds.FindAs[*v1alpha1.Rotation](ctx, e, c, kinds.Rotation, args[0])
			if err != nil {
				return err
			}
			p := describeRotation(r)
			if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, r.Name, kinds.Rotation.Kind)); err != nil {
				return err
			}
			return p.Print(e.Stdout)
		},
	}
}

func describeRotation(r *v1alpha1.Rotation) *describe.Page {
	p, status := &describe.Page{}, r.Status
	finish := "no; finish with: kqueen cluster rotate finish " + r.Spec.ClusterName
	if r.Spec.Finish {
		finish = "yes"
	}
	p.Fields("",
		"Name", r.Name,
		"Cluster", r.Spec.ClusterName,
		"Credential", string(r.Spec.Credential),
		"Finish", finish,
		"Step", string(status.Step),
		"Old", status.OldFingerprint,
		"New", status.NewFingerprint,
		"Nodes behind", strings.Join(status.PendingMachines, ", "),
		"Older pods", olderPods(status),
		"Signs since", describe.Ago(status.SignsTime),
		"Deleting", describe.Deleting(r),
		"Completed", describe.Ago(status.CompletionTime),
		"Next retry", describe.In(status.NextRetryTime),
	)
	describe.Conditions(p, status.Status)
	return p
}

// olderPods are those that may trust the old authority alone. It is pure.
func olderPods(s v1alpha1.RotationStatus) string {
	if s.OlderPods == 0 {
		return ""
	}
	text := fmt.Sprintf("%d: %s", s.OlderPods, strings.Join(s.OlderPodNames, ", "))
	if int(s.OlderPods) > len(s.OlderPodNames) {
		text += ", …"
	}
	return text
}
