package operatortest

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// healthy is an object with a status that breaks no rule.
func healthy() *v1alpha1.Organization {
	o := &v1alpha1.Organization{}
	o.Name, o.UID, o.Generation = "x", "0a1b2c3d-0000-4000-8000-000000000001", 2
	o.Status.ObservedGeneration = 2
	for kind, status := range map[string]metav1.ConditionStatus{"Ready": "True", "Reconciling": "False", "Stalled": "False", "NamespaceReady": "True"} {
		o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: "Fine", Message: "fine", ObservedGeneration: 2, LastTransitionTime: metav1.Now(),
		})
	}
	return o
}

func TestLint(t *testing.T) {
	set := func(kind string, change func(*metav1.Condition)) func(*v1alpha1.Organization) {
		return func(o *v1alpha1.Organization) {
			for i := range o.Status.Conditions {
				if o.Status.Conditions[i].Type == kind {
					change(&o.Status.Conditions[i])
				}
			}
		}
	}
	status := func(kind string, s metav1.ConditionStatus) func(*v1alpha1.Organization) {
		return set(kind, func(c *metav1.Condition) { c.Status = s })
	}
	message := func(m string) func(*v1alpha1.Organization) {
		return set("NamespaceReady", func(c *metav1.Condition) { c.Message = m })
	}
	tests := map[string]struct {
		spoil func(*v1alpha1.Organization)
		want  string // part of the first problem; empty for none
	}{
		"Healthy":          {func(*v1alpha1.Organization) {}, ""},
		"NoConditions":     {func(o *v1alpha1.Organization) { o.Status.Conditions = nil }, "condition Ready is missing"},
		"ReadyReconciling": {status("Reconciling", "True"), "Ready and Reconciling"},
		"ReadyStalled":     {status("Stalled", "True"), "Ready and Stalled"},
		"NothingGoesOn":    {status("Ready", "False"), "users cannot tell"},
		"ReadyWithout":     {status("NamespaceReady", "False"), "Ready is true and NamespaceReady is not"},
		"OldStatus":        {func(o *v1alpha1.Organization) { o.Generation = 3 }, "observedGeneration is 2, the spec's is 3"},
		"OldCondition":     {set("NamespaceReady", func(c *metav1.Condition) { c.ObservedGeneration = 1 }), ""},
		"OldSummary":       {set("Ready", func(c *metav1.Condition) { c.ObservedGeneration = 1 }), "another generation"},
		"FutureCondition":  {set("NamespaceReady", func(c *metav1.Condition) { c.ObservedGeneration = 3 }), "observedGeneration is 3"},
		"BadReason":        {set("Ready", func(c *metav1.Condition) { c.Reason = "not so" }), "not CamelCase"},
		"NoReason":         {set("Ready", func(c *metav1.Condition) { c.Reason = "" }), "not CamelCase"},
		"NextRetryTime":    {func(o *v1alpha1.Organization) { o.Status.NextRetryTime = &metav1.Time{Time: time.Now()} }, "nothing is to be tried again"},
		"DeletedReady":     {func(o *v1alpha1.Organization) { now := metav1.Now(); o.DeletionTimestamp = &now }, "being deleted"},
		"LongMessage":      {message(strings.Repeat("a", 1025)), "longer than"},
		"TrailingNewline":  {message("fine\n"), "one line"},
		"InnerNewline":     {message("a\nb"), "one line"},
		"Timestamp":        {message("since 2026-02-03T04:05:06Z"), "a date"},
		"LogTime":          {message("E0203 04:05:06.000001 main.go:1] bad"), "a time of day"},
		"Duration":         {message("took 1.5s"), "a duration"},
		"DurationLong":     {message("took 1m30s"), "a duration"},
		"DurationQuoted":   {message("waits (\"90s\")"), "\"90s\""},
		"NameIsNoDuration": {message("there is no node test-5m75s in 4s-pool"), ""},
		"Pointer":          {message("bad value 0xc000123456"), "a pointer"},
		"PID":              {message("pid 4711 ended"), "a process id"},
		"ForeignUID":       {message("made 11111111-2222-3333-4444-555555555555"), "a UID"},
		"OwnUID":           {message("Secret controlplane-0a1b2c3d-0000-4000-8000-000000000001 is there"), ""},
		"LocalPort":        {message("read tcp 127.0.0.1:39312->127.0.0.1:6443: reset"), "a local port"},
		"VersionIsNoTime":  {message("v1.36.3 of 10.244.0.0/16, port 6443, 3 members, code 1"), ""},
		"RetryWithoutTime": {func(o *v1alpha1.Organization) { spoilRetry(o, nil) }, "does not say when"},
		"RetryWithTime":    {func(o *v1alpha1.Organization) { now := metav1.Now(); spoilRetry(o, &now) }, ""},
		"ReconcilingStuck": {func(o *v1alpha1.Organization) { spoilRetry(o, nil); status("Stalled", "True")(o) }, "Reconciling and Stalled"},
		"NoTransitionTime": {set("Ready", func(c *metav1.Condition) { c.LastTransitionTime = metav1.Time{} }), "lastTransitionTime"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := healthy()
			tc.spoil(o)
			problems := Lint(o)
			if tc.want == "" {
				if len(problems) > 0 {
					t.Errorf("want no problem, got %v", problems)
				}
				return
			}
			if len(problems) == 0 || !strings.Contains(problems[0].Error(), tc.want) {
				t.Errorf("want a problem with %q, got %v", tc.want, problems)
			}
		})
	}
}

func spoilRetry(o *v1alpha1.Organization, next *metav1.Time) {
	o.Status.NextRetryTime = next
	for i := range o.Status.Conditions {
		switch c := &o.Status.Conditions[i]; c.Type {
		case "Ready":
			c.Status = "False"
		case "Reconciling":
			c.Status, c.Reason = "True", "Retrying"
		}
	}
}
