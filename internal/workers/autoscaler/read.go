package autoscaler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// What a look at a cluster costs at most.
const (
	readWithin   = 20 * time.Second
	listedAtMost = 20_000
	// readAtMost is how many bytes of objects one look reads.
	readAtMost = 192 << 20
)

// errTooLarge says that a cluster is larger than what is looked at.
var errTooLarge = errors.New("its objects have more bytes than KQueen reads in one look")

// Bounds are those of the client that Read takes.
func Bounds() listing.Bounds {
	return listing.Bounds{Call: 10 * time.Second, PageItems: 500, PageBytes: 16 << 20, Objects: listedAtMost, Connections: 1}
}

// reading is one reading of a cluster.
type reading struct {
	client *listing.Client
	seen   Seen
	left   int
	claims bool
}

// Read looks at a cluster. All of it is read or none: what is not known could be what a node is needed for.
func Read(ctx context.Context, c *listing.Client) (Seen, error) { return read(ctx, c, readAtMost) }

func read(ctx context.Context, c *listing.Client, most int) (Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	r := &reading{client: c, left: most, seen: Seen{Claims: map[string]Claim{}, Volumes: map[string]*corev1.NodeSelector{}, Classes: map[string]bool{}}}
	addons := url.Values{"labelSelector": {v1alpha1.LabelAddon}}
	for _, read := range []func() error{
		func() error { return list(ctx, r, "/api/v1/nodes", nil, r.node) },
		func() error { return list(ctx, r, "/api/v1/pods", nil, r.pod) },
		func() error { return list(ctx, r, "/apis/apps/v1/daemonsets", nil, r.daemonSet) },
		func() error { return list(ctx, r, "/apis/policy/v1/poddisruptionbudgets", nil, r.budget) },
		func() error { return list(ctx, r, "/apis/apps/v1/deployments", addons, r.addon) },
		r.storage(ctx),
	} {
		if err := read(); err != nil {
			return Seen{}, err
		}
	}
	return r.seen, nil
}

// storage reads what pods with claims depend on, where there are any.
func (r *reading) storage(ctx context.Context) func() error {
	return func() error {
		if !r.claims {
			return nil
		}
		if err := list(ctx, r, "/api/v1/persistentvolumeclaims", nil, r.claim); err != nil {
			return err
		}
		if err := list(ctx, r, "/api/v1/persistentvolumes", nil, r.volume); err != nil {
			return err
		}
		return list(ctx, r, "/apis/storage.k8s.io/v1/storageclasses", nil, r.class)
	}
}

// list reads a resource, object by object.
func list[T any](ctx context.Context, r *reading, path string, query url.Values, each func(*T)) error {
	_, err := r.client.List(ctx, listing.Resource{Path: path, Query: query, Accept: listing.JSON}, listing.AnyTurn, func(raw []byte) error {
		if r.left -= len(raw); r.left < 0 {
			return errTooLarge
		}
		o := new(T)
		if err := json.Unmarshal(raw, o); err != nil {
			return fmt.Errorf("read object: %w", err)
		}
		each(o)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list %s: %w", path, err)
	}
	return nil
}

// kept is what is kept of the metadata of an object.
func kept(m metav1.ObjectMeta) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, DeletionTimestamp: m.DeletionTimestamp}
	for _, key := range []string{corev1.MirrorPodAnnotationKey, annotationSafe, annotationSafeVolumes, annotationKeptByUser} {
		if value, ok := m.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&out, key, value)
		}
	}
	if owner := metav1.GetControllerOfNoCopy(&m); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return out
}

func (r *reading) node(n *corev1.Node) {
	out := &corev1.Node{ObjectMeta: kept(n.ObjectMeta), Spec: corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints}}
	out.Status.Allocatable, out.Status.Conditions = n.Status.Allocatable, n.Status.Conditions
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	r.seen.Nodes = append(r.seen.Nodes, out)
}

func (r *reading) pod(p *corev1.Pod) {
	if ended(p) {
		return
	}
	out := &corev1.Pod{ObjectMeta: kept(p.ObjectMeta), Spec: spec(&p.Spec)}
	out.Status = corev1.PodStatus{Phase: p.Status.Phase, NominatedNodeName: p.Status.NominatedNodeName}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			out.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status, Reason: c.Reason}}
		}
	}
	r.claims = r.claims || len(claimsOf(out)) > 0
	r.seen.Pods = append(r.seen.Pods, out)
}

// spec is what is kept of the spec of a pod.
func spec(s *corev1.PodSpec) corev1.PodSpec {
	out := corev1.PodSpec{
		NodeName: s.NodeName, NodeSelector: s.NodeSelector, Affinity: s.Affinity, Tolerations: s.Tolerations, TopologySpreadConstraints: s.TopologySpreadConstraints,
		SchedulingGates: s.SchedulingGates, HostNetwork: s.HostNetwork, Priority: s.Priority, Overhead: s.Overhead, Resources: s.Resources, ResourceClaims: s.ResourceClaims,
		Containers: containers(s.Containers), InitContainers: containers(s.InitContainers),
	}
	for _, v := range s.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.EmptyDir != nil || v.HostPath != nil {
			out.Volumes = append(out.Volumes, v)
		}
	}
	return out
}

func containers(in []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, 0, len(in))
	for i := range in {
		out = append(out, corev1.Container{Name: in[i].Name, Resources: in[i].Resources, RestartPolicy: in[i].RestartPolicy, Ports: in[i].Ports})
	}
	return out
}

func (r *reading) daemonSet(d *appsv1.DaemonSet) {
	out := &appsv1.DaemonSet{ObjectMeta: kept(d.ObjectMeta)}
	out.Spec.Template.Spec = spec(&d.Spec.Template.Spec)
	r.seen.DaemonSets = append(r.seen.DaemonSets, out)
}

func (r *reading) budget(b *policyv1.PodDisruptionBudget) {
	s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		s = labels.Everything() // what it selects is not known
	}
	allowed := b.Status.DisruptionsAllowed
	if b.Status.ObservedGeneration < b.Generation {
		allowed = 0
	}
	r.seen.Budgets = append(r.seen.Budgets, Budget{Selected{b.Namespace, s}, b.Name, allowed})
}

func (r *reading) addon(d *appsv1.Deployment) {
	if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		r.seen.Addons = append(r.seen.Addons, Selected{d.Namespace, s})
	}
}

func (r *reading) claim(c *corev1.PersistentVolumeClaim) {
	claim := Claim{Volume: c.Spec.VolumeName}
	if c.Spec.StorageClassName != nil {
		claim.Class = *c.Spec.StorageClassName
	}
	r.seen.Claims[c.Namespace+"/"+c.Name] = claim
}

func (r *reading) volume(v *corev1.PersistentVolume) {
	var nodes *corev1.NodeSelector
	if v.Spec.NodeAffinity != nil {
		nodes = v.Spec.NodeAffinity.Required
	}
	r.seen.Volumes[v.Name] = nodes
}

func (r *reading) class(c *storagev1.StorageClass) {
	r.seen.Classes[c.Name] = c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}
