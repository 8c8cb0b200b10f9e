package backup

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewRestoreCommand returns `restore` and what is under it.
func NewRestoreCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "restore",
		Aliases: []string{"restores", "rst"},
		Short:   "Bring clusters back to the state of a backup, or create new ones of it",
		Long: `Bring clusters back to the state of a backup, or see what that would change. What the
cluster was before is backed up first, so that a restore can be undone by another one.
Or create a new cluster of a backup, under another name.`,
		Example: `  kqueen restore create see --backup monday --compare-only --wait
  kqueen restore create back-to-monday --backup monday --wait
  kqueen restore create again --backup monday --new-cluster demo2 --wait`,
	}
	command.Group(cmd)
	cmd.AddCommand(newCreateRestoreCommand(e), verbs.ListCommand(e, kinds.Restore), verbs.GetCommand(e, kinds.Restore), newDescribeRestoreCommand(e),
		verbs.WaitCommand(e, kinds.Restore, v1alpha1.ConditionBackupWhole, v1alpha1.ConditionControlPlaneStopped, v1alpha1.ConditionStateSaved,
			v1alpha1.ConditionStateWritten, v1alpha1.ConditionServing), newDeleteRestoreCommand(e))
	return cmd
}

// newCreateRestoreCommand returns `restore create`.
func newCreateRestoreCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.Restore}
	restore, of, at, sure := &v1alpha1.Restore{}, &v1alpha1.Backup{}, "", false
	c.FromFlags = func(ctx context.Context, connected *objects.Client, _ error, name string) ([]client.Object, error) {
		restore.ObjectMeta = metav1.ObjectMeta{Name: name}
		wanted := []client.Object{restore}
		kind, named := kinds.Backup, restore.Spec.BackupName
		if at != "" { // the backup of the moment is made first
			of.Name, restore.Spec.BackupName = name, name
			wanted, kind, named = []client.Object{of, restore}, kinds.Cluster, of.Spec.ClusterName
		}
		if c.DryRun == verbs.DryRunClient {
			return wanted, nil
		}
		_, err := kinds.Find(ctx, e, connected, kind, named)
		if objects.IsForbidden(err) { // the server judges the rest
			err = nil
		}
		return wanted, err
	}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Restore a cluster in place or as a new one, or compare it with a backup",
		Long: `Restore the cluster that a backup was taken of, in place. Its API server does not answer
meanwhile. What was written since the backup is lost, but for the backup of the state
before that the restore makes. Nodes, Events and volumes stay as they are.

With --cluster and --at it is restored to a moment between backups, such as 10m ago: a
backup of that moment is made first, of the same name (see "backup create --help").

With --include only some objects are restored, and everything else stays as it is: each
is KIND/NAMESPACE/NAME, or KIND/NAME for one in no namespace; * is all names of a kind,
and Namespace/NAME a namespace with all that is in it.

With --new-cluster the backup is restored as a new cluster of that name, with keys,
certificates, an endpoint and tokens of its own, without nodes and with new volumes. The
cluster that it was taken of may be gone; where it is there, it goes on as it is.

With --compare-only nothing is changed and nothing stopped: "restore describe" shows
what a restore would change, or what a new cluster would get.

Before a cluster is changed you are asked; without a terminal, --yes is required.`,
		Example: `  kqueen restore create see --backup monday --compare-only --wait
  kqueen restore create back-to-monday --backup monday --yes --wait
  kqueen restore create undo --cluster demo --at 10m --compare-only --wait
  kqueen restore create shop --backup monday --include Namespace/shop --wait
  kqueen restore create key --backup monday --include Secret/shop/key --compare-only
  kqueen restore create again --backup monday --new-cluster demo2 --wait`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Check(cmd, args); err != nil {
				return err
			}
			if c.File == "" && (restore.Spec.BackupName == "") == (at == "") {
				return exit.UsageError(cmd, "name the backup with --backup, or a moment with --cluster and --at")
			}
			if (at == "") != (of.Spec.ClusterName == "") {
				return exit.UsageError(cmd, "--cluster and --at go together")
			}
			if err := newClusterFlags(cmd, restore); err != nil {
				return err
			}
			if err := setMoment(cmd, of, at); err != nil {
				return err
			}
			if err := confirmRestore(cmd, c, restore, of, sure); err != nil {
				return err
			}
			return c.Run(cmd.Context(), args)
		},
	}
	registerRestoreFlags(e, cmd, restore, of)
	registerAt(cmd, &at)
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	c.Excludes = []string{"backup", "compare-only", "include", "cluster", "at", "store", "new-cluster", "new-cluster-version"}
	c.Register(cmd)
	return cmd
}

