package cli

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// stepState says how far a step is.
type stepState int

const (
	stepPending stepState = iota
	stepDone
	stepFailed
)

// step is one line of a progress display.
type step struct {
	name    string
	state   stepState
	message string
}

// stepsOf returns the steps until an object is ready, or gone. When only a human helps, the first step that
// is not done has failed.
func stepsOf(o conditioned) []step {
	if o.GetDeletionTimestamp() != nil {
		deletion := step{name: "Deletion"}
		if readyStatus(o) != string(metav1.ConditionTrue) { // else it still says why all was well
			deletion.message = cleanLine(readyMessage(o))
		}
		return []step{deletion}
	}
	var steps []step
	switch o := o.(type) {
	case *v1alpha1.Cluster:
		steps = clusterSteps(o)
	case *v1alpha1.NodePool:
		steps = []step{conditionStep(o, v1alpha1.ConditionClusterReady), nodesStep(o)}
	}
	steps = append(steps, conditionStep(o, v1alpha1.ConditionReady))
	stalled := condition(o, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue {
		return steps
	}
	for i := range steps {
		if steps[i].state != stepDone {
			steps[i].state, steps[i].message = stepFailed, cleanLine(stalled.Message)
			break
		}
	}
	return steps
}

// clusterSteps are that a cluster is accepted, its kubeconfig, and its provisioner's own.
func clusterSteps(c *v1alpha1.Cluster) []step {
	steps := []step{conditionStep(c, v1alpha1.ConditionAccepted), conditionStep(c, v1alpha1.ConditionKubeconfigReady)}
	for _, s := range c.Status.Steps {
		next := step{name: cleanLine(s.Name), message: cleanLine(s.Message)}
		if s.Done {
			next = step{name: cleanLine(s.Name), state: stepDone}
		}
		steps = append(steps, next)
	}
	return steps
}

// nodesStep is how many of a pool's nodes are ready, and what the others wait for.
func nodesStep(p *v1alpha1.NodePool) step {
	nodes := step{name: "Nodes"}
	scaled := condition(p, v1alpha1.ConditionScaled)
	if scaled == nil {
		return nodes
	}
	if scaled.Status == metav1.ConditionTrue {
		nodes.state = stepDone
		return nodes
	}
	nodes.message = fmt.Sprintf("%d/%d ready", p.Status.ReadyReplicas, p.Spec.Replicas)
	if message := cleanLine(scaled.Message); message != "" {
		nodes.message += ", " + message
	}
	return nodes
}

// conditionStep returns a condition as a step.
func conditionStep(o conditioned, name string) step {
	found := condition(o, name)
	if found == nil {
		return step{name: name}
	}
	if found.Status == metav1.ConditionTrue {
		return step{name: name, state: stepDone}
	}
	return step{name: name, message: cleanLine(found.Message)}
}

// condition returns a condition that speaks of the object's spec as it is now, or nil.
func condition(o conditioned, name string) *metav1.Condition {
	status := o.Shared()
	if status.ObservedGeneration < o.GetGeneration() {
		return nil
	}
	return apimeta.FindStatusCondition(status.Conditions, name)
}
