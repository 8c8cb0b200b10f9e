package hibernation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/platform/cron"
)

const (
	// activityPath is where API servers that KQueen builds tell when they were called last; the administrator alone may ask.
	activityPath = "/kqueen.io/activity"
	// activityBytes is how much of that answer is read.
	activityBytes = 4 << 10
	// longestName is how long the namespace and the name of a Job are together.
	longestName = 317
)

// Bounds are those of the client that Read takes.
func Bounds() listing.Bounds {
	return listing.Bounds{Call: 5 * time.Second, PageItems: 200, PageBytes: 8 << 20, Objects: 20_000, Connections: 1}
}

// Read reads what decides whether the cluster that a client leads to sleeps.
func Read(ctx context.Context, c *listing.Client, now time.Time) (Seen, error) {
	var seen Seen
	var err error
	if seen.LastRequest, err = lastRequest(ctx, c); err != nil {
		return Seen{}, fmt.Errorf("read when the API server was called last: %w", err)
	}
	_, err = c.List(ctx, listing.Resource{Path: "/apis/batch/v1/cronjobs", Accept: listing.JSON}, listing.AnyTurn, func(raw []byte) error {
		job := &batchv1.CronJob{}
		if err := json.Unmarshal(raw, job); err != nil {
			return fmt.Errorf("read a CronJob: %w", err)
		}
		if due := Due(job, now); !due.IsZero() && (seen.NextCronJob.IsZero() || due.Before(seen.NextCronJob)) {
			seen.NextCronJob = due
		}
		return nil
	})
	if err != nil {
		return Seen{}, fmt.Errorf("list CronJobs: %w", err)
	}
	_, err = c.List(ctx, listing.Resource{Path: "/apis/batch/v1/jobs", Accept: listing.JSON}, listing.AnyTurn, func(raw []byte) error {
		job := &batchv1.Job{}
		if err := json.Unmarshal(raw, job); err != nil {
			return fmt.Errorf("read a Job: %w", err)
		}
		if name := listing.Clean(job.Namespace+"/"+job.Name, longestName); runs(job) && (seen.Job == "" || name < seen.Job) {
			seen.Job = name
		}
		return nil
	})
	if err != nil {
		return Seen{}, fmt.Errorf("list Jobs: %w", err)
	}
	return seen, nil
}

// lastRequest asks the API server. One that does not tell gives the zero time.
func lastRequest(ctx context.Context, c *listing.Client) (time.Time, error) {
	answer, err := c.Open(ctx, activityPath, nil, "application/json")
	if errors.Is(err, listing.ErrAbsent) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	defer answer.Body.Close()
	var told struct {
		LastRequestTime time.Time `json:"lastRequestTime"`
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, activityBytes)).Decode(&told)
	return told.LastRequestTime, err
}

// Due is when a CronJob is due next; zero for never, and where its schedule is none. It is pure.
func Due(job *batchv1.CronJob, now time.Time) time.Time {
	if ptr.Deref(job.Spec.Suspend, false) || !job.DeletionTimestamp.IsZero() {
		return time.Time{}
	}
	if every, ok := strings.CutPrefix(job.Spec.Schedule, "@every "); ok {
		d, err := time.ParseDuration(every)
		if err != nil || d <= 0 {
			return time.Time{}
		}
		return now.Add(max(d, time.Second)).Truncate(time.Second)
	}
	schedule, err := cron.Parse("", job.Spec.Schedule, "", ptr.Deref(job.Spec.TimeZone, ""))
	if err != nil {
		return time.Time{}
	}
	if job.Spec.TimeZone == nil { // that of the controller manager, which is the host's
		return schedule.NextIn(time.Local, now)
	}
	return schedule.Next(now)
}

// runs says whether a Job has not finished and is not suspended. It is pure.
func runs(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == "True" {
			return false
		}
	}
	return !ptr.Deref(job.Spec.Suspend, false) && job.DeletionTimestamp.IsZero()
}