// registerRestoreFlags adds those that say what is restored.
func registerRestoreFlags(e *connection.Env, cmd *cobra.Command, restore *v1alpha1.Restore, of *v1alpha1.Backup) {
	cmd.Flags().StringVar(&restore.Spec.BackupName, "backup", "", "backup that is restored")
	cmd.Flags().StringVar(&of.Spec.ClusterName, "cluster", "", "cluster that is restored to a moment, with --at")
	cmd.Flags().StringVar(&of.Spec.StoreName, "store", "", "backup store in which its changes are recorded (default \"default\")")
	cmd.Flags().BoolVar(&restore.Spec.CompareOnly, "compare-only", false, "say what a restore would change, and change nothing")
	cmd.Flags().StringSliceVar(&restore.Spec.Include, "include", nil, "object to restore, such as Secret/shop/key; may be repeated")
	cmd.Flags().StringVar(&restore.Spec.NewClusterName, "new-cluster", "", "name of a new cluster that is created of the backup")
	cmd.Flags().StringVar(&restore.Spec.NewClusterVersion, "new-cluster-version", "", "version of Kubernetes of the new cluster (default that of the backup)")
	_ = cmd.RegisterFlagCompletionFunc("new-cluster", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("new-cluster-version", kinds.CompleteNames(e, kinds.Release, -1))
	_ = cmd.RegisterFlagCompletionFunc("backup", kinds.CompleteNames(e, kinds.Backup, -1))
	_ = cmd.RegisterFlagCompletionFunc("cluster", kinds.CompleteNames(e, kinds.Cluster, -1))
	_ = cmd.RegisterFlagCompletionFunc("store", kinds.CompleteNames(e, kinds.BackupStore, -1))
}

// newClusterFlags says what does not go with a new cluster.
func newClusterFlags(cmd *cobra.Command, restore *v1alpha1.Restore) error {
	switch {
	case restore.Spec.NewClusterName == "" && restore.Spec.NewClusterVersion != "":
		return exit.UsageError(cmd, "--new-cluster-version goes with --new-cluster")
	case restore.Spec.NewClusterName != "" && len(restore.Spec.Include) > 0:
		return exit.UsageError(cmd, "a new cluster gets all of the backup: leave out --include, or --new-cluster")
	}
	return nil
}

// confirmRestore asks before a cluster is changed.
func confirmRestore(cmd *cobra.Command, c *verbs.Creation, restore *v1alpha1.Restore, of *v1alpha1.Backup, sure bool) error {
	if restore.Spec.CompareOnly || restore.Spec.NewClusterName != "" || c.DryRun != "none" {
		return nil
	}
	what := "the backups of " + c.File
	switch {
	case of.Spec.AsOfTime != nil:
		what = "cluster " + of.Spec.ClusterName + " as of " + moment(of.Spec.AsOfTime)
	case c.File == "":
		what = "backup " + restore.Spec.BackupName
	}
	if err := c.Env.Confirmable(cmd, sure, "restore"); err != nil {
		return err
	}
	lost := "What was written to the cluster since then"
	if len(restore.Spec.Include) > 0 {
		lost, what = "What was written to them since then", strings.Join(restore.Spec.Include, ", ")+" from "+what
	}
	return c.Env.Confirmed(cmd, sure, "restore", fmt.Sprintf("Restore %s? %s is lost, and the cluster takes no other writes meanwhile.", what, lost))
}

// newDescribeRestoreCommand returns `restore describe`.
func newDescribeRestoreCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show details of a restore, and what it changes",
		Example:           "  kqueen restore describe back-to-monday",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Restore, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Connect()
			if err != nil {
				return err
			}
			r, err := kinds.FindAs[*v1alpha1.Restore](ctx, e, c, kinds.Restore, args[0])
			if err != nil {
				return err
			}
			p := describeRestore(r)
			if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, r.Name, kinds.Restore.Kind)); err != nil {
				return err
			}
			return p.Print(e.Stdout)
		},
	}
}

func describeRestore(r *v1alpha1.Restore) *describe.Page {
	p, status := &describe.Page{}, r.Status
	kind := "restore"
	switch {
	case r.Spec.NewClusterName != "" && r.Spec.CompareOnly:
		kind = "comparison: no cluster is created"
	case r.Spec.NewClusterName != "":
		kind = "restore as a new cluster"
	case r.Spec.CompareOnly:
		kind = "comparison: nothing is changed"
	}
	p.Fields("",
		"Name", r.Name,
		"Kind", kind,
		"Backup", r.Spec.BackupName,
		"Only", strings.Join(r.Spec.Include, ", "),
		"Cluster", status.ClusterName,
		"State before", status.Saved,
		"Deleting", describe.Deleting(r),
		"Completed", describe.Ago(status.CompletionTime),
		"Next retry", describe.In(status.NextRetryTime),
	)
	if changes := status.Changes; changes != nil {
		describeChanges(p, r.Spec.NewClusterName, changes)
	}
	describe.Conditions(p, status.Status)
	return p
}

// describeChanges shows what a restore changes; of a new cluster, by what it is not as the backup.
func describeChanges(p *describe.Page, newCluster string, changes *v1alpha1.RestoreChanges) {
	heading, columns, more := "Changes", []string{"ADDED", "CHANGED", "REMOVED"}, changes.Changed+changes.Removed-int64(len(changes.First))
	if newCluster != "" {
		heading, columns = "Objects of cluster "+newCluster, []string{"AS IN THE BACKUP", "CHANGED", "LEFT OUT"}
	} else {
		more += changes.Added
	}
	p.Heading(heading)
	p.Table([][]string{columns, {fmt.Sprint(changes.Added), fmt.Sprint(changes.Changed), fmt.Sprint(changes.Removed)}})
	for _, key := range changes.First {
		p.Block(key)
	}
	if more > 0 {
		p.Block(fmt.Sprintf("… and %d more", more))
	}
}

// newDeleteRestoreCommand returns `restore delete`.
func newDeleteRestoreCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.Restore, Content: "records"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete restores, and take back those that have not ended",
		Long: `Delete restores. The record of one that has ended goes, and its cluster stays as it is.
One that has not ended is taken back: the cluster is as it was before, and starts. A new
cluster that is not whole yet is removed.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen restore delete back-to-monday
  kqueen restore delete back-to-monday --yes --wait=false`,
	}
	d.Register(cmd)
	return cmd
}
