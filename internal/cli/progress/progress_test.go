package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// looks are what a display is shown of a cluster that comes up, and when.
func looks() []struct {
	at    time.Duration
	steps []Step
} {
	return []struct {
		at    time.Duration
		steps []Step
	}{
		{0, []Step{{Name: "Accepted"}, {Name: "Ready"}}},
		{400 * time.Millisecond, []Step{{Name: "Accepted", State: StepDone}, {Name: "Components", Message: "waiting for kube-apiserver"}, {Name: "Ready", Message: "not yet"}}},
		{900 * time.Millisecond, []Step{{Name: "Accepted", State: StepDone}, {Name: "Components", Message: "waiting for kube-apiserver"}, {Name: "Ready", Message: "not yet"}}},
		{12300 * time.Millisecond, []Step{{Name: "Accepted", State: StepDone}, {Name: "Components", State: stepFailed, Message: "no space left"}, {Name: "Ready", Message: "not yet"}}},
	}
}

func TestPlainProgress(t *testing.T) {
	var got bytes.Buffer
	start := time.Now()
	p := &Display{out: &got, start: start}
	for _, look := range looks() {
		p.Update(look.steps, start.Add(look.at))
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
	p := &Display{out: &got, start: start, width: func() int { return 40 }}
	for _, look := range looks() {
		p.Update(look.steps, start.Add(look.at))
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

// TestOddTerminals: lines fit into a terminal however narrow it is, because one that wraps could not be drawn again; one that
// does not know its width, as a serial console, gets all that is said.
func TestOddTerminals(t *testing.T) {
	const name, message = "Components", "waiting for kube-apiserver"
	for width, longest := range map[int]int{80: 49, 30: 29, 2: 1, 1: 49, 0: 49} {
		var got bytes.Buffer
		start := time.Now()
		p := &Display{out: &got, start: start, width: func() int { return width }}
		p.Update([]Step{{Name: name, Message: message}}, start)
		line, _, _ := strings.Cut(got.String(), eraseLine)
		if letters := utf8.RuneCountInString(line); letters != longest {
			t.Errorf("width %d: %q has %d letters, want %d", width, line, letters, longest)
		}
	}
	var got bytes.Buffer
	if p := NewDisplay(&got, time.Now()); p.width != nil || p.color {
		t.Error("what is no terminal is drawn on")
	}
}

func TestColoredLines(t *testing.T) {
	start := time.Now()
	p := &Display{start: start, color: true, width: func() int { return 80 }, ended: map[string]time.Time{"Keys": start}}
	cases := map[string]struct {
		step    Step
		current bool
		want    string
	}{
		"done":    {Step{Name: "Keys", State: StepDone}, true, green + "✓" + plain + "    0.0s  Keys"},
		"failed":  {Step{Name: "Keys", State: stepFailed}, true, red + "✗" + plain + "    0.0s  Keys"},
		"current": {Step{Name: "Keys"}, true, "…    1.0s  Keys"},
		"later":   {Step{Name: "Keys"}, false, faint + "…          Keys" + plain},
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
		object kinds.Conditioned
		want   []Step
	}{
		"nothing is known": {
			cluster(func(*v1alpha1.Cluster) {}),
			[]Step{{Name: "Accepted"}, {Name: "KubeconfigReady"}, {Name: "Ready"}},
		},
		"what is known is of an older spec": {
			cluster(func(c *v1alpha1.Cluster) {
				c.Status.ObservedGeneration = 1
				c.Status.Conditions = conditions("Accepted", "True", "", "Ready", "True", "")
			}),
			[]Step{{Name: "Accepted"}, {Name: "KubeconfigReady"}, {Name: "Ready"}},
		},
		"on the way": {
			cluster(func(c *v1alpha1.Cluster) {
				c.Status.Conditions = conditions("Accepted", "True", "fine", "Ready", "False", "wait")
				c.Status.Steps = []v1alpha1.Step{{Name: "Keys", Done: true}, {Name: "Run\x1b", Message: "a\nb"}}
			}),
			[]Step{{Name: "Accepted", State: StepDone}, {Name: "KubeconfigReady"}, {Name: "Keys", State: StepDone}, {Name: "Run", Message: "a b"}, {Name: "Ready", Message: "wait"}},
		},
		"stalled": {
			cluster(func(c *v1alpha1.Cluster) {
				c.Status.Conditions = conditions("Accepted", "True", "", "KubeconfigReady", "True", "", "Stalled", "True", "no such region")
				c.Status.Steps = []v1alpha1.Step{{Name: "Keys"}}
			}),
			[]Step{{Name: "Accepted", State: StepDone}, {Name: "KubeconfigReady", State: StepDone}, {Name: "Keys", State: stepFailed, Message: "no such region"}, {Name: "Ready"}},
		},
		"being deleted": {
			cluster(func(c *v1alpha1.Cluster) {
				c.DeletionTimestamp = &metav1.Time{Time: time.Now()}
				c.Status.Conditions = conditions("Ready", "False", "2 processes remain")
			}),
			[]Step{{Name: "Deletion", Message: "2 processes remain"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, stepsOf(c.object), cmp.AllowUnexported(Step{})); diff != "" {
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
		object kinds.Conditioned
		want   []Step
	}{
		"a pool on the way": {
			pool(2, 1, 3, "ClusterReady", "True", "", "Scaled", "False", "waiting for demo-a", "Ready", "False", "not all nodes are ready"),
			[]Step{{Name: "ClusterReady", State: StepDone}, {Name: "Nodes", Message: "1/3 ready, waiting for demo-a"}, {Name: "Ready", Message: "not all nodes are ready"}},
		},
		"a pool of which nothing is said": {
			pool(2, 1, 3, "Scaled", "False", ""),
			[]Step{{Name: "ClusterReady"}, {Name: "Nodes", Message: "1/3 ready"}, {Name: "Ready"}},
		},
		"a pool that was not looked at since it scaled": {
			pool(1, 3, 3, "ClusterReady", "True", "", "Scaled", "True", "", "Ready", "True", ""),
			[]Step{{Name: "ClusterReady"}, {Name: "Nodes"}, {Name: "Ready"}},
		},
		"a pool that is stalled": {
			pool(2, 0, 3, "ClusterReady", "False", "no such cluster", "Stalled", "True", "no such cluster"),
			[]Step{{Name: "ClusterReady", State: stepFailed, Message: "no such cluster"}, {Name: "Nodes"}, {Name: "Ready"}},
		},
		"a machine": {
			&v1alpha1.Machine{Status: v1alpha1.MachineStatus{Status: v1alpha1.Status{Conditions: conditions("Ready", "False", "wait")}}},
			[]Step{{Name: "Ready", Message: "wait"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, stepsOf(c.object), cmp.AllowUnexported(Step{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
