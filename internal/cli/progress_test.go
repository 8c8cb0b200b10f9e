package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// looks are what a display is shown of a cluster that comes up, and when.
func looks() []struct {
	at    time.Duration
	steps []step
} {
	return []struct {
		at    time.Duration
		steps []step
	}{
		{0, []step{{name: "Accepted"}, {name: "Ready"}}},
		{400 * time.Millisecond, []step{{name: "Accepted", state: stepDone}, {name: "Components", message: "waiting for kube-apiserver"}, {name: "Ready", message: "not yet"}}},
		{900 * time.Millisecond, []step{{name: "Accepted", state: stepDone}, {name: "Components", message: "waiting for kube-apiserver"}, {name: "Ready", message: "not yet"}}},
		{12300 * time.Millisecond, []step{{name: "Accepted", state: stepDone}, {name: "Components", state: stepFailed, message: "no space left"}, {name: "Ready", message: "not yet"}}},
	}
}

func TestPlainProgress(t *testing.T) {
	var got bytes.Buffer
	start := time.Now()
	p := &progress{out: &got, start: start}
	for _, look := range looks() {
		p.update(look.steps, start.Add(look.at))
	}
	want := `  0.4s  Accepted: done
  0.4s  Components: waiting for kube-apiserver
  0.4s  Ready: not yet
 12.3s  Components: no space left
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLiveProgress wants each frame drawn over the one before it.
func TestLiveProgress(t *testing.T) {
	var got bytes.Buffer
	start := time.Now()
	p := &progress{out: &got, start: start, width: func() int { return 40 }}
	for _, look := range looks() {
		p.update(look.steps, start.Add(look.at))
	}
	want := `
…    0.0s  Accepted⌫
…          Ready⌫
▼↑2
✓    0.4s  Accepted⌫
…    0.4s  Components  waiting for kub…⌫
…          Ready       not yet⌫
▼↑3
✓    0.4s  Accepted⌫
…    0.9s  Components  waiting for kub…⌫
…          Ready       not yet⌫
▼↑3
✓    0.4s  Accepted⌫
✗   12.3s  Components  no space left⌫
…          Ready       not yet⌫
▼`
	text := strings.NewReplacer(eraseLine, "⌫", eraseBelow, "▼", "\x1b[2A\r", "↑2\n", "\x1b[3A\r", "↑3\n").Replace(got.String())
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestColoredLines(t *testing.T) {
	start := time.Now()
	p := &progress{start: start, color: true, width: func() int { return 80 }, ended: map[string]time.Time{"Keys": start}}
	cases := map[string]struct {
		step    step
		current bool
		want    string
	}{
		"done":    {step{name: "Keys", state: stepDone}, true, green + "✓" + plain + "    0.0s  Keys"},
		"failed":  {step{name: "Keys", state: stepFailed}, true, red + "✗" + plain + "    0.0s  Keys"},
		"current": {step{name: "Keys"}, true, "…    1.0s  Keys"},
		"later":   {step{name: "Keys"}, false, faint + "…          Keys" + plain},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := p.line(c.step, 4, c.current, start.Add(time.Second)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// conditions are made of their types, statuses and messages, in turn.
func conditions(words ...string) []metav1.Condition {
	var all []metav1.Condition
	for i := 0; i < len(words); i += 3 {
		all = append(all, metav1.Condition{Type: words[i], Status: metav1.ConditionStatus(words[i+1]), Message: words[i+2]})
	}
	return all
}

func TestStepsOf(t *testing.T) {
	cluster := func(change func(*v1alpha1.Cluster)) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{}
		c.Generation, c.Status.ObservedGeneration = 2, 2
		change(c)
		return c
	}
	cases := map[string]struct {
		object conditioned
		want   []step
	}{
		"nothing is known": {
			cluster(func(*v1alpha1.Cluster) {}),
			[]step{{name: "Accepted"}, {name: "KubeconfigReady"}, {name: "Ready"}},
		},
		"what is known is of an older spec": {
			cluster(func(c *v1alpha1.Cluster) {
				c.Status.ObservedGeneration = 1
				c.Status.Conditions = conditions("Accepted", "True", "", "Ready", "True", "")
			}),
			[]step{{name: "Accepted"}, {name: "KubeconfigReady"}, {name: "Ready"}},
		},
		"on the way": {
			cluster(func(c *v1alpha1.Cluster) {
				c.Status.Conditions = conditions("Accepted", "True", "fine", "Ready", "False", "wait")
				c.Status.Steps = []v1alpha1.Step{{Name: "Keys", Done: true}, {Name: "Run\x1b", Message: "a\nb"}}
			}),
			[]step{{name: "Accepted", state: stepDone}, {name: "KubeconfigReady"}, {name: "Keys", state: stepDone}, {name: "Run", message: "a b"}, {name: "Ready", message: "wait"}},
		},
		"stalled": {
			cluster(func(c *v1alpha1.Cluster) {
				c.Status.Conditions = conditions("Accepted", "True", "", "KubeconfigReady", "True", "", "Stalled", "True", "no such region")
				c.Status.Steps = []v1alpha1.Step{{Name: "Keys"}}
			}),
			[]step{{name: "Accepted", state: stepDone}, {name: "KubeconfigReady", state: stepDone}, {name: "Keys", state: stepFailed, message: "no such region"}, {name: "Ready"}},
		},
		"being deleted": {
			cluster(func(c *v1alpha1.Cluster) {
				c.DeletionTimestamp = &metav1.Time{Time: time.Now()}
				c.Status.Conditions = conditions("Ready", "False", "2 processes remain")
			}),
			[]step{{name: "Deletion", message: "2 processes remain"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, stepsOf(c.object), cmp.AllowUnexported(step{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStepsOfNodes(t *testing.T) {
	pool := func(observed int64, ready, wanted int32, pairs ...string) *v1alpha1.NodePool {
		p := &v1alpha1.NodePool{}
		p.Generation, p.Status.ObservedGeneration = 2, observed
		p.Spec.Replicas, p.Status.ReadyReplicas = wanted, ready
		p.Status.Conditions = conditions(pairs...)
		return p
	}
	cases := map[string]struct {
		object conditioned
		want   []step
	}{
		"a pool on the way": {
			pool(2, 1, 3, "ClusterReady", "True", "", "Scaled", "False", "waiting for demo-a", "Ready", "False", "not all nodes are ready"),
			[]step{{name: "ClusterReady", state: stepDone}, {name: "Nodes", message: "1/3 ready, waiting for demo-a"}, {name: "Ready", message: "not all nodes are ready"}},
		},
		"a pool of which nothing is said": {
			pool(2, 1, 3, "Scaled", "False", ""),
			[]step{{name: "ClusterReady"}, {name: "Nodes", message: "1/3 ready"}, {name: "Ready"}},
		},
		"a pool that nobody looked at since it scaled": {
			pool(1, 3, 3, "ClusterReady", "True", "", "Scaled", "True", "", "Ready", "True", ""),
			[]step{{name: "ClusterReady"}, {name: "Nodes"}, {name: "Ready"}},
		},
		"a pool that is stalled": {
			pool(2, 0, 3, "ClusterReady", "False", "no such cluster", "Stalled", "True", "no such cluster"),
			[]step{{name: "ClusterReady", state: stepFailed, message: "no such cluster"}, {name: "Nodes"}, {name: "Ready"}},
		},
		"a machine": {
			&v1alpha1.Machine{Status: v1alpha1.MachineStatus{Status: v1alpha1.Status{Conditions: conditions("Ready", "False", "wait")}}},
			[]step{{name: "Ready", message: "wait"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, stepsOf(c.object), cmp.AllowUnexported(step{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMet(t *testing.T) {
	cluster := func(generation int64, pairs ...string) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{}
		c.Generation, c.Status.ObservedGeneration = generation, 1
		for i := 0; i < len(pairs); i += 2 {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: pairs[i], Status: metav1.ConditionStatus(pairs[i+1])})
		}
		return c
	}
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
		object conditioned
		want   bool
		code   int
	}{
		"a pool that is ready":                         {"Ready", scaled(1), true, 0},
		"a pool that nobody looked at since it scaled": {"Ready", scaled(2), false, 0},
		"ready":                           {"Ready", cluster(1, "Ready", "True"), true, 0},
		"ready for an older spec":         {"Ready", cluster(2, "Ready", "True"), false, 0},
		"not yet":                         {"Ready", cluster(1, "Ready", "False"), false, 0},
		"stalled":                         {"Ready", cluster(1, "Stalled", "True"), false, codeError},
		"stalled is what is waited for":   {"Stalled", cluster(1, "Stalled", "True"), true, 0},
		"none":                            {"Ready", nil, false, codeNotFound},
		"being deleted":                   {"Ready", going, false, codeError},
		"gone":                            {goalDeleted, nil, true, 0},
		"going, and stalled is no matter": {goalDeleted, cluster(1, "Stalled", "True"), false, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			met, err := waiting{noun: clusterNoun, name: "demo", goal: c.goal}.met(c.object)
			code := 0
			if err != nil {
				code = exitCode(err)
			}
			if met != c.want || code != c.code {
				t.Errorf("got %t with code %d (%v), want %t with code %d", met, code, err, c.want, c.code)
			}
		})
	}
}
