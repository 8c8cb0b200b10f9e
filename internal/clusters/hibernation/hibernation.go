// Package hibernation decides when a cluster sleeps.
//
//	spec.hibernation, clients that wait, CronJobs, windows ──► Decide ──► status.hibernation
//
// It hides how what puts a cluster to sleep and what wakes it add up. It runs nothing: the reconciler of Cluster asks it, and the driver of
// the cluster does what it says. The validator of clusters imports it, too.
package hibernation

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/maintenance"
)

const (
	// DefaultIdle is spec.hibernation.idleSeconds where it is absent.
	DefaultIdle = 15 * time.Minute
	// lead is how long before a CronJob is due its cluster is woken: starting takes some seconds, and more when many start at once.
	lead = time.Minute
	// longestLook is the longest time between two looks at whether a cluster is idle.
	longestLook = time.Minute
	// shortestLook keeps a time that is nearly over from becoming a busy loop.
	shortestLook = time.Second
)

// Seen is what was found in a cluster that is awake.
type Seen struct {
	// LastRequest is when a user or program last called the API server; now while one has a watch. Zero when it cannot be told.
	LastRequest time.Time
	// Job names one that has not finished; empty for none.
	Job string
	// NextCronJob is when the next CronJob is due; zero for never.
	NextCronJob time.Time
}

// Facts are what a decision hangs on beside the spec.
type Facts struct {
	Now time.Time
	// Waiting says that a client waits for the cluster at the gateway.
	Waiting bool
	// Busy names what goes on for which the cluster has to run, such as an upgrade; empty for nothing.
	Busy string
	// Seen is what was found in the cluster, or Unseen why that could not be read. Both are nil while it was not looked at.
	Seen   *Seen
	Unseen error
}

// Decision is what is to be.
type Decision struct {
	// Status is that of the cluster; nil where it never sleeps.
	Status *v1alpha1.HibernationStatus
	// Look says that it cannot be decided before the cluster was looked at.
	Look bool
	// After is the longest time until it is decided again; 0 for when something changes.
	After time.Duration
}

// Check says what is wrong with spec.hibernation. Errors are *invalid.Error.
func Check(h *v1alpha1.Hibernation) error {
	if h == nil {
		return nil
	}
	_, err := windows(h)
	return err
}

func windows(h *v1alpha1.Hibernation) (maintenance.Calendar, error) {
	return maintenance.Windows("spec.hibernation", h.Windows, h.TimeZone)
}

// Decide says whether a cluster sleeps. It is pure.
func Decide(h *v1alpha1.Hibernation, was *v1alpha1.HibernationStatus, f Facts) Decision {
	if h == nil {
		return Decision{}
	}
	if was == nil {
		was = &v1alpha1.HibernationStatus{}
	}
	d := decider{h: h, was: was, now: f.Now.Truncate(time.Second), f: f, status: was.DeepCopy()}
	return d.decide()
}

// decider holds one decision.
type decider struct {
	h      *v1alpha1.Hibernation
	was    *v1alpha1.HibernationStatus
	now    time.Time
	f      Facts
	status *v1alpha1.HibernationStatus
}

func (d *decider) decide() Decision {
	d.wake()
	calendar, err := windows(d.h)
	if err != nil { // it was taken by an earlier KQueen
		return d.awake("awake: "+err.Error(), 0)
	}
	told, after := d.told(calendar)
	switch {
	case d.f.Busy != "":
		return d.awake("awake: "+d.f.Busy+" goes on", longestLook)
	case told == "" && !d.h.WhenIdle:
		return d.awake(d.until(calendar), after)
	case d.was.Asleep && !d.wokenSince():
		return d.asleep(told, after)
	case told != "" && d.status.WokenTime == nil:
		return d.sleepNow(told, after)
	}
	return d.sleepWhenIdle(told, after)
}

// wake notes what wakes the cluster.
func (d *decider) wake() {
	if d.h.Asleep && !d.was.Asked {
		d.status.WokenTime = nil // it is told to sleep now
	}
	d.status.Asked = d.h.Asleep
	woken := func(at time.Time) {
		if d.status.WokenTime == nil || at.After(d.status.WokenTime.Time) {
			d.status.WokenTime = &metav1.Time{Time: at}
		}
	}
	if at := d.h.WakeRequestTime; at != nil {
		woken(at.Time)
	}
	if at := d.h.SleepRequestTime; at != nil && d.status.WokenTime != nil && at.After(d.status.WokenTime.Time) {
		d.status.WokenTime = nil
	}
	if !d.was.Asleep {
		return
	}
	if d.f.Waiting {
		woken(d.now)
	}
	if due := d.was.NextCronJobTime; due != nil && !d.now.Before(due.Add(-lead)) {
		woken(latest(due.Time, d.now))
	}
}

// wokenSince says whether the cluster was woken since it fell asleep.
func (d *decider) wokenSince() bool {
	return d.status.WokenTime != nil && (d.was.TransitionTime == nil || !d.status.WokenTime.Before(d.was.TransitionTime))
}

