package cli

import (
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

// stepsOf returns the steps to a ready cluster: that it is accepted, its kubeconfig, its provisioner's own,
// and that all is well. When only a human helps, the first step that is not done has failed.
func stepsOf(c *v1alpha1.Cluster) []step {
	if c.DeletionTimestamp != nil {
		deletion := step{name: "Deletion"}
		if readyStatus(c) != string(metav1.ConditionTrue) { // else it still says why all was well
			deletion.message = cleanLine(readyMessage(c))
		}
		return []step{deletion}
	}
	steps := []step{conditionStep(c, v1alpha1.ConditionAccepted), conditionStep(c, v1alpha1.ConditionKubeconfigReady)}
	for _, s := range c.Status.Steps {
		next := step{name: cleanLine(s.Name), message: cleanLine(s.Message)}
		if s.Done {
			next = step{name: cleanLine(s.Name), state: stepDone}
		}
		steps = append(steps, next)
	}
	steps = append(steps, conditionStep(c, v1alpha1.ConditionReady))
	stalled := condition(c, v1alpha1.ConditionStalled)
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

// conditionStep returns a condition as a step.
func conditionStep(c *v1alpha1.Cluster, name string) step {
	found := condition(c, name)
	if found == nil {
		return step{name: name}
	}
	if found.Status == metav1.ConditionTrue {
		return step{name: name, state: stepDone}
	}
	return step{name: name, message: cleanLine(found.Message)}
}

// condition returns a condition that speaks of the cluster's spec as it is now, or nil.
func condition(c *v1alpha1.Cluster, name string) *metav1.Condition {
	if c.Status.ObservedGeneration < c.Generation {
		return nil
	}
	return apimeta.FindStatusCondition(c.Status.Conditions, name)
}
