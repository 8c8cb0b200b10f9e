package progress

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// stepState says how far a step is.
type stepState int

// How far a step is.
const (
	stepPending stepState = iota
	StepDone
	stepFailed
)

// Step is one line of a progress display.
type Step struct {
	Name    string
	State   stepState
	Message string
}

// stepsOf returns the steps until an object is ready, or gone. When only a human helps, the first step that
// is not done has failed.
func stepsOf(o kinds.Conditioned) []Step {
	if o.GetDeletionTimestamp() != nil {
		deletion := Step{Name: "Deletion"}
		if kinds.ReadyStatus(o) != string(metav1.ConditionTrue) { // else it still says why all was well
			deletion.Message = console.CleanLine(kinds.ReadyMessage(o))
		}
		return []Step{deletion}
	}
	var steps []Step
	ready := conditionStep(o, v1alpha1.ConditionReady)
	switch o := o.(type) {
	case *v1alpha1.Cluster:
		steps = clusterSteps(o)
	case *v1alpha1.Upgrade:
		steps = upgradeSteps(o)
	case *v1alpha1.NodePool:
		nodes := nodesStep(o)
		steps = []Step{conditionStep(o, v1alpha1.ConditionClusterReady), nodes}
		if ready.Message != "" && ready.Message == conditionStep(o, v1alpha1.ConditionScaled).Message {
			ready.Message = nodes.Message // the display says once what two steps say
		}
	}
	steps = append(steps, ready)
	stalled := kinds.Condition(o, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue {
		return steps
	}
	for i := range steps {
		if steps[i].State != StepDone {
			steps[i].State, steps[i].Message = stepFailed, console.CleanLine(stalled.Message)
			break
		}
	}
	return steps
}

// clusterSteps are that a cluster is accepted, its kubeconfig, and its provisioner's own.
func clusterSteps(c *v1alpha1.Cluster) []Step {
	steps := []Step{conditionStep(c, v1alpha1.ConditionAccepted), conditionStep(c, v1alpha1.ConditionKubeconfigReady)}
	for _, s := range c.Status.Steps {
		next := Step{Name: console.CleanLine(s.Name), Message: console.CleanLine(s.Message)}
		if s.Done {
			next = Step{Name: console.CleanLine(s.Name), State: StepDone}
		}
		steps = append(steps, next)
	}
	return steps
}

// upgradeSteps are those of the upgrade itself, once they are planned. One that is not done says what it waits for, and how long it took in
// the upgrade before.
func upgradeSteps(u *v1alpha1.Upgrade) []Step {
	if len(u.Status.Steps) == 0 {
		return []Step{conditionStep(u, v1alpha1.ConditionPlanned)}
	}
	steps := make([]Step, 0, len(u.Status.Steps))
	for i := range u.Status.Steps {
		s := &u.Status.Steps[i]
		next := Step{Name: console.CleanLine(s.Name), Message: console.CleanLine(s.Message)}
		switch {
		case s.Ended():
			next.State, next.Message = StepDone, ""
		case s.LastSeconds > 0:
			next.Message = strings.TrimSpace(fmt.Sprintf("%s (last time %d s)", next.Message, s.LastSeconds))
		}
		steps = append(steps, next)
	}
	return steps
}

// nodesStep is how many of a pool's nodes are ready, and what the others wait for.
func nodesStep(p *v1alpha1.NodePool) Step {
	nodes := Step{Name: "Nodes"}
	if kinds.Condition(p, v1alpha1.ConditionScaled) == nil {
		return nodes
	}
	scaled := conditionStep(p, v1alpha1.ConditionScaled)
	if scaled.State == StepDone {
		nodes.State = StepDone
		return nodes
	}
	nodes.Message = fmt.Sprintf("%d/%d ready", p.Status.ReadyReplicas, p.Spec.Replicas)
	if scaled.Message != "" {
		nodes.Message += ", " + scaled.Message
	}
	return nodes
}

// conditionStep returns a condition as a step.
func conditionStep(o kinds.Conditioned, name string) Step {
	found := kinds.Condition(o, name)
	if found == nil {
		return Step{Name: name}
	}
	if found.Status == metav1.ConditionTrue {
		return Step{Name: name, State: StepDone}
	}
	return Step{Name: name, Message: console.CleanLine(found.Message)}
}
