package nodepool

import (
	"bytes"
	"encoding/json"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newMachine returns a machine of a pool, with a name of its own.
func newMachine(p *v1alpha1.NodePool, version string) *v1alpha1.Machine {
	m := &v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       p.Namespace,
			Name:            p.Name + "-" + suffix(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p, v1alpha1.GroupVersion.WithKind("NodePool"))},
		},
		Spec: v1alpha1.MachineSpec{
			ClusterName: p.Spec.ClusterName,
			Version:     version,
			Provider:    p.Spec.Template.Provider,
			Parameters:  p.Spec.Template.Parameters.DeepCopy(),
			Resources:   p.Spec.Template.Resources.DeepCopy(),
		},
	}
	follow(p, m)
	return m
}

// follow copies into a machine what can be changed while it runs.
func follow(p *v1alpha1.NodePool, m *v1alpha1.Machine) {
	template := p.Spec.Template.DeepCopy()
	m.Spec.Labels, m.Spec.Taints, m.Spec.Drain, m.Spec.VolumeCapacity = template.Labels, template.Taints, template.Drain, template.VolumeCapacity
	labels := maps.Clone(m.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelCluster], labels[v1alpha1.LabelNodePool] = p.Spec.ClusterName, p.Name
	m.Labels = labels
}

// differs says whether follow would change a machine.
func differs(p *v1alpha1.NodePool, m *v1alpha1.Machine) bool {
	template, same := &p.Spec.Template, equality.Semantic.DeepEqual // none are like an empty list
	return m.Labels[v1alpha1.LabelCluster] != p.Spec.ClusterName || m.Labels[v1alpha1.LabelNodePool] != p.Name ||
		!same(m.Spec.Drain, template.Drain) || !same(m.Spec.Labels, template.Labels) || !same(m.Spec.Taints, template.Taints) ||
		!same(m.Spec.VolumeCapacity, template.VolumeCapacity)
}

// suffix makes names of a pool's machines differ: a letter and four letters or digits.
func suffix() string {
	const letters = "bcdfghjklmnpqrstvwxz"
	return string(letters[rand.Intn(len(letters))]) + rand.String(4)
}

// sameJSON says whether two settings mean the same, however they are written. None are like no settings.
func sameJSON(a, b *apiextensionsv1.JSON) bool {
	if a == nil && b == nil || a != nil && b != nil && bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	return equality.Semantic.DeepEqual(decoded(a), decoded(b))
}

// sameResources says whether two sizes are the same, however they are written.
func sameResources(a, b *v1alpha1.MachineResources) bool {
	var none v1alpha1.MachineResources
	return equality.Semantic.DeepEqual(ptr.Deref(a, none), ptr.Deref(b, none))
}

func decoded(j *apiextensionsv1.JSON) map[string]any {
	var fields map[string]any
	// The schema lets only objects through.
	if j == nil || json.Unmarshal(j.Raw, &fields) != nil {
		return nil
	}
	return fields
}
