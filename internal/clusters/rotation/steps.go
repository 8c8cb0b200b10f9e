package rotation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/workers/machine"
)

// order is that of the steps; one that is none comes before all. It is pure.
func order(step v1alpha1.RotationStep) int {
	return slices.Index([]v1alpha1.RotationStep{v1alpha1.StepTrust, v1alpha1.StepSign, v1alpha1.StepServe, v1alpha1.StepRemove}, step)
}

// claim says why a control plane is not for this rotation yet, or nil. Another rotation that has not ended goes first; what one that
// is gone has begun is for another one of the same credential.
func (r *reconciler) claim(ctx context.Context, o *v1alpha1.Rotation, s subject) *operator.Outcome {
	refuse := func(out operator.Outcome) *operator.Outcome { return &out }
	have := s.plane.Spec.Rotation
	if have != nil && have.UID == string(o.UID) {
		return nil
	}
	if order(o.Status.Step) >= 0 && have == nil { // it was there; take puts it back
		return nil
	}
	all := &v1alpha1.RotationList{}
	if err := r.Reader.List(ctx, all, client.InNamespace(o.Namespace)); err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonRotationFailed, fmt.Errorf("list rotations: %w", err)))
	}
	if first := goesFirst(all.Items, o, have); first != "" {
		return refuse(operator.Wait(v1alpha1.ReasonRotationWaiting, "rotation "+first+" of the cluster goes first", waitCheck))
	}
	if have == nil && s.cluster.Annotations[v1alpha1.AnnotationUpgrade] != "" {
		return refuse(operator.Wait(v1alpha1.ReasonRotationWaiting, "an upgrade of cluster "+s.cluster.Name+" goes first; see: kqueen upgrade list", waitCheck))
	}
	if have == nil {
		return nil
	}
	if have.Credential != o.Spec.Credential {
		return refuse(operator.Stalled(v1alpha1.ReasonRotationRefused,
			"spec.credential: a rotation of the %s was deleted half-way; create one of that credential first, which ends it", have.Credential))
	}
	adopted := have.DeepCopy()
	adopted.UID, o.Status.Step = string(o.UID), have.Step
	if err := r.set(ctx, s.plane, adopted); err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonRotationFailed, err))
	}
	return nil
}

// goesFirst names a rotation of the cluster that has the control plane and has not ended, or, while none has it, one that is older. It is pure.
func goesFirst(all []v1alpha1.Rotation, o *v1alpha1.Rotation, have *v1alpha1.CredentialRotation) string {
	first := ""
	for i := range all {
		other := &all[i]
		if other.UID == o.UID || other.Spec.ClusterName != o.Spec.ClusterName || ended(other) || !other.DeletionTimestamp.IsZero() {
			continue
		}
		holds := have != nil && have.UID == string(other.UID)
		older := order(other.Status.Step) >= 0 || other.CreationTimestamp.Before(&o.CreationTimestamp) ||
			other.CreationTimestamp.Equal(&o.CreationTimestamp) && other.Name < o.Name
		if holds || older && (first == "" || other.Name < first) {
			first = other.Name
		}
		if holds {
			break
		}
	}
	return first
}