// told says by what the cluster sleeps without being idle, and when that ends; empty for nothing.
func (d *decider) told(calendar maintenance.Calendar) (why string, after time.Duration) {
	if d.h.Asleep {
		return "spec.hibernation.asleep is set", 0
	}
	if len(d.h.Windows) == 0 {
		return "", 0
	}
	if ends := calendar.Ends(d.now); !ends.IsZero() {
		return "the window in which it sleeps ends at " + ends.UTC().Format(time.RFC3339), ends.Sub(d.now)
	}
	if opens := calendar.Opens(d.now); !opens.IsZero() {
		return "", opens.Sub(d.now)
	}
	return "", 0
}

// until says until when a cluster is awake that no idleness puts to sleep.
func (d *decider) until(calendar maintenance.Calendar) string {
	if len(d.h.Windows) > 0 {
		if opens := calendar.Opens(d.now); !opens.IsZero() {
			return "awake until a window in which it sleeps opens at " + opens.UTC().Format(time.RFC3339)
		}
	}
	return "awake: nothing has it sleep"
}

// sleepNow has the cluster sleep whether it is used or not, once it is known when its CronJobs are due.
func (d *decider) sleepNow(why string, after time.Duration) Decision {
	switch {
	case d.f.Seen != nil:
		d.note(d.f.Seen)
	case d.f.Unseen == nil:
		return Decision{Status: d.status, Look: true}
	case d.h.Asleep:
		why += "; its CronJobs could not be read, and do not wake it: " + d.f.Unseen.Error()
		d.status.NextCronJobTime = nil
	default:
		return d.awake("awake: its CronJobs could not be read, by which it wakes: "+d.f.Unseen.Error(), longestLook)
	}
	return d.asleep(why, after)
}

// sleepWhenIdle has the cluster sleep once it was idle for long enough.
func (d *decider) sleepWhenIdle(told string, after time.Duration) Decision {
	idle := Idle(d.h)
	// A cluster that is being woken cannot be asked before it serves.
	if since := d.since(time.Time{}); d.now.Before(since.Add(idle)) && (d.was.Asleep || d.f.Unseen != nil) {
		return d.awake("awake, and not idle for long enough yet", soon(since.Add(idle).Sub(d.now), after))
	}
	if d.f.Seen == nil {
		if d.f.Unseen == nil {
			return Decision{Status: d.status, Look: true}
		}
		return d.awake("awake: it could not be seen whether it is idle: "+d.f.Unseen.Error(), longestLook)
	}
	d.note(d.f.Seen)
	if d.f.Seen.LastRequest.IsZero() {
		return d.awake("awake: its API server does not tell when it was called last, so that it is never idle", longestLook)
	}
	if d.f.Seen.Job != "" {
		return d.awake("awake: the Job "+d.f.Seen.Job+" has not finished", soon(idle, after))
	}
	if left := d.since(d.f.Seen.LastRequest).Add(idle).Sub(d.now); left > 0 {
		return d.awake(fmt.Sprintf("awake until it was idle for %s", idle), soon(left, after))
	}
	if told == "" {
		told = fmt.Sprintf("it was idle for %s", idle)
	}
	return d.asleep(told, after)
}

// since is from when on the cluster may have been idle: its last request, its last waking, or its last transition.
func (d *decider) since(request time.Time) time.Time {
	since := request
	for _, at := range []*metav1.Time{d.status.WokenTime, d.was.TransitionTime} {
		if at != nil {
			since = latest(since, at.Time)
		}
	}
	return since
}

// note takes what was seen into the status. The time of the last request changes it once a minute at most.
func (d *decider) note(seen *Seen) {
	d.status.LastRequestTime, d.status.NextCronJobTime = nil, nil
	if !seen.LastRequest.IsZero() {
		d.status.LastRequestTime = &metav1.Time{Time: seen.LastRequest.Truncate(time.Minute)}
	}
	if !seen.NextCronJob.IsZero() {
		d.status.NextCronJobTime = &metav1.Time{Time: seen.NextCronJob}
	}
}

func (d *decider) awake(message string, after time.Duration) Decision {
	d.status.Message = message
	d.change(false)
	return Decision{Status: d.status, After: after}
}

func (d *decider) asleep(why string, after time.Duration) Decision {
	if !d.was.Asleep || d.status.Message == "" {
		d.status.Message = why
	}
	if due := d.status.NextCronJobTime; due != nil {
		after = soonest(after, max(due.Add(-lead).Sub(d.now), shortestLook))
	}
	d.change(true)
	return Decision{Status: d.status, After: after}
}

func (d *decider) change(asleep bool) {
	if d.status.Asleep != asleep || d.status.TransitionTime == nil {
		d.status.Asleep, d.status.TransitionTime = asleep, &metav1.Time{Time: d.now}
	}
}

// Idle is after how long without a call a cluster is idle. It is pure.
func Idle(h *v1alpha1.Hibernation) time.Duration {
	if h.IdleSeconds == nil {
		return DefaultIdle
	}
	return time.Duration(*h.IdleSeconds) * time.Second
}

// soon is the time to the next look at whether a cluster is idle.
func soon(left, after time.Duration) time.Duration {
	return soonest(min(max(left, shortestLook), longestLook), after)
}

// soonest is the shorter one of two times, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
