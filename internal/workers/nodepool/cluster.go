package nodepool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/operator"
)

const (
	// prepareTimeout is how long putting what every node needs into a cluster may take.
	prepareTimeout = 30 * time.Second
	// prepareInterval is the longest time after which it is looked whether that is still there.
	prepareInterval = 10 * time.Minute
)

// cluster waits until the pool's cluster takes nodes. Machines without a cluster are of no use: they go
// when it goes.
func (r *reconciler) cluster(ctx context.Context, p *v1alpha1.NodePool) operator.Outcome {
	c, err := r.clusterOf(ctx, p, r.Client)
	if apierrors.IsNotFound(err) { // which a cache may say that has not seen it yet
		c, err = r.clusterOf(ctx, p, r.Reader)
	}
	switch {
	case apierrors.IsNotFound(err):
		return r.abandon(ctx, p, v1alpha1.ReasonClusterNotFound, fmt.Sprintf("there is no cluster %q in namespace %s", p.Spec.ClusterName, p.Namespace))
	case err != nil:
		return operator.Retry(v1alpha1.ReasonClusterNotReady, err)
	case !c.DeletionTimestamp.IsZero():
		return r.abandon(ctx, p, v1alpha1.ReasonClusterNotReady, fmt.Sprintf("cluster %q is being deleted", c.Name))
	}
	if err := r.uncount(ctx, p); err != nil {
		return operator.Retry(v1alpha1.ReasonClusterNotReady, err)
	}
	if c.Status.Sleeps() {
		return operator.Wait(v1alpha1.ReasonAsleep, fmt.Sprintf("cluster %q sleeps, and so do the machines of the nodepool on KQueen's host", c.Name), 0)
	}
	if lacks := lacking(c); lacks != "" {
		return operator.Wait(v1alpha1.ReasonClusterNotReady, lacks, 0)
	}
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := r.Prepare(ctx, c); err != nil {
		return operator.Retry(v1alpha1.ReasonClusterNotReady, fmt.Errorf("prepare cluster %q for nodes: %w", c.Name, err))
	}
	return operator.DoneUntil(v1alpha1.ReasonClusterReady, fmt.Sprintf("cluster %q takes nodes", c.Name), prepareInterval)
}

// uncount counts no node as ready any more that is not. The phase that counts is not reached while the cluster lacks something.
func (r *reconciler) uncount(ctx context.Context, p *v1alpha1.NodePool) error {
	machines, err := list(ctx, p, r.Client)
	if err != nil {
		return err
	}
	var most int32
	for i := range machines {
		if m := &machines[i]; m.DeletionTimestamp.IsZero() && countable(m) {
			most++
		}
	}
	p.Status.ReadyReplicas = min(p.Status.ReadyReplicas, most)
	return nil
}

func (r *reconciler) clusterOf(ctx context.Context, p *v1alpha1.NodePool, from client.Reader) (*v1alpha1.Cluster, error) {
	c := &v1alpha1.Cluster{}
	if err := from.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ClusterName}, c); err != nil {
		return nil, fmt.Errorf("read cluster %q: %w", p.Spec.ClusterName, err)
	}
	return c, nil
}

// lacking says what a cluster lacks before it takes nodes; empty when nothing.
func lacking(c *v1alpha1.Cluster) string {
	provisioned := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionProvisioned)
	switch {
	case provisioned == nil || provisioned.Status != metav1.ConditionTrue:
		text := fmt.Sprintf("the API server of cluster %q is not healthy", c.Name)
		if provisioned != nil && provisioned.Message != "" {
			text += ": " + provisioned.Message
		}
		return text
	case c.Status.Version == "":
		return fmt.Sprintf("cluster %q does not say yet which version it runs", c.Name)
	case c.Status.Join == nil:
		return fmt.Sprintf("cluster %q does not say how nodes join it", c.Name)
	}
	return ""
}

// abandon removes the machines of a pool that has no cluster.
func (r *reconciler) abandon(ctx context.Context, p *v1alpha1.NodePool, reason, why string) operator.Outcome {
	left, err := r.removeAll(ctx, p)
	if err != nil {
		return operator.Retry(reason, fmt.Errorf("%s: %w", why, err))
	}
	if len(left) > 0 {
		why += "; its machines are being removed: " + names(left)
	}
	return operator.Wait(reason, why, 0)
}

// wishOf says what the machines of a pool shall be like in its cluster.
func (r *reconciler) wishOf(p *v1alpha1.NodePool, c *v1alpha1.Cluster) wish {
	p.Spec.Default()
	w := wish{pool: p, version: versionOf(p, c.Status.Version), since: r.began}
	w.refused = cmp.Or(refusal(fits(c.Status.Version, w.version)), refusal(sound(&p.Spec.Template)))
	// While the cluster's API server did not answer it could not be seen whether its nodes were ready.
	provisioned := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionProvisioned)
	if provisioned != nil && provisioned.LastTransitionTime.After(w.since) {
		w.since = provisioned.LastTransitionTime.Time
	}
	return w
}

// versionOf is the version that the machines of a pool shall have: its own, or that of the cluster. A pool that is held back, because in an
// upgrade of the cluster it is not its turn yet, keeps the version that it is held at while nodes of it may be there. It is pure.
func versionOf(p *v1alpha1.NodePool, cluster string) string {
	if p.Spec.Version != "" {
		return p.Spec.Version
	}
	if held := p.Annotations[v1alpha1.AnnotationUpgradeHolds]; held != "" && fits(cluster, held) == nil {
		return held
	}
	return cluster
}

func refusal(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// sound says whether a node can have the labels and taints of a template. The schema does not, because
// the API server reckons such a rule too expensive.
func sound(template *v1alpha1.MachineTemplate) error {
	at := field.NewPath("spec", "template")
	wrong := validation.ValidateLabels(template.Labels, at.Child("labels"))
	for i, taint := range template.Taints {
		at := at.Child("taints").Index(i)
		wrong = append(wrong, validation.ValidateLabelName(taint.Key, at.Child("key"))...)
		for _, problem := range content.IsLabelValue(taint.Value) {
			wrong = append(wrong, field.Invalid(at.Child("value"), taint.Value, problem))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	// Labels come in no order, and a message has to be the same from try to try.
	return slices.MinFunc(wrong, func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
}

// fits says whether kubelets of a version may join a cluster of another.
func fits(cluster, kubelet string) error {
	server, err := release.ParseVersion(cluster)
	if err != nil {
		return fmt.Errorf("the cluster's %w", err)
	}
	node, err := release.ParseVersion(kubelet)
	if err != nil {
		return fmt.Errorf("spec.version: %w", err)
	}
	err = release.CheckComponent(server, "kubelet", node)
	if skewed, ok := errors.AsType[*release.SkewError](err); ok {
		skewed.Field = "spec.version"
	}
	return err
}
