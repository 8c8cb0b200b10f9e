package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// sleeping is what `cluster sleep` is asked for.
type sleeping struct {
	whenIdle time.Duration
	windows  []string
	timeZone string
}

func newSleepCommand(e *connection.Env) *cobra.Command {
	s := &sleeping{}
	cmd := &cobra.Command{
		Use:   "sleep NAME",
		Short: "Put a cluster to sleep, now or whenever it is idle or a window is open",
		Long: `Put a cluster to sleep whose control plane KQueen hosts: its control plane and its
machines on KQueen's host end, and so do pods there; what is stored stays. A client that
connects wakes it and waits for the answer; CronJobs wake it a minute before they are
due.

Without flags the cluster sleeps at once. With --when-idle it sleeps whenever no user or
program has called its API server for that long and no Job runs; with --window it sleeps
in each window, and what wakes it there does so until it is idle. "kqueen cluster wake"
wakes it and says how to keep it awake.`,
		Example: `  kqueen cluster sleep demo
  kqueen cluster sleep demo --when-idle 30m
  kqueen cluster sleep demo --window "0 20 * * MON-FRI=11h" --time-zone Europe/Prague`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := s.hibernation(cmd)
			if err != nil {
				return err
			}
			if err := setHibernation(cmd, e, args[0], wanted); err != nil {
				return err
			}
			if wanted["asleep"] == true {
				e.Say("cluster %s goes to sleep; a client that connects wakes it", args[0])
				return nil
			}
			e.Say("cluster %s sleeps as that says from now on; see: %s", args[0], e.Command("cluster describe "+args[0]))
			return nil
		},
	}
	cmd.Flags().DurationVar(&s.whenIdle, "when-idle", 0, "sleep whenever the cluster was idle for so long: from 1m to 168h")
	cmd.Flags().StringArrayVar(&s.windows, "window", nil, "sleep in a window, as SCHEDULE=DURATION with a schedule of cron; may be repeated")
	cmd.Flags().StringVar(&s.timeZone, "time-zone", "", "time zone of the schedules, such as Europe/Prague (default UTC)")
	return cmd
}

// hibernation is the change of spec.hibernation that the flags ask for.
func (s *sleeping) hibernation(cmd *cobra.Command) (map[string]any, error) {
	changes := map[string]any{}
	if s.whenIdle != 0 {
		changes["whenIdle"], changes["idleSeconds"] = true, int64(s.whenIdle/time.Second)
	}
	var windows []map[string]any
	for _, w := range s.windows {
		schedule, text, ok := cutLast(w, "=")
		lasts, err := time.ParseDuration(text)
		if !ok || err != nil {
			return nil, exit.UsageError(cmd, `--window %q: want a schedule and how long it lasts, such as "0 20 * * MON-FRI=11h"`, w)
		}
		windows = append(windows, map[string]any{"schedule": schedule, "durationSeconds": int64(lasts / time.Second)})
	}
	if windows != nil {
		changes["windows"] = windows
	}
	if s.timeZone != "" {
		if windows == nil {
			return nil, exit.UsageError(cmd, "--time-zone is for the schedules of --window; give one")
		}
		changes["timeZone"] = s.timeZone
	}
	if len(changes) == 0 {
		changes["asleep"], changes["sleepRequestTime"] = true, now()
	}
	return changes, nil
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

func newWakeCommand(e *connection.Env) *cobra.Command {
	var never, wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wake NAME",
		Short: "Wake a cluster that sleeps",
		Long: `Wake a cluster, as any client that connects does. Where it sleeps when it is idle or in
windows it stays awake until it is idle again; with --keep-awake it sleeps no more, and
all that was said of when it does is removed.`,
		Example: `  kqueen cluster wake demo --wait
  kqueen cluster wake demo --keep-awake`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			changes := map[string]any{"asleep": false, "wakeRequestTime": now()}
			if never {
				changes = nil
			}
			if err := setHibernation(cmd, e, args[0], changes); err != nil {
				return err
			}
			e.Say("cluster %s wakes", args[0])
			if !wait {
				return nil
			}
			c, err := e.Connect()
			if err != nil {
				return err
			}
			return verbs.Await(cmd.Context(), e, c, verbs.Waiting{Kind: kinds.Cluster, Name: args[0], Goal: v1alpha1.ConditionReady, Timeout: timeout})
		},
	}
	cmd.Flags().BoolVar(&never, "keep-awake", false, "have the cluster sleep no more")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the cluster is ready")
	command.RegisterTimeout(cmd, &timeout)
	return cmd
}

// setHibernation changes spec.hibernation of a cluster; nil removes it.
func setHibernation(cmd *cobra.Command, e *connection.Env, name string, changes map[string]any) error {
	c, err := e.Connect()
	if err != nil {
		return err
	}
	found, err := kinds.Find(cmd.Context(), e, c, kinds.Cluster, name)
	if err != nil {
		return err
	}
	var value any
	if changes != nil {
		value = changes
	}
	if err := c.Update(cmd.Context(), found, objects.Patch{Spec: map[string]any{"hibernation": value}}, "", false); err != nil {
		return fmt.Errorf("change when cluster %s sleeps: %w", name, err)
	}
	return nil
}
