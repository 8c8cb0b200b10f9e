package machinecontroller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// annotationRecord is on the Machine. It is not on the Node, which the node itself may annotate: a record
// there would let a node name labels and taints of others, and we would remove them for it.
const annotationRecord = "kqueen.io/record"

// record is what is remembered of a machine, so that what we made can be told from what others made.
type record struct {
	// Cluster is the UID of the cluster that the machine was made for.
	Cluster types.UID `json:"cluster,omitempty"`
	// Labels and Taints (key:effect) that we may have set on the node, sorted.
	Labels []string `json:"labels,omitempty"`
	Taints []string `json:"taints,omitempty"`
}

// recordOf reads a machine's record. One that cannot be read counts as none.
func recordOf(m *v1alpha1.Machine) record {
	var r record
	if err := json.Unmarshal([]byte(m.Annotations[annotationRecord]), &r); err != nil {
		return record{}
	}
	return r
}

// recordFor is the record of a node that is as wanted.
func recordFor(cluster types.UID, labels map[string]string, taints []corev1.Taint) record {
	r := record{Cluster: cluster, Labels: slices.Sorted(maps.Keys(labels))}
	for _, t := range taints {
		r.Taints = append(r.Taints, taintID(t))
	}
	r.Taints = union(r.Taints, nil)
	return r
}

func (r record) equal(o record) bool {
	return r.Cluster == o.Cluster && slices.Equal(r.Labels, o.Labels) && slices.Equal(r.Taints, o.Taints)
}

// with is the record of a node that is between the two.
func (r record) with(o record) record {
	return record{Cluster: o.Cluster, Labels: union(r.Labels, o.Labels), Taints: union(r.Taints, o.Taints)}
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func taintID(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

// remember writes the record. It has to be called with all that is wanted before any of it is set on a
// node, and without what is not wanted any more only after that was removed: a crash in between must not
// make us forget what is ours. It can be written once in a run: the machine that the phases share stays as it
// was read, or its annotations would be part of the patch of its status.
func (r *reconciler) remember(ctx context.Context, m *v1alpha1.Machine, rec record) error {
	if recordOf(m).equal(rec) {
		return nil
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("write the machine's record: %w", err)
	}
	// A copy is patched: the answer would overwrite what this run has put into the status so far. The lock
	// refuses a record that was made from an old one.
	noted := m.DeepCopy()
	if noted.Annotations == nil {
		noted.Annotations = map[string]string{}
	}
	noted.Annotations[annotationRecord] = string(data)
	if err := r.Client.Patch(ctx, noted, client.MergeFromWithOptions(m, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the machine's record: %w", err)
	}
	return nil
}
