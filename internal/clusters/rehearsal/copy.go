package rehearsal

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// mostCopies is how many copies an organization may have at a time: each takes the space of its cluster in the data store, and the memory
// of an API server.
const mostCopies = 2

// overhead is how much of the space of an etcd a copy takes at most, in its size: pages are not full, and each object is written twice.
const overhead = 3

// copyName is that of the ControlPlane of a copy. No user can know it before, and take it for a cluster.
func copyName(o *v1alpha1.Rehearsal) string {
	return "copy-" + strings.ReplaceAll(string(o.UID), "-", "")
}

// copyOf reads the copy of a rehearsal; nil where there is none.
func (r *reconciler) copyOf(ctx context.Context, o *v1alpha1.Rehearsal) (*v1alpha1.ControlPlane, error) {
	cp := &v1alpha1.ControlPlane{}
	// Without a cache, which may not have seen what the run before this one has made.
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: copyName(o)}, cp)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read the control plane of the copy: %w", err)
	}
	if !metav1.IsControlledBy(cp, o) {
		return nil, fmt.Errorf("control plane %s is not of this rehearsal", cp.Name)
	}
	return cp, nil
}

// copy has all that the cluster stores copied, once.
func (r *reconciler) copy(ctx context.Context, o *v1alpha1.Rehearsal) operator.Outcome {
	if len(o.Status.Versions) == 0 || o.Status.CopiedTime != nil {
		return operator.Done(v1alpha1.ReasonRehearsalDone, fmt.Sprintf("%d objects of revision %d were copied", o.Status.CopiedObjects, o.Status.Revision))
	}
	_, plane, err := r.source(ctx, o)
	if err != nil {
		return r.failed(ctx, o, err)
	}
	made, err := r.copyOf(ctx, o)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, err)
	}
	if made == nil {
		return r.make(ctx, o, plane)
	}
	o.Status.ControlPlaneName = made.Name
	if made.Status.StoppedFor != string(o.UID) || !apimeta.IsStatusConditionTrue(made.Status.Conditions, v1alpha1.ConditionStoreReady) {
		return operator.Wait(v1alpha1.ReasonRehearsalCopying, "waiting for the place of the copy in the data store", waitCheck)
	}
	job := r.job(o, "copy", v1alpha1.ReasonRehearsalCopying, "what the cluster stores is being copied")
	done, pending := jobs.Run(r.jobs, job, made, func(ctx context.Context, made *v1alpha1.ControlPlane) (copied, error) {
		return r.fork(ctx, plane, made)
	})
	if pending != nil {
		return *pending
	}
	o.Status.Revision, o.Status.CopiedObjects, o.Status.CopiedTime = done.revision, done.objects, r.now()
	// Known before anything runs over the copy: from then on it is not copied again.
	return operator.Wait(v1alpha1.ReasonRehearsalCopying, "all is copied", atOnce)
}

func (r *reconciler) job(o *v1alpha1.Rehearsal, name, reason, message string) jobs.Job {
	return jobs.Job{
		Of: string(o.UID), Name: name, Organization: o.Namespace, Running: reason, Message: message,
		Failing: func(error) string { return v1alpha1.ReasonRehearsalFailed },
	}
}

