package hibernation

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// noon is a Thursday.
var noon = time.Date(2026, time.November, 26, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }

// idle is a cluster of which nothing was asked for an hour.
func idle() *Seen { return &Seen{LastRequest: noon.Add(-time.Hour)} }

func TestDecide(t *testing.T) {
	asleepSince := func(d time.Duration) *v1alpha1.HibernationStatus {
		return &v1alpha1.HibernationStatus{Asleep: true, Asked: true, TransitionTime: at(d), Message: "it slept"}
	}
	awakeSince := func(d time.Duration) *v1alpha1.HibernationStatus {
		return &v1alpha1.HibernationStatus{TransitionTime: at(d)}
	}
	night := []v1alpha1.MaintenanceWindow{{Schedule: "0 20 * * *", DurationSeconds: 10 * 3600}}
	day := []v1alpha1.MaintenanceWindow{{Schedule: "0 11 * * *", DurationSeconds: 3 * 3600}}
	told, whenIdle := &v1alpha1.Hibernation{Asleep: true}, &v1alpha1.Hibernation{WhenIdle: true, IdleSeconds: ptr.To[int32](600)}
	for name, c := range map[string]struct {
		spec *v1alpha1.Hibernation
		was  *v1alpha1.HibernationStatus
		facts
		asleep, look bool
		says         string
		after        time.Duration
	}{
		"ToldNow":              {told, nil, facts{}, false, true, "", 0},
		"ToldNowAndSeen":       {told, nil, facts{Seen: &Seen{LastRequest: noon, Job: "a/b"}}, true, false, "asleep is set", 0},
		"ToldNowAndNotSeen":    {told, nil, facts{Unseen: errors.New("away")}, true, false, "do not wake it: away", 0},
		"ToldWhileUpgraded":    {told, nil, facts{Busy: "upgrade u"}, false, false, "upgrade u goes on", longestLook},
		"ToldAfterItWasWoken":  {told, &v1alpha1.HibernationStatus{WokenTime: at(-time.Second), TransitionTime: at(-time.Second)}, facts{Seen: idle()}, true, false, "asleep is set", 0},
		"StaysAsleep":          {told, asleepSince(-time.Hour), facts{}, true, false, "it slept", 0},
		"ClientWaits":          {told, asleepSince(-time.Hour), facts{Waiting: true}, false, false, "not idle for long enough", longestLook},
		"UserWakes":            {&v1alpha1.Hibernation{Asleep: true, WakeRequestTime: at(-time.Second)}, asleepSince(-time.Hour), facts{}, false, false, "not idle for long enough", longestLook},
		"UserWokeItBefore":     {&v1alpha1.Hibernation{Asleep: true, WakeRequestTime: at(-2 * time.Hour)}, asleepSince(-time.Hour), facts{}, true, false, "", 0},
		"SpecIsTakenBack":      {&v1alpha1.Hibernation{}, asleepSince(-time.Hour), facts{}, false, false, "nothing has it sleep", 0},
		"UpgradeWakes":         {told, asleepSince(-time.Hour), facts{Busy: "upgrade u"}, false, false, "upgrade u", longestLook},
		"WokenAndIdle":         {told, &v1alpha1.HibernationStatus{Asked: true, WokenTime: at(-time.Hour), TransitionTime: at(-time.Hour)}, facts{Seen: idle()}, true, false, "asleep is set", 0},
		"WokenAndInUse":        {told, &v1alpha1.HibernationStatus{Asked: true, WokenTime: at(-time.Hour), TransitionTime: at(-time.Hour)}, facts{Seen: &Seen{LastRequest: noon}}, false, false, "idle for 15m", longestLook},
		"ToldAgainAfterIt":     {&v1alpha1.Hibernation{Asleep: true, SleepRequestTime: at(-time.Second)}, &v1alpha1.HibernationStatus{Asked: true, WokenTime: at(-time.Minute), TransitionTime: at(-time.Minute)}, facts{Seen: &Seen{LastRequest: noon}}, true, false, "asleep is set", 0},
		"WokenAfterItWasTold":  {&v1alpha1.Hibernation{Asleep: true, SleepRequestTime: at(-time.Hour)}, &v1alpha1.HibernationStatus{Asked: true, WokenTime: at(-time.Minute), TransitionTime: at(-time.Minute)}, facts{Seen: &Seen{LastRequest: noon}}, false, false, "until it was idle", longestLook},
		"WokenAndJobRuns":      {told, &v1alpha1.HibernationStatus{Asked: true, WokenTime: at(-time.Hour), TransitionTime: at(-time.Hour)}, facts{Seen: &Seen{LastRequest: noon.Add(-time.Hour), Job: "a/b"}}, false, false, "Job a/b", longestLook},
		"CronJobIsDue":         {told, withCronJob(asleepSince(-time.Hour), 50*time.Second), facts{}, false, false, "not idle", longestLook},
		"CronJobIsDueLater":    {told, withCronJob(asleepSince(-time.Hour), 5*time.Minute), facts{}, true, false, "", 4 * time.Minute},
		"CronJobWasMissed":     {told, withCronJob(asleepSince(-time.Hour), -5*time.Minute), facts{}, false, false, "not idle", longestLook},
		"WindowLater":          {&v1alpha1.Hibernation{Windows: night}, nil, facts{}, false, false, "opens at 2026-11-26T20:00:00Z", 8 * time.Hour},
		"WindowOpen":           {&v1alpha1.Hibernation{Windows: day}, awakeSince(-time.Hour), facts{Seen: &Seen{LastRequest: noon}}, true, false, "ends at 2026-11-26T14:00:00Z", 2 * time.Hour},
		"WindowOpenAndNotSeen": {&v1alpha1.Hibernation{Windows: day}, awakeSince(-time.Hour), facts{Unseen: errors.New("away")}, false, false, "could not be read", longestLook},
		"WindowEnds":           {&v1alpha1.Hibernation{Windows: night}, asleepSince(-time.Hour), facts{}, false, false, "opens at", 8 * time.Hour},
		"WhenIdleAndIdle":      {whenIdle, awakeSince(-time.Hour), facts{Seen: idle()}, true, false, "idle for 10m", 0},
		"WhenIdleAsksFirst":    {whenIdle, awakeSince(-time.Hour), facts{}, false, true, "", 0},
		"WhenIdleAndInUse":     {whenIdle, awakeSince(-time.Hour), facts{Seen: &Seen{LastRequest: noon.Add(-599 * time.Second)}}, false, false, "until it was idle", time.Second},
		"WhenIdleAndNotTold":   {whenIdle, awakeSince(-time.Hour), facts{Seen: &Seen{}}, false, false, "never idle", longestLook},
		"WhenIdleAndNotSeen":   {whenIdle, awakeSince(-time.Hour), facts{Unseen: errors.New("away")}, false, false, "could not be seen", longestLook},
		"WhenIdleJustWoken":    {whenIdle, awakeSince(-time.Minute), facts{Unseen: errors.New("away")}, false, false, "not idle for long enough", longestLook},
		"DamagedWindow":        {&v1alpha1.Hibernation{Windows: []v1alpha1.MaintenanceWindow{{Schedule: "never"}}}, asleepSince(-time.Hour), facts{}, false, false, "spec.hibernation.windows[0].schedule", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts(c.facts)
			f.Now = noon
			got := Decide(c.spec, c.was, f)
			if got.Look != c.look || got.After != c.after || !c.look && got.Status.Asleep != c.asleep || !strings.Contains(got.Status.Message, c.says) {
				t.Errorf("asleep %v, look %v, after %s, %q; want %v, %v, %s, %q", got.Status.Asleep, got.Look, got.After, got.Status.Message, c.asleep, c.look, c.after, c.says)
			}
			// What was decided once stays until something happens.
			if again := Decide(c.spec, got.Status, Facts{Now: noon, Busy: f.Busy, Seen: f.Seen, Unseen: f.Unseen}); !c.look && again.Status.Asleep != got.Status.Asleep {
				t.Errorf("decided again it is asleep: %v", again.Status.Asleep)
			}
		})
	}
	if got := Decide(nil, asleepSince(-time.Hour), Facts{Now: noon}); got.Status != nil {
		t.Errorf("a cluster that never sleeps has the status %+v", got.Status)
	}
}

type facts Facts

func withCronJob(s *v1alpha1.HibernationStatus, due time.Duration) *v1alpha1.HibernationStatus {
	s.NextCronJobTime = at(due)
	return s
}

func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		spec batchv1.CronJobSpec
		want time.Time
	}{
		"Zone":      {batchv1.CronJobSpec{Schedule: "30 13 * * *", TimeZone: ptr.To("Europe/Prague")}, noon.Add(30 * time.Minute)},
		"Every":     {batchv1.CronJobSpec{Schedule: "@every 90s", TimeZone: ptr.To("UTC")}, noon.Add(90 * time.Second)},
		"Suspended": {batchv1.CronJobSpec{Schedule: "* * * * *", Suspend: ptr.To(true)}, time.Time{}},
		"None":      {batchv1.CronJobSpec{Schedule: "now"}, time.Time{}},
		"NoZone":    {batchv1.CronJobSpec{Schedule: "@hourly"}, noon.Add(time.Hour)},
	} {
		if got := Due(&batchv1.CronJob{Spec: c.spec}, noon); !got.Equal(c.want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
