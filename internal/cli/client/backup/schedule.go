package backup

import (
	"context"
	"fmt"
	"strings"
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
	"kqueen.io/kqueen/internal/platform/text"
)

// NewScheduleCommand returns `backupschedule` and what is under it.
func NewScheduleCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backupschedule",
		Aliases: []string{"backupschedules", "bks"},
		Short:   "Back up clusters at times, and delete old backups",
		Long: `Back up clusters at times, and delete the backups of a schedule that are not kept any
more. With a recovery window the changes between them are recorded, so that any moment
of it can be restored. Backups stay when their schedule is deleted.`,
		Example: `  kqueen backupschedule create nightly --cluster demo --schedule "30 2 * * *" --keep-daily 14
  kqueen backupschedule list
  kqueen backupschedule pause nightly`,
	}
	command.Group(cmd)
	update, _ := verbs.UpdateCommand(e, kinds.BackupSchedule, `kqueen backupschedule update nightly --spec '{"schedule":"@hourly"}'`)
	cmd.AddCommand(newCreateScheduleCommand(e), verbs.ListCommand(e, kinds.BackupSchedule), verbs.GetCommand(e, kinds.BackupSchedule), newDescribeScheduleCommand(e),
		verbs.WaitCommand(e, kinds.BackupSchedule, v1alpha1.ConditionScheduled, v1alpha1.ConditionLastBackupTaken, v1alpha1.ConditionRetained, v1alpha1.ConditionChangesRecorded),
		verbs.PauseCommand(e, kinds.BackupSchedule, "Keep backups of a schedule from being taken and deleted", "nightly"),
		verbs.ResumeCommand(e, kinds.BackupSchedule, "Let a schedule take and delete backups again", "nightly"), update, newDeleteScheduleCommand(e))
	return cmd
}

// newCreateScheduleCommand returns `backupschedule create`.
func newCreateScheduleCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.BackupSchedule}
	schedule, keep, window := &v1alpha1.BackupSchedule{}, v1alpha1.BackupRetention{}, ""
	c.FromFlags = func(ctx context.Context, connected *objects.Client, _ error, name string) ([]client.Object, error) {
		schedule.ObjectMeta = metav1.ObjectMeta{Name: name}
		if keep != (v1alpha1.BackupRetention{}) {
			schedule.Spec.Retention = &keep
		}
		if c.DryRun == verbs.DryRunClient {
			return []client.Object{schedule}, nil
		}
		_, err := kinds.Find(ctx, e, connected, kinds.Cluster, schedule.Spec.ClusterName)
		if objects.IsForbidden(err) { // the server judges the rest
			err = nil
		}
		return []client.Object{schedule}, err
	}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Back up a cluster at times",
		Long: `Back up a cluster at times that are said as cron does: minute, hour, day of the month,
month and day of the week, or @hourly, @daily, @weekly, @monthly or @yearly, at least
15 minutes apart. Of times that were missed, one backup is taken.

A backup is kept by any of --keep-last, --keep-daily, --keep-weekly and --keep-monthly,
and the newest one always; the others of this schedule are deleted.

With --recovery-window, such as 7d, each change of the cluster is recorded within some
seconds, so that any moment of that window can be restored: "backup create --at" and
"restore create --at". Backups that are needed for it are kept.`,
		Example: `  kqueen backupschedule create hourly --cluster demo --schedule @hourly --keep-last 24
  kqueen backupschedule create nightly --cluster demo --schedule "30 2 * * *" --time-zone Europe/Prague --keep-daily 14 --keep-weekly 8
  kqueen backupschedule create daily --cluster demo --schedule @daily --recovery-window 7d
  kqueen backupschedule create -f schedule.yaml --dry-run=server`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Check(cmd, args); err != nil {
				return err
			}
			if c.File == "" && schedule.Spec.ClusterName == "" {
				return exit.UsageError(cmd, "name the cluster with --cluster")
			}
			if c.File == "" && schedule.Spec.Schedule == "" {
				return exit.UsageError(cmd, "say when with --schedule, such as @daily")
			}
			var err error
			if schedule.Spec.RecoveryWindowHours, err = hours(window); err != nil {
				return exit.UsageError(cmd, "--recovery-window: %w", err)
			}
			return c.Run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&schedule.Spec.ClusterName, "cluster", "", "cluster that is backed up")
	flags.StringVar(&schedule.Spec.StoreName, "store", "", "backup store that keeps the backups (default \"default\")")
	flags.StringVar(&schedule.Spec.Schedule, "schedule", "", "when, such as @daily or \"30 2 * * *\"")
	flags.StringVar(&schedule.Spec.TimeZone, "time-zone", "", "time zone of the schedule, such as Europe/Prague (default \"UTC\")")
	flags.Int32Var(&keep.KeepLast, "keep-last", 0, "how many of the newest backups are kept (default 7 without other rules)")
	flags.Int32Var(&keep.KeepDaily, "keep-daily", 0, "of how many days the newest backup is kept")
	flags.Int32Var(&keep.KeepWeekly, "keep-weekly", 0, "of how many weeks the newest backup is kept")
	flags.Int32Var(&keep.KeepMonthly, "keep-monthly", 0, "of how many months the newest backup is kept")
	flags.StringVar(&window, "recovery-window", "", "how far back any moment can be restored, such as 12h or 7d; empty for backups alone")
	flags.BoolVar(&schedule.Spec.Paused, "paused", false, "take and delete no backup until it is resumed")
	_ = cmd.RegisterFlagCompletionFunc("cluster", kinds.CompleteNames(e, kinds.Cluster, -1))
	_ = cmd.RegisterFlagCompletionFunc("store", kinds.CompleteNames(e, kinds.BackupStore, -1))
	_ = cmd.RegisterFlagCompletionFunc("schedule", command.OneOf("@hourly", "@daily", "@weekly", "@monthly", "@yearly"))
	_ = cmd.RegisterFlagCompletionFunc("recovery-window", command.OneOf("24h", "7d", "4w"))
	others := []string{"keep-last", "keep-daily", "keep-weekly", "keep-monthly", "time-zone"}
	for _, name := range others {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
	c.Excludes = append([]string{"cluster", "store", "schedule", "paused", "recovery-window"}, others...)
	c.Register(cmd)
	return cmd
}

