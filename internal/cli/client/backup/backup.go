package backup

import (
	"context"
	"strconv"
	"time"

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

// NewCommand returns `backup` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backup",
		Aliases: []string{"backups", "bk"},
		Short:   "Back up clusters: all objects of their Kubernetes API",
		Long: `Back up clusters whose control plane KQueen hosts. A backup has all objects of the
Kubernetes API as they were at one moment; volumes are not in it.`,
		Example: `  kqueen backup create monday --cluster demo --wait
  kqueen backup list
  kqueen restore create --backup monday back-to-monday --wait`,
	}
	command.Group(cmd)
	cmd.AddCommand(newCreateCommand(e), verbs.ListCommand(e, kinds.Backup), verbs.GetCommand(e, kinds.Backup), newDescribeCommand(e),
		verbs.WaitCommand(e, kinds.Backup, v1alpha1.ConditionTaken, v1alpha1.ConditionVerified), newDeleteCommand(e))
	return cmd
}

// newCreateCommand returns `backup create`.
func newCreateCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.Backup}
	backup, at := &v1alpha1.Backup{}, ""
	c.FromFlags = func(ctx context.Context, connected *objects.Client, _ error, name string) ([]client.Object, error) {
		backup.ObjectMeta = metav1.ObjectMeta{Name: name}
		if c.DryRun == verbs.DryRunClient {
			return []client.Object{backup}, nil
		}
		// That its cluster is there is checked now, so that a typing mistake is not found in a condition.
		_, err := kinds.Find(ctx, e, connected, kinds.Cluster, backup.Spec.ClusterName)
		if objects.IsForbidden(err) { // the server judges the rest
			err = nil
		}
		return []client.Object{backup}, err
	}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Back up a cluster",
		Long: `Back up a cluster, without stopping it. The backup is consistent: all objects are as
they were at one moment.

With --at it is of a moment of the past, such as 10m or 2026-03-01T09:00:00Z: made of an
earlier backup and of the changes since, where a BackupSchedule of the cluster records
them (backupschedule create --recovery-window).`,
		Example: `  kqueen backup create monday --cluster demo --wait
  kqueen backup create before-lunch --cluster demo --at 2h --wait
  kqueen backup create -f backup.yaml --dry-run=server`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Check(cmd, args); err != nil {
				return err
			}
			if c.File == "" && backup.Spec.ClusterName == "" {
				return exit.UsageError(cmd, "name the cluster with --cluster")
			}
			if err := setMoment(cmd, backup, at); err != nil {
				return err
			}
			return c.Run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&backup.Spec.ClusterName, "cluster", "", "cluster that is backed up")
	registerAt(cmd, &at)
	cmd.Flags().StringVar(&backup.Spec.StoreName, "store", "", "backup store that keeps it (default \"default\")")
	_ = cmd.RegisterFlagCompletionFunc("cluster", kinds.CompleteNames(e, kinds.Cluster, -1))
	_ = cmd.RegisterFlagCompletionFunc("store", kinds.CompleteNames(e, kinds.BackupStore, -1))
	c.Excludes = []string{"cluster", "store", "at"}
	c.Register(cmd)
	return cmd
}

// registerAt adds the flag for a moment of the past.
func registerAt(cmd *cobra.Command, at *string) {
	cmd.Flags().StringVar(at, "at", "", "moment that is wanted, such as 10m, yesterday or 2026-03-01T09:00:00Z")
	_ = cmd.RegisterFlagCompletionFunc("at", command.OneOf(command.Moments()...))
}

// setMoment has a backup be of the moment that a text says, in whole seconds; empty for now.
func setMoment(cmd *cobra.Command, b *v1alpha1.Backup, text string) error {
	if text == "" {
		return nil
	}
	at, err := command.Moment(text, time.Now())
	if err != nil {
		return exit.UsageError(cmd, "--at: %w", err)
	}
	b.Spec.AsOfTime = &metav1.Time{Time: at.Truncate(time.Second)}
	return nil
}

// moment is a time in full, or nothing.
func moment(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// newDescribeCommand returns `backup describe`.
func newDescribeCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show details of a backup",
		Example:           "  kqueen backup describe monday",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Backup, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Connect()
			if err != nil {
				return err
			}
			b, err := kinds.FindAs[*v1alpha1.Backup](ctx, e, c, kinds.Backup, args[0])
			if err != nil {
				return err
			}
			p, status := &describe.Page{}, b.Status
			p.Fields("",
				"Name", b.Name,
				"Cluster", b.Spec.ClusterName,
				"Store", b.Spec.StoreName,
				"Deleting", describe.Deleting(b),
				"Version", status.Version,
				"As of", moment(b.Spec.AsOfTime),
				"Taken", describe.Ago(status.TakenTime),
				"Verified", describe.Ago(status.VerifiedTime),
				"Objects", counted(status.Objects),
				"Size", kinds.Bytes(status.Size),
				"New", kinds.Bytes(status.NewSize),
				"Revision", counted(status.Revision),
				"Digest", status.Digest,
				"Next retry", describe.In(status.NextRetryTime),
			)
			describe.Conditions(p, status.Status)
			if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, b.Name, kinds.Backup.Kind)); err != nil {
				return err
			}
			return p.Print(e.Stdout)
		},
	}
}

func counted(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// newDeleteCommand returns `backup delete`.
func newDeleteCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.Backup, Content: "files"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete backups and their files",
		Long: `Delete backups and their files. What other backups of the cluster have as well stays.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen backup delete monday
  kqueen backup delete monday tuesday --yes --wait=false`,
	}
	d.Register(cmd)
	return cmd
}
