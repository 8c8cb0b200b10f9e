package topology

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// podIndex finds pods by their labels: a cluster with a thousand Services and ten thousand pods has ten million pairs, and few that fit.
type podIndex struct {
	of      map[string][]indexedPod // all of a namespace
	labeled map[labeled][]indexedPod
}

type indexedPod struct {
	id     string
	labels labels.Set
}

type labeled struct{ namespace, key, value string }

func indexPods(objects []Object) *podIndex {
	p := &podIndex{of: map[string][]indexedPod{}, labeled: map[labeled][]indexedPod{}}
	for i := range objects {
		o := &objects[i]
		if o.Kind != "Pod" || o.Group != "" {
			continue
		}
		pod := indexedPod{o.ID(), o.Labels}
		p.of[o.Namespace] = append(p.of[o.Namespace], pod)
		for key, value := range o.Labels {
			at := labeled{o.Namespace, key, value}
			p.labeled[at] = append(p.labeled[at], pod)
		}
	}
	return p
}

// selected are the IDs of the pods of a namespace that a selector takes. Each comparison is taken off work; whole is false when that did not
// suffice.
func (p *podIndex) selected(namespace string, selector labels.Selector, work *int) (ids []string, whole bool) {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil, true
	}
	candidates, weight := p.of[namespace], 1
	for _, r := range requirements {
		values := r.ValuesUnsorted()
		weight += 1 + len(values)
		if (r.Operator() == selection.Equals || r.Operator() == selection.In) && len(values) == 1 {
			if fewer := p.labeled[labeled{namespace, r.Key(), values[0]}]; len(fewer) < len(candidates) {
				candidates = fewer
			}
		}
	}
	for _, pod := range candidates {
		if *work -= weight; *work < 0 {
			return ids, false
		}
		if selector.Matches(pod.labels) {
			ids = append(ids, pod.id)
		}
	}
	return ids, true
}

// plainSelector is that of a Service: labels that pods have to have. Without any it selects none; its Endpoints are another program's.
func plainSelector(of map[string]string) labels.Selector {
	if len(of) == 0 {
		return nil
	}
	return labels.SelectorFromSet(of)
}

// labelSelector is that of a NetworkPolicy or a PodDisruptionBudget: an empty one selects all pods of the namespace, and none selects none.
// One that an API server would not have taken selects none, too.
func labelSelector(of *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return nil
	}
	return selector
}
