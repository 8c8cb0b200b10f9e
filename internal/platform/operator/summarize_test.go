package operator

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// say is a condition in one line, for tables.
func say(conditions []metav1.Condition) []string {
	var out []string
	for _, c := range conditions {
		out = append(out, c.Type+"="+string(c.Status)+" "+c.Reason+" "+c.Message)
	}
	slices.Sort(out)
	return out
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 6}
}

// summary is what follows from results.
type summary struct {
	reason   string
	have     []metav1.Condition
	results  []result
	ready    string
	deleting bool
	want     []string
}

// TestSummarizeTrouble is about results that neither end a run nor say plainly yes or no.
func TestSummarizeTrouble(t *testing.T) {
	tests := map[string]summary{
		"WarnedThenDone": {
			reason:  "A warning does not hide what the phases after it say, and Ready repeats the warning.",
			results: []result{{"A", Warn("Failing", "a limps"), false}, {"B", DoneUntil("Serving", "b serves", 1), false}},
			want:    []string{"A=False Failing a limps", "B=True Serving b serves", "Ready=False Failing a limps", "Reconciling=True Progressing a limps", "Stalled=False Idle "},
		},
		"Aside": {
			reason:  "What is aside has its own condition, and Ready does not depend on it.",
			results: []result{{"A", Done("Serving", "a serves"), false}, {"B", Aside("Waiting", "b waits", 1), false}},
			want:    []string{"A=True Serving a serves", "B=False Waiting b waits", "Ready=True Ready a serves", "Reconciling=False Idle ", "Stalled=False Idle "},
		},
		"AsideThenRetrying": {
			reason:  "What comes after it counts.",
			results: []result{{"A", Aside("Waiting", "a waits", 1), false}, {"B", Retry("Refused", errors.New("no")), false}},
			want:    []string{"A=False Waiting a waits", "B=False Refused no", "Ready=False Refused no", "Reconciling=True Retrying no", "Stalled=False Idle "},
		},
		"WarnedThenRetrying": {
			reason:  "Ready names the first thing that is wrong; Reconciling what is tried.",
			results: []result{{"A", Warn("Failing", "a limps"), false}, {"B", Retry("Refused", errors.New("no")), false}},
			want:    []string{"A=False Failing a limps", "B=False Refused no", "Ready=False Failing a limps", "Reconciling=True Retrying no", "Stalled=False Idle "},
		},
		"WarnedThenStalled": {
			reason:  "What only a user can mend comes before a warning.",
			results: []result{{"A", Warn("Failing", "a limps"), false}, {"B", Stalled("Broken", "mend it"), false}},
			want:    []string{"A=False Failing a limps", "B=False Broken mend it", "Ready=False Broken mend it", "Reconciling=False Idle ", "Stalled=True Broken mend it"},
		},
		"WarnedAndWords": {
			reason:  "What Ready says while it is true it does not say otherwise.",
			results: []result{{"A", Warn("Failing", "a limps"), false}},
			ready:   "all is served",
			want:    []string{"A=False Failing a limps", "Ready=False Failing a limps", "Reconciling=True Progressing a limps", "Stalled=False Idle "},
		},
		"DoneAndWords": {
			reason:  "Ready speaks of the object, and not of the last step.",
			results: []result{{"A", Done("Made", "a is made"), false}},
			ready:   "all is served",
			want:    []string{"A=True Made a is made", "Ready=True Ready all is served", "Reconciling=False Idle ", "Stalled=False Idle "},
		},
		"Unknown": {
			reason:  "A look that did not succeed says nothing of the thing: neither that it is there nor that it is not.",
			have:    []metav1.Condition{condition("B", metav1.ConditionTrue, "Serving", "b serves")},
			results: []result{{"A", Done("Made", ""), false}, {"B", Unknown("Unreachable", errors.New("no answer"), 1), false}},
			want:    []string{"A=True Made ", "B=Unknown Unreachable no answer", "Ready=Unknown Unreachable no answer", "Reconciling=True Retrying no answer", "Stalled=False Idle "},
		},
		"Left": {
			reason:   "A condition about leaving becomes true when Remove is done.",
			results:  []result{{"B", Done("Left", "all have left"), true}, {"A", Unknown("Unreachable", errors.New("no answer"), 1), false}},
			deleting: true,
			want:     []string{"A=False Unreachable no answer", "B=True Left all have left", "Ready=False Deleting no answer", "Reconciling=True Deleting no answer", "Stalled=False Idle "},
		},
		"Leaving": {
			reason:   "Until then it is false.",
			results:  []result{{"B", Wait("Leaving", "one is left", 0), true}},
			deleting: true,
			want:     []string{"B=False Leaving one is left", "Ready=False Deleting one is left", "Reconciling=True Deleting one is left", "Stalled=False Idle "},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, say(summarize(tc.have, tc.results, tc.ready, 7, tc.deleting))); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSummarize(t *testing.T) {
	tests := map[string]summary{
		"NoPhase": {
			reason: "An object of which nothing has to be done is ready.",
			want:   []string{"Ready=True Ready ", "Reconciling=False Idle ", "Stalled=False Idle "},
		},
		"AllDone": {
			reason:  "Ready says what the last phase said.",
			results: []result{{"A", Done("Made", "a is there"), false}, {"B", Done("Serving", "b serves"), false}},
			want:    []string{"A=True Made a is there", "B=True Serving b serves", "Ready=True Ready b serves", "Reconciling=False Idle ", "Stalled=False Idle "},
		},
		"Waiting": {
			reason:  "Waiting is progress, not a failure; the reason of Ready is the phase's.",
			results: []result{{"A", Done("Made", ""), false}, {"B", Wait("Starting", "b starts", 0), false}},
			want:    []string{"A=True Made ", "B=False Starting b starts", "Ready=False Starting b starts", "Reconciling=True Progressing b starts", "Stalled=False Idle "},
		},
		"Retrying": {
			reason:  "A failed try says so in the reason of Reconciling.",
			results: []result{{"A", Retry("Refused", errors.New("no")), false}},
			want:    []string{"A=False Refused no", "Ready=False Refused no", "Reconciling=True Retrying no", "Stalled=False Idle "},
		},
		"Stalled": {
			reason:  "What only a user can mend is not being worked on.",
			results: []result{{"A", Stalled("Broken", "mend %s", "it"), false}},
			want:    []string{"A=False Broken mend it", "Ready=False Broken mend it", "Reconciling=False Idle ", "Stalled=True Broken mend it"},
		},
		"NotReached": {
			reason:  "A phase that was not reached keeps what it said.",
			have:    []metav1.Condition{condition("B", metav1.ConditionTrue, "Serving", "b serves"), condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready", "")},
			results: []result{{"A", Wait("Later", "", 0), false}},
			want:    []string{"A=False Later ", "B=True Serving b serves", "Ready=False Later ", "Reconciling=True Progressing ", "Stalled=False Idle "},
		},
		"Mended": {
			reason:  "Stalled goes when the cause is gone.",
			have:    []metav1.Condition{condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, "Broken", "mend it"), condition("A", metav1.ConditionFalse, "Broken", "mend it")},
			results: []result{{"A", Done("Made", ""), false}},
			want:    []string{"A=True Made ", "Ready=True Ready ", "Reconciling=False Idle ", "Stalled=False Idle "},
		},
		"Removed": {
			reason:   "While deleting, done means removed, and the object is never ready.",
			have:     []metav1.Condition{condition("B", metav1.ConditionTrue, "Serving", "b serves")},
			results:  []result{{"B", Done("Idle", ""), false}, {"A", Wait("Remaining", "a is still there", 0), false}},
			deleting: true,
			want:     []string{"A=False Remaining a is still there", "B=False Idle ", "Ready=False Deleting a is still there", "Reconciling=True Deleting a is still there", "Stalled=False Idle "},
		},
		"StalledWhileDeleting": {
			reason:   "A deletion that only a user can end says so.",
			results:  []result{{"A", Stalled("Foreign", "not ours"), false}},
			deleting: true,
			want:     []string{"A=False Foreign not ours", "Ready=False Foreign not ours", "Reconciling=False Idle ", "Stalled=True Foreign not ours"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tc.have)
			got := summarize(tc.have, tc.results, tc.ready, 7, tc.deleting)
			if diff := cmp.Diff(tc.want, say(got)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.have); diff != "" {
				t.Errorf("the conditions that were handed in have changed:\n%s", diff)
			}
			for _, c := range got {
				if kept := c.Type == "B" && name == "NotReached"; !kept && c.ObservedGeneration != 7 {
					t.Errorf("%s: observedGeneration is %d, want 7", c.Type, c.ObservedGeneration)
				}
			}
		})
	}
}

// TestSummarizeKeepsTransitionTime: the time says since when, so saying the same again must not move it.
func TestSummarizeKeepsTransitionTime(t *testing.T) {
	results := []result{{"A", Done("Made", ""), false}}
	first := summarize(nil, results, "", 1, false)
	second := summarize(first, results, "", 1, false)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second run changed conditions:\n%s", diff)
	}
}

