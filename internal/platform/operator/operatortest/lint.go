package operatortest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// longestMessage keeps a condition's message readable on a terminal.
const longestMessage = 1024 // bytes

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// changing is what differs from try to try: a message with it would be written anew on every one.
var changing = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"a date", regexp.MustCompile(`\b20\d\d-\d\d-\d\d`)},
	{"a time of day", regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)},
	// Names that another program makes up, such as "test-5m75s", have none in them.
	{"a duration", regexp.MustCompile(`(?:^|[^-.\w])(\d+(?:\.\d+)?(?:ns|µs|ms|s|m\d+s|h\d+m))(?:$|[^-\w])`)},
	{"a pointer", regexp.MustCompile(`\b0x[0-9a-f]{6,}\b`)},
	{"a process id", regexp.MustCompile(`(?i)\bpid \d+`)},
	{"a UID", regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
	{"a local port", regexp.MustCompile(`\d:\d+->`)},
}

// CheckStatus fails the test when the object's status breaks a rule that holds after every run of a
// reconciler. See Lint.
func CheckStatus(t testing.TB, obj operator.Object) {
	t.Helper()
	for _, problem := range Lint(obj) {
		t.Errorf("status of %s: %v", obj.GetName(), problem)
	}
}

// Lint returns what is wrong with a status after a run of a reconciler:
//
//   - kstatus: Ready, Reconciling and Stalled are there; Ready=True goes with neither Reconciling=True nor
//     Stalled=True, which exclude each other; one of the three is true (https://github.com/kubernetes-sigs/cli-utils,
//     pkg/kstatus). What is being deleted is not Ready.
//   - observedGeneration is the spec's generation, and no condition is ahead of it; those that sum up are at it.
//   - Every condition has a reason in CamelCase and a message that is short, on one line, and the same from try to try.
//   - nextRetryTime is there exactly while the reason of Reconciling is Retrying.
func Lint(obj operator.Object) []error {
	shared := obj.Shared()
	problems := lintSummary(shared, !obj.GetDeletionTimestamp().IsZero())
	if shared.ObservedGeneration != obj.GetGeneration() {
		problems = append(problems, fmt.Errorf("observedGeneration is %d, the spec's is %d", shared.ObservedGeneration, obj.GetGeneration()))
	}
	for _, c := range shared.Conditions {
		if c.ObservedGeneration <= 0 || c.ObservedGeneration > obj.GetGeneration() {
			problems = append(problems, fmt.Errorf("%s: observedGeneration is %d, the spec's is %d", c.Type, c.ObservedGeneration, obj.GetGeneration()))
		}
		if !camelCase.MatchString(c.Reason) {
			problems = append(problems, fmt.Errorf("%s: the reason %q is not CamelCase", c.Type, c.Reason))
		}
		if c.LastTransitionTime.IsZero() {
			problems = append(problems, fmt.Errorf("%s: lastTransitionTime is not set", c.Type))
		}
		// The object's own UID is the same from try to try.
		if err := lintMessage(strings.ReplaceAll(c.Message, string(obj.GetUID()), "<uid>")); err != nil {
			problems = append(problems, fmt.Errorf("%s: the message %q %w", c.Type, c.Message, err))
		}
	}
	return problems
}

// lintSummary checks the conditions that every kind has, and what follows from them.
func lintSummary(shared *v1alpha1.Status, deleting bool) []error {
	var problems []error
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		c := apimeta.FindStatusCondition(shared.Conditions, kind)
		add(c == nil, "condition %s is missing", kind)
		add(c != nil && c.ObservedGeneration != shared.ObservedGeneration, "condition %s speaks of another generation than the status", kind)
	}
	is := func(kind string) bool { return apimeta.IsStatusConditionTrue(shared.Conditions, kind) }
	ready, reconciling, stalled := is(v1alpha1.ConditionReady), is(v1alpha1.ConditionReconciling), is(v1alpha1.ConditionStalled)
	add(ready && reconciling, "Ready and Reconciling are both true")
	add(ready && stalled, "Ready and Stalled are both true")
	add(reconciling && stalled, "Reconciling and Stalled are both true")
	add(!ready && !reconciling && !stalled, "none of Ready, Reconciling and Stalled is true: users cannot tell what goes on")
	add(ready && deleting, "Ready is true while the object is being deleted")
	for _, c := range shared.Conditions {
		add(ready && c.Status != metav1.ConditionTrue && !abnormal(c.Type) && !aside(c.Type), "Ready is true and %s is not", c.Type)
	}
	add(shared.NextRetryTime != nil && !retrying(shared.Conditions), "nextRetryTime is set and nothing is to be tried again")
	add(shared.NextRetryTime == nil && retrying(shared.Conditions) && !deleting, "a step is to be tried again and nextRetryTime does not say when")
	return problems
}

// aside says whether Ready does not depend on a condition (operator.Aside).
func aside(kind string) bool {
	switch kind {
	case v1alpha1.ConditionAddonsReady, v1alpha1.ConditionScheduled, v1alpha1.ConditionLastBackupTaken, v1alpha1.ConditionChangesRecorded:
		return true
	}
	return false
}

// abnormal says whether a condition is false when all is well.
func abnormal(kind string) bool {
	switch kind {
	case v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionStoreQuotaExceeded, v1alpha1.ConditionStoreUnmeasured, v1alpha1.ConditionNearlyFull,
		v1alpha1.ConditionAuthorityExpiring:
		return true
	}
	return false
}

// retrying says whether a step is to be tried again. While deleting the reason is Deleting whatever goes on.
func retrying(conditions []metav1.Condition) bool {
	c := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionReconciling)
	return c != nil && c.Status == metav1.ConditionTrue && (c.Reason == v1alpha1.ReasonRetrying || c.Reason == v1alpha1.ReasonDeleting)
}

func lintMessage(message string) error {
	if len(message) > longestMessage {
		return fmt.Errorf("is longer than %d bytes", longestMessage)
	}
	if strings.TrimSpace(message) != message || strings.ContainsAny(message, "\n\r\t") {
		return errors.New("is not one line without space around it")
	}
	for _, c := range changing {
		if found := c.pattern.FindStringSubmatch(message); found != nil {
			return fmt.Errorf("holds %s, %q, which differs from try to try", c.what, found[len(found)-1])
		}
	}
	return nil
}
