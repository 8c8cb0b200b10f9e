package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
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
	p := &Display{out: &got, start: start, size: func() (int, int) { return 46, 0 }}
	for _, look := range looks() {
		p.Update(look.steps, start.Add(look.at))
	}
	want := `
…    0.0s  Accepted⌫
…          Ready⌫
▼↑2
✓    0.4s  Accepted⌫
…    0.4s  Components⌫
    waiting for kube-apiserver⌫
…          Ready       not yet⌫
▼↑4
✓    0.4s  Accepted⌫
…    0.9s  Components⌫
    waiting for kube-apiserver⌫
…          Ready       not yet⌫
▼↑4
✓    0.4s  Accepted⌫
✗   12.3s  Components  no space left⌫
…          Ready       not yet⌫
▼`
	text := strings.NewReplacer(eraseLine, "⌫", eraseBelow, "▼", "\x1b[2A\r", "↑2\n", "\x1b[4A\r", "↑4\n").Replace(got.String())
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOddTerminals: lines fit into a terminal however narrow and low it is, because one that wraps or scrolls could not be drawn
// again; one that does not know its size, as a serial console, gets all that is said.
func TestOddTerminals(t *testing.T) {
	steps := []Step{{Name: "Accepted", State: StepDone}, {Name: "Components", Message: "waiting for kube-apiserver, 未就绪"}, {Name: "Ready", Message: "not yet"}}
	for _, size := range [][2]int{{200, 50}, {80, 24}, {30, 24}, {30, 3}, {12, 4}, {2, 2}, {80, 1}, {80, 2}} {
		var got bytes.Buffer
		start := time.Now()
		p := &Display{out: &got, start: start, size: func() (int, int) { return size[0], size[1] }}
		p.Update(steps, start)
		rows := strings.Split(strings.TrimSuffix(got.String(), eraseBelow), eraseLine+"\n")
		if rows = rows[:len(rows)-1]; len(rows) > max(size[1]-1, 0) && size[1] > 1 {
			t.Errorf("%v: %d lines", size, len(rows))
		}
		for _, row := range rows {
			if n := displaywidth.String(row); n > size[0]-1 {
				t.Errorf("%v: %q has %d columns", size, row, n)
			}
		}
	}
	var got bytes.Buffer
	start := time.Now()
	p := &Display{out: &got, start: start, size: func() (int, int) { return 0, 0 }}
	if p.Update(steps, start); !strings.Contains(got.String(), "kube-apiserver, 未就绪") {
		t.Errorf("without a size: %q", got.String())
	}
	if p := NewDisplay(&got, time.Now()); p.size != nil || p.color {
		t.Error("what is no terminal is drawn on")
	}
}

// TestCut: a sign of several letters is one sign, in the columns that terminals give it.
func TestCut(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		columns int
		want    string
	}{
		"fits":       {"waiting", 7, "waiting"},
		"too long":   {"waiting", 6, "waiti…"},
		"wide":       {"未就绪", 5, "未就…"},
		"half a one": {"未就绪", 4, "未…"},
		"accents":    {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		"emoji":      {"\u2764\ufe0f\u2764\ufe0f\u2764\ufe0f", 5, "\u2764\ufe0f\u2764\ufe0f…"},
		"one column": {"未", 1, "…"},
		"no size":    {"waiting", 0, "waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, cut(c.text, c.columns)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestColoredLines(t *testing.T) {
	start := time.Now()
	p := &Display{start: start, color: true, ended: map[string]time.Time{"Keys": start}}
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
			elapsed := ""
			if c.step.State != stepPending {
				elapsed = "0.0s"
			} else if c.current {
				elapsed = "1.0s"
			}
			if got := p.tinted(stepRows(c.step, elapsed, 4, c.current, 79, 0)[0]); got != c.want {
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
		"a pool that is not ready because of its nodes": {
			pool(2, 1, 3, "ClusterReady", "True", "", "Scaled", "False", "waiting for demo-a", "Ready", "False", "waiting for demo-a"),
			[]Step{{Name: "ClusterReady", State: StepDone}, {Name: "Nodes", Message: "1/3 ready, waiting for demo-a"}, {Name: "Ready", Message: "1/3 ready, waiting for demo-a"}},
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