func TestChanges(t *testing.T) {
	type said struct {
		Condition string
		Warning   bool
	}
	results := func(o Outcome) []metav1.Condition { return summarize(nil, []result{{"A", o, false}}, "", 1, false) }
	tests := map[string]struct {
		reason        string
		before, after []metav1.Condition
		want          []said
	}{
		"Nothing":      {"Nothing changed, nothing is said.", results(Done("Made", "")), results(Done("Made", "")), nil},
		"OtherMessage": {"A message alone is no event.", results(Wait("Starting", "1 of 2", 0)), results(Wait("Starting", "2 of 2", 0)), nil},
		"FirstWait":    {"Waiting is no warning, and Ready=False would say it twice.", nil, results(Wait("Starting", "", 0)), []said{{"A", false}}},
		"Becomes true": {"Ready is said when it is reached.", results(Wait("Starting", "", 0)), results(Done("Made", "")), []said{{"A", false}, {"Ready", false}}},
		"Retry":        {"A failed try is a warning.", results(Done("Made", "")), results(Retry("Refused", errors.New("no"))), []said{{"A", true}}},
		"SameRetry":    {"The same failure again is no news.", results(Retry("Refused", errors.New("no"))), results(Retry("Refused", errors.New("no"))), nil},
		"Stalled":      {"Being stuck is a warning, said once.", results(Done("Made", "")), results(Stalled("Broken", "mend it")), []said{{"A", true}}},
		"Failed":       {"What failed is a warning, also where the phases after it run.", nil, results(Warn(v1alpha1.ReasonMachineFailed, "")), []said{{"A", true}}},
		"NewReason":    {"Another reason is news.", results(Wait("Starting", "", 0)), results(Wait("Failing", "", 0)), []said{{"A", false}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []said
			for _, c := range changes(tc.before, tc.after) {
				got = append(got, said{c.condition.Type, c.warning})
			}
			byName := cmpopts.SortSlices(func(a, b said) bool { return a.Condition < b.Condition })
			if diff := cmp.Diff(tc.want, got, byName); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
