package verbs

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

func TestMet(t *testing.T) {
	cluster := func(generation int64, pairs ...string) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{}
		c.Generation, c.Status.ObservedGeneration = generation, 1
		for i := 0; i < len(pairs); i += 2 {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: pairs[i], Status: metav1.ConditionStatus(pairs[i+1])})
		}
		return c
	}
	earlier := cluster(2, "Provisioned", "True", "Accepted", "False")
	earlier.Status.ObservedGeneration = 2
	earlier.Status.Conditions[0].ObservedGeneration, earlier.Status.Conditions[1].ObservedGeneration = 1, 2
	going := cluster(1, "Ready", "False")
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	scaled := func(generation int64) *v1alpha1.NodePool {
		p := &v1alpha1.NodePool{}
		p.Generation, p.Status.ObservedGeneration = generation, 1
		p.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}}
		return p
	}
	cases := map[string]struct {
		goal   string
		object kinds.Conditioned
		want   bool
		code   int
	}{
		"a pool that is ready":                          {"Ready", scaled(1), true, 0},
		"a pool that was not looked at since it scaled": {"Ready", scaled(2), false, 0},
		"ready":                   {"Ready", cluster(1, "Ready", "True"), true, 0},
		"ready for an older spec": {"Ready", cluster(2, "Ready", "True"), false, 0},
		"true of an older spec, and not looked at since": {"Provisioned", earlier, false, 0},
		"not yet":                         {"Ready", cluster(1, "Ready", "False"), false, 0},
		"stalled":                         {"Ready", cluster(1, "Stalled", "True"), false, exit.Failed},
		"stalled is what is waited for":   {"Stalled", cluster(1, "Stalled", "True"), true, 0},
		"none":                            {"Ready", nil, false, exit.NotFound},
		"being deleted":                   {"Ready", going, false, exit.Failed},
		"gone":                            {goalDeleted, nil, true, 0},
		"going, and stalled is no matter": {goalDeleted, cluster(1, "Stalled", "True"), false, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			met, err := (&Waiting{Kind: kinds.Cluster, Name: "demo", Goal: c.goal}).met(c.object)
			code := 0
			if err != nil {
				code = exit.CodeOf(err)
			}
			if met != c.want || code != c.code {
				t.Errorf("got %t with code %d (%v), want %t with code %d", met, code, err, c.want, c.code)
			}
		})
	}
}

func TestDeleteQuestion(t *testing.T) {
	for want, names := range map[string][]string{
		"Delete cluster a and all its data?":             {"a"},
		"Delete clusters a, b and c and all their data?": {"a", "b", "c"},
	} {
		if got := deleteQuestion(kinds.Cluster, names, "data"); got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
}