// make creates the control plane of the copy, which stands still, unless something goes first.
func (r *reconciler) make(ctx context.Context, o *v1alpha1.Rehearsal, of *v1alpha1.ControlPlane) operator.Outcome {
	if of.Spec.StoppedFor != "" {
		return operator.Wait(v1alpha1.ReasonRehearsalWaiting, "a restore of cluster "+o.Spec.ClusterName+" goes first; see: kqueen restore list", waitCheck)
	}
	state, err := r.State(ctx, of)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, err)
	}
	space, err := state.Space(ctx, datastore.LeftByCopies)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, err)
	}
	if space < overhead*of.Status.StoreBytes() {
		return operator.Wait(v1alpha1.ReasonRehearsalWaiting, "the data store of the cluster has no space for a copy", waitCheck)
	}
	all := &v1alpha1.ControlPlaneList{}
	if err := r.Reader.List(ctx, all, client.InNamespace(o.Namespace)); err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, fmt.Errorf("list control planes: %w", err))
	}
	copies := 0
	for i := range all.Items {
		if all.Items[i].IsCopy() {
			copies++
		}
	}
	if copies >= mostCopies {
		return operator.Wait(v1alpha1.ReasonRehearsalWaiting, fmt.Sprintf("%d other rehearsals of the organization go first", copies), waitCheck)
	}
	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: copyName(o),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, v1alpha1.GroupVersion.WithKind("Rehearsal"))},
	}, Spec: of.Spec}
	cp.Spec.EmulatedVersion = ""
	cp.Spec.Version, cp.Spec.CopyOf, cp.Spec.StoppedFor = o.Status.Versions[0].Version, string(of.UID), string(o.UID)
	if err := client.IgnoreAlreadyExists(r.Client.Create(ctx, cp)); err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, fmt.Errorf("create the control plane of the copy: %w", err))
	}
	return operator.Wait(v1alpha1.ReasonRehearsalCopying, "waiting for the place of the copy in the data store", waitCheck)
}

// copied is what became of a copy.
type copied struct{ revision, objects int64 }

// fork writes what one keyspace holds at one revision into another one, which nothing else writes to.
func (r *reconciler) fork(ctx context.Context, from, to *v1alpha1.ControlPlane) (copied, error) {
	source, err := r.State(ctx, from)
	if err != nil {
		return copied{}, err
	}
	target, err := r.State(ctx, to)
	if err != nil {
		return copied{}, err
	}
	var done copied
	counted := func(yield func(datastore.Entry, error) bool) {
		for e, err := range source.Entries(ctx, &done.revision) {
			done.objects++
			if !yield(e, err) {
				return
			}
		}
	}
	none := func(datastore.Entry) bool { return false }
	if err := target.Bring(ctx, datastore.LeftByCopies, counted, none, func(datastore.Change) {}); err != nil {
		return copied{}, fmt.Errorf("copy what the cluster stores: %w", err)
	}
	return done, nil
}

// discard removes the copy, with all that runs over it.
func (r *reconciler) discard(ctx context.Context, o *v1alpha1.Rehearsal) operator.Outcome {
	cp, err := r.copyOf(ctx, o)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, err)
	}
	if cp == nil {
		o.Status.ControlPlaneName = ""
		return operator.Done(v1alpha1.ReasonRehearsalDone, "nothing of the copy is left")
	}
	if cp.DeletionTimestamp.IsZero() {
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, cp, client.Preconditions{UID: ptr.To(cp.UID)})); err != nil {
			return operator.Retry(v1alpha1.ReasonRehearsalFailed, fmt.Errorf("remove the copy: %w", err))
		}
	}
	return operator.Wait(v1alpha1.ReasonRehearsalRemoving, "the copy is being removed", time.Second)
}

// kubeconfig is that of an administrator of the copy, who is known to it alone.
func (r *reconciler) kubeconfig(ctx context.Context, cp *v1alpha1.ControlPlane) ([]byte, error) {
	at := cp.Status.Endpoint
	if at == nil {
		return nil, fmt.Errorf("control plane %s has no address yet", cp.Name)
	}
	keys := &corev1.Secret{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: cp.KeysSecret()}, keys); err != nil {
		return nil, fmt.Errorf("read the keys of control plane %s: %w", cp.Name, err)
	}
	return pki.Kubeconfig(pki.KubeconfigParams{
		Cluster: cp.Name, Context: cp.Name, User: "kqueen", Server: "https://" + addressOf(at), TLSServerName: at.ServerName,
		CA: keys.Data["ca.crt"], ClientCert: keys.Data["admin.crt"], ClientKey: keys.Data["admin.key"],
	})
}
