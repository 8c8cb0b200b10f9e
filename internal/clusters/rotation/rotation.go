package rotation

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

const (
	// waitCheck is the longest time between two looks at what is waited for, and podsCheck that between two looks at pods.
	waitCheck = 15 * time.Second
	podsCheck = time.Minute
	// atOnce has the next run come after the status was written.
	atOnce = time.Millisecond
)

func (r *reconciler) operator() *operator.Reconciler[*v1alpha1.Rotation] {
	return operator.New(operator.Config[*v1alpha1.Rotation]{
		Client:    r.Client,
		Recorder:  r.Recorder,
		New:       func() *v1alpha1.Rotation { return &v1alpha1.Rotation{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/rotation",
		Ready:     "the old credential is gone",
		Phases: []operator.Phase[*v1alpha1.Rotation]{
			operator.Once(v1alpha1.ConditionNewTrusted, ended, r.trust, nil),
			operator.Once(v1alpha1.ConditionNewSigns, ended, r.sign, nil),
			operator.Once(v1alpha1.ConditionNewServes, ended, r.serve, nil),
			operator.Once(v1alpha1.ConditionOldRemoved, ended, r.remove, nil),
		},
	})
}

func ended(o *v1alpha1.Rotation) bool { return o.Status.CompletionTime != nil }

func (r *reconciler) now() *metav1.Time {
	now := metav1.NewTime(r.Now().Truncate(time.Second))
	return &now
}

// subject is a cluster with its control plane.
type subject struct {
	cluster *v1alpha1.Cluster
	plane   *v1alpha1.ControlPlane
}

// errGone says that there is no cluster of that name whose control plane KQueen hosts, or another one than before.
var errGone = errors.New("there is no such cluster")

func (r *reconciler) find(ctx context.Context, o *v1alpha1.Rotation) (subject, error) {
	s := subject{&v1alpha1.Cluster{}, &v1alpha1.ControlPlane{}}
	key := client.ObjectKey{Namespace: o.Namespace, Name: o.Spec.ClusterName}
	for _, object := range []client.Object{s.cluster, s.plane} {
		// Without a cache, which may not have seen what the run before this one has changed.
		err := r.Reader.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			return s, errGone
		}
		if err != nil {
			return s, fmt.Errorf("read cluster %s: %w", key.Name, err)
		}
	}
	changed := o.Status.ClusterUID != "" && o.Status.ClusterUID != string(s.cluster.UID)
	if changed || !metav1.IsControlledBy(s.plane, s.cluster) || !s.cluster.DeletionTimestamp.IsZero() {
		return s, errGone
	}
	return s, nil
}

// subject finds the cluster of a rotation, or says why it cannot go on.
func (r *reconciler) subject(ctx context.Context, o *v1alpha1.Rotation) (subject, *operator.Outcome) {
	s, err := r.find(ctx, o)
	refuse := func(out operator.Outcome) (subject, *operator.Outcome) { return s, &out }
	switch {
	case errors.Is(err, errGone):
		return refuse(operator.Stalled(v1alpha1.ReasonRotationRefused,
			"spec.clusterName: there is no cluster %s whose control plane KQueen hosts; rotate the credentials of others where they were created", o.Spec.ClusterName))
	case err != nil:
		return refuse(operator.Retry(v1alpha1.ReasonRotationFailed, err))
	case s.plane.Spec.StoppedFor != "":
		return refuse(operator.Wait(v1alpha1.ReasonRotationWaiting, "a restore of cluster "+s.cluster.Name+" goes first; see: kqueen restore list", waitCheck))
	}
	o.Status.ClusterUID = string(s.cluster.UID)
	return s, nil
}

// trust takes the control plane for this rotation, and has it trust the new credential.
func (r *reconciler) trust(ctx context.Context, o *v1alpha1.Rotation) operator.Outcome {
	s, refused := r.subject(ctx, o)
	if refused != nil {
		return *refused
	}
	if refused := r.claim(ctx, o, s); refused != nil {
		return *refused
	}
	if refused := r.take(ctx, o, s.plane, v1alpha1.StepTrust); refused != nil {
		return *refused
	}
	r.name(o, s.plane)
	return operator.Done(v1alpha1.ReasonRotationStepDone, "the new credential is trusted beside the old one")
}

// sign has the cluster sign with the new credential, and its nodes follow.
func (r *reconciler) sign(ctx context.Context, o *v1alpha1.Rotation) operator.Outcome {
	s, refused := r.subject(ctx, o)
	if refused != nil {
		return *refused
	}
	if refused := r.take(ctx, o, s.plane, v1alpha1.StepSign); refused != nil {
		return *refused
	}
	if refused := r.follow(ctx, o, s.cluster, v1alpha1.StepSign); refused != nil {
		return *refused
	}
	if o.Spec.Credential == v1alpha1.CredentialEncryptionKey {
		if refused := r.encrypt(ctx, o, s); refused != nil {
			return *refused
		}
		// A backup that is taken from now on needs the new key alone.
		if refused := r.take(ctx, o, s.plane, v1alpha1.StepServe); refused != nil {
			return *refused
		}
	}
	if o.Status.SignsTime == nil {
		o.Status.SignsTime = r.now()
		r.tell(o, "NewSigns", "the new credential signs; finish with: kqueen cluster rotate finish "+o.Spec.ClusterName)
	}
	return operator.Done(v1alpha1.ReasonRotationStepDone, "the new credential signs")
}

// serve waits until the user says that the old credential may go, and has the API server show the new authority.
func (r *reconciler) serve(ctx context.Context, o *v1alpha1.Rotation) operator.Outcome {
	s, refused := r.subject(ctx, o)
	if refused != nil {
		return *refused
	}
	if !o.Spec.Finish {
		return r.await(ctx, o, s.cluster)
	}
	if refused := r.take(ctx, o, s.plane, v1alpha1.StepServe); refused != nil {
		return *refused
	}
	if o.Spec.Credential == v1alpha1.CredentialEncryptionKey { // a restore may have written what the old key has encrypted
		if refused := r.encrypt(ctx, o, s); refused != nil {
			return *refused
		}
	}
	return operator.Done(v1alpha1.ReasonRotationStepDone, "what is shown and signed is of the new credential")
}

// remove takes the old credential out, and gives the control plane back.
func (r *reconciler) remove(ctx context.Context, o *v1alpha1.Rotation) operator.Outcome {
	s, refused := r.subject(ctx, o)
	if refused != nil {
		return *refused
	}
	if refused := r.mayRemove(ctx, o, s); refused != nil {
		return *refused
	}
	if refused := r.take(ctx, o, s.plane, v1alpha1.StepRemove); refused != nil {
		return *refused
	}
	if refused := r.follow(ctx, o, s.cluster, v1alpha1.StepRemove); refused != nil {
		return *refused
	}
	// Who dies after this takes the last step once more, which changes nothing.
	if err := r.set(ctx, s.plane, nil); err != nil {
		return operator.Retry(v1alpha1.ReasonRotationFailed, err)
	}
	o.Status.CompletionTime, o.Status.OlderPods, o.Status.OlderPodNames, o.Status.PendingMachines = r.now(), 0, nil, nil
	o.Status.PendingSecrets = 0
	r.tell(o, "OldRemoved", "the old credential is trusted no more")
	return operator.Done(v1alpha1.ReasonRotationStepDone, "nothing trusts the old credential, and its private key is gone")
}

// mayRemove wants, until the control plane is told to remove the old encryption key, that it has encrypted nothing, and that no restore goes on
// which may write such a Secret. A restore that comes later changes the control plane, so that its lock refuses to be told.
func (r *reconciler) mayRemove(ctx context.Context, o *v1alpha1.Rotation, s subject) *operator.Outcome {
	told := s.plane.Spec.RotationStep(o.Spec.Credential) == v1alpha1.StepRemove || s.plane.Spec.Rotation == nil
	if o.Spec.Credential != v1alpha1.CredentialEncryptionKey || told {
		return nil
	}
	return r.encrypt(ctx, o, s)
}

func (r *reconciler) tell(o *v1alpha1.Rotation, reason, note string) {
	if r.Recorder != nil {
		r.Recorder.Eventf(o, nil, corev1.EventTypeNormal, reason, "Rotate", "%s", note)
	}
}