// take has the control plane take a step, and waits until it has; nil then, and when it is further.
func (r *reconciler) take(ctx context.Context, o *v1alpha1.Rotation, plane *v1alpha1.ControlPlane, step v1alpha1.RotationStep) *operator.Outcome {
	refuse := func(out operator.Outcome) *operator.Outcome { return &out }
	if order(o.Status.Step) < order(step) {
		// The status says it before the control plane does it: what takes the step away from the control plane does not end it.
		o.Status.Step = step
		return refuse(operator.Wait(v1alpha1.ReasonRotatingControlPlane, "the control plane takes the step "+string(step), atOnce))
	}
	if want := o.Status.Step; plane.Spec.Rotation == nil || plane.Spec.Rotation.Step != want {
		if err := r.set(ctx, plane, &v1alpha1.CredentialRotation{UID: string(o.UID), Credential: o.Spec.Credential, Step: want}); err != nil {
			return refuse(operator.Retry(v1alpha1.ReasonRotationFailed, err))
		}
	}
	if order(plane.Status.RotationStep(o.Spec.Credential)) >= order(step) && plane.Status.Rotation.UID == string(o.UID) {
		return nil
	}
	waits := "its components have not all taken it"
	if ready := apimeta.FindStatusCondition(plane.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status != "True" {
		waits = ready.Message
	}
	return refuse(operator.Wait(v1alpha1.ReasonRotatingControlPlane, "the control plane takes the step "+string(step)+": "+waits, waitCheck))
}

// set writes spec.rotation of a control plane. The lock refuses it when the control plane has changed meanwhile.
func (r *reconciler) set(ctx context.Context, plane *v1alpha1.ControlPlane, to *v1alpha1.CredentialRotation) error {
	base := plane.DeepCopy()
	plane.Spec.Rotation = to
	if err := r.Client.Patch(ctx, plane, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("set spec.rotation of control plane %s: %w", plane.Name, err)
	}
	return nil
}

// follow waits until the nodes have certificates of the authority that signs, and trust those that their cluster does.
func (r *reconciler) follow(ctx context.Context, o *v1alpha1.Rotation, cluster *v1alpha1.Cluster, step v1alpha1.RotationStep) *operator.Outcome {
	if o.Spec.Credential != v1alpha1.CredentialCertificateAuthority || order(o.Status.Step) > order(step) {
		return nil
	}
	refuse := func(out operator.Outcome) *operator.Outcome { return &out }
	list := &v1alpha1.MachineList{}
	if err := r.Reader.List(ctx, list, client.InNamespace(o.Namespace)); err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonRotationFailed, fmt.Errorf("list machines: %w", err)))
	}
	if cluster.Status.Join == nil {
		return refuse(operator.Wait(v1alpha1.ReasonRotatingNodes, "cluster "+cluster.Name+" does not say yet what its nodes are to trust", waitCheck))
	}
	// Two certificates while both are trusted, and one after that.
	hashes, err := machine.KeyHashes(cluster.Status.Join.CA)
	if err != nil || (len(hashes) > 1) != (step == v1alpha1.StepSign) {
		return refuse(operator.Wait(v1alpha1.ReasonRotatingNodes, "cluster "+cluster.Name+" does not say yet what its nodes are to trust", waitCheck))
	}
	pending := behind(list.Items, cluster)
	o.Status.PendingMachines = pending[:min(len(pending), 100)]
	if len(pending) == 0 {
		return nil
	}
	return refuse(operator.Wait(v1alpha1.ReasonRotatingNodes, text.Count(len(pending), "node")+" not there yet: "+text.Cut(strings.Join(pending, ", "), 200), waitCheck))
}

// behind names the machines of a cluster whose nodes do not follow yet, or are not ready. It is pure.
func behind(machines []v1alpha1.Machine, cluster *v1alpha1.Cluster) []string {
	want := machine.TrustHash(cluster.Status.Join.CA)
	var out []string
	for i := range machines {
		m := &machines[i]
		if m.Spec.ClusterName != cluster.Name || m.Status.JoinTime == nil || !m.DeletionTimestamp.IsZero() {
			continue
		}
		if m.Status.TrustHash != want || !apimeta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionNodeReady) {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}

// name notes which credential takes the place of which, while both are there.
func (r *reconciler) name(o *v1alpha1.Rotation, plane *v1alpha1.ControlPlane) {
	root := map[v1alpha1.RotatedCredential]string{
		v1alpha1.CredentialCertificateAuthority: "ca", v1alpha1.CredentialServiceAccountKey: "sa", v1alpha1.CredentialEncryptionKey: "encryption",
	}[o.Spec.Credential]
	old, next := fingerprint(plane, root), fingerprint(plane, "next-"+root)
	if before := fingerprint(plane, "old-"+root); before != "" { // the new one has its place already
		old, next = before, old
	}
	if next != "" {
		o.Status.OldFingerprint, o.Status.NewFingerprint = old, next
	}
}

func fingerprint(plane *v1alpha1.ControlPlane, root string) string {
	i := slices.IndexFunc(plane.Status.Trust, func(t v1alpha1.TrustRoot) bool { return t.Name == root })
	if i < 0 {
		return ""
	}
	return plane.Status.Trust[i].Fingerprint
}