// hours is a window in whole hours; 0 for an empty text. It is pure.
func hours(window string) (int32, error) {
	if window == "" {
		return 0, nil
	}
	length, ok := command.Age(window)
	if !ok || length < time.Hour || length%time.Hour != 0 || length > 366*24*time.Hour {
		return 0, fmt.Errorf("%q has to be whole hours, days or weeks up to 366d, such as 12h, 7d or 4w", window)
	}
	return int32(length / time.Hour), nil
}

// newDescribeScheduleCommand returns `backupschedule describe`.
func newDescribeScheduleCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show details of a schedule of backups",
		Example:           "  kqueen backupschedule describe nightly",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.BackupSchedule, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := e.Connect()
			if err != nil {
				return err
			}
			s, err := kinds.FindAs[*v1alpha1.BackupSchedule](ctx, e, c, kinds.BackupSchedule, args[0])
			if err != nil {
				return err
			}
			p, status := &describe.Page{}, s.Status
			paused := ""
			if s.Spec.Paused {
				paused = "no backup is taken or deleted; resume with: kqueen backupschedule resume " + s.Name
			}
			p.Fields("",
				"Name", s.Name,
				"Cluster", s.Spec.ClusterName,
				"Store", s.Spec.StoreName,
				"Schedule", s.Spec.Schedule+" "+s.Spec.TimeZone,
				"Paused", paused,
				"Keeps", keeps(s.Spec.Retention),
				"Deleting", describe.Deleting(s),
				"Next backup", describe.In(status.NextTime),
				"Last backup", status.LastBackupName,
				"Last taken", describe.Ago(status.LastTakenTime),
				"Backups", counted(int64(status.Backups)),
				"Recovery window", span(s.Spec.RecoveryWindowHours),
				"Any moment from", moment(status.EarliestRecoveryTime),
				"to at least", moment(status.LatestRecoveryTime),
				"Next retry", describe.In(status.NextRetryTime),
			)
			describe.Conditions(p, status.Status)
			if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, s.Name, kinds.BackupSchedule.Kind)); err != nil {
				return err
			}
			return p.Print(e.Stdout)
		},
	}
}

// span is a number of hours, in days where they are whole. It is pure.
func span(hours int32) string {
	switch {
	case hours == 0:
		return ""
	case hours%24 == 0:
		return text.Count(int(hours/24), "day")
	}
	return text.Count(int(hours), "hour")
}

// keeps says which backups are kept, in words. It is pure.
func keeps(keep *v1alpha1.BackupRetention) string {
	if keep == nil {
		return ""
	}
	var rules []string
	for _, rule := range []struct {
		n    int32
		what string
	}{{keep.KeepLast, ""}, {keep.KeepDaily, "day"}, {keep.KeepWeekly, "week"}, {keep.KeepMonthly, "month"}} {
		switch {
		case rule.n > 0 && rule.what == "":
			rules = append(rules, fmt.Sprintf("the last %d", rule.n))
		case rule.n > 0:
			rules = append(rules, "the newest of each of "+text.Count(int(rule.n), rule.what))
		}
	}
	return strings.Join(rules, ", ")
}

// newDeleteScheduleCommand returns `backupschedule delete`.
func newDeleteScheduleCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.BackupSchedule}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete schedules of backups; the backups stay",
		Long: `Delete schedules of backups. The backups that they took stay until they are deleted one
by one. The changes that they recorded are deleted: moments between backups cannot be
restored any more.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen backupschedule delete nightly
  kqueen backup list --cluster demo`,
	}
	d.Register(cmd)
	return cmd
}
