package rotation

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func condition(o *v1alpha1.Rotation, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(o.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// TestRotation: it waits until it may finish, says what is in the way, and leaves nothing behind.
func TestRotation(t *testing.T) {
	p := newPlace(t)
	p.pods = Pods{2, []string{"shop/web-1", "shop/web-2"}}
	o := p.settle(t, p.rotation(t, "first", v1alpha1.CredentialCertificateAuthority, false))
	waits := condition(o, v1alpha1.ConditionNewServes)
	if o.Status.Step != v1alpha1.StepSign || waits.Reason != v1alpha1.ReasonRotationAwaitsFinish || o.Status.OlderPods != 2 || !strings.Contains(waits.Message, "shop/web-1") {
		t.Fatalf("want it to wait with two pods, got step %s and %q", o.Status.Step, waits.Message)
	}
	if o.Status.OldFingerprint != "sha256:old" || o.Status.NewFingerprint != "sha256:new" || p.trusted != "old new" || p.serves != "old" {
		t.Errorf("%s to %s; the node trusts %s, the API server shows %s", o.Status.OldFingerprint, o.Status.NewFingerprint, p.trusted, p.serves)
	}
	t.Run("PodsThatCannotBeRead", func(t *testing.T) {
		p.podsErr = errors.New("it hangs")
		if waits := condition(p.settle(t, o), v1alpha1.ConditionNewServes); !strings.Contains(waits.Message, "is not known: it hangs") {
			t.Error(waits.Message)
		}
	})
	t.Run("AnotherWaits", func(t *testing.T) {
		other := p.settle(t, p.rotation(t, "other", v1alpha1.CredentialServiceAccountKey, true))
		if c := condition(other, v1alpha1.ConditionNewTrusted); c.Reason != v1alpha1.ReasonRotationWaiting || !strings.Contains(c.Message, "rotation first") {
			t.Errorf("%s: %s", c.Reason, c.Message)
		}
	})
	o.Spec.Finish = true
	if err := p.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if o = p.settle(t, o); !ended(o) || p.plane(t).Spec.Rotation != nil || p.trusted != "new" || len(p.wrong) > 0 {
		t.Errorf("ended: %t, left %v, the node trusts %s, %v", ended(o), p.plane(t).Spec.Rotation, p.trusted, p.wrong)
	}
	o.Spec.Finish = false
	if err := p.client.Update(t.Context(), o); err == nil || !strings.Contains(err.Error(), "finish cannot be taken back") {
		t.Errorf("finish was taken back: %v", err)
	}
	other := p.rotation(t, "third", v1alpha1.CredentialServiceAccountKey, true)
	if err := p.client.Delete(t.Context(), p.settle(t, other)); err != nil {
		t.Fatal(err)
	}
}

// TestNodeThatDoesNotFollow keeps a rotation from finishing, whatever its spec says.
func TestNodeThatDoesNotFollow(t *testing.T) {
	p := newPlace(t)
	p.lame = true
	o := p.settle(t, p.rotation(t, "first", v1alpha1.CredentialCertificateAuthority, true))
	c := condition(o, v1alpha1.ConditionNewSigns)
	if c.Reason != v1alpha1.ReasonRotatingNodes || !slices.Equal(o.Status.PendingMachines, []string{"node"}) || p.serves != "old" {
		t.Errorf("%s: %s; %v", c.Reason, c.Message, o.Status.PendingMachines)
	}
}

// TestDeletedHalfWay: the next one of the same credential goes on, and one of another credential does not begin.
func TestDeletedHalfWay(t *testing.T) {
	p := newPlace(t)
	o := p.settle(t, p.rotation(t, "first", v1alpha1.CredentialCertificateAuthority, false))
	if err := p.client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := p.reconciler(nil).Reconcile(t.Context(), p.world(o).Request); err != nil {
		t.Fatal(err)
	}
	other := p.settle(t, p.rotation(t, "key", v1alpha1.CredentialServiceAccountKey, true))
	if c := condition(other, v1alpha1.ConditionNewTrusted); c.Reason != v1alpha1.ReasonRotationRefused {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
	if err := p.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, err := p.reconciler(nil).Reconcile(t.Context(), p.world(other).Request); err != nil {
		t.Fatal(err)
	}
	if next := p.settle(t, p.rotation(t, "next", v1alpha1.CredentialCertificateAuthority, true)); !ended(next) || len(p.wrong) > 0 {
		t.Errorf("it has not ended: %v, %v", next.Status.Conditions, p.wrong)
	}
}

// TestServiceAccountKey waits for no node, and says until when tokens are renewed.
func TestServiceAccountKey(t *testing.T) {
	p := newPlace(t)
	p.lame = true
	o := p.settle(t, p.rotation(t, "key", v1alpha1.CredentialServiceAccountKey, false))
	if c := condition(o, v1alpha1.ConditionNewServes); c.Reason != v1alpha1.ReasonRotationAwaitsFinish || !strings.Contains(c.Message, "are renewed until") {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
}

func TestWithoutCluster(t *testing.T) {
	p := newPlace(t)
	o := &v1alpha1.Rotation{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "lost"}, Spec: v1alpha1.RotationSpec{ClusterName: "none", Credential: v1alpha1.CredentialCertificateAuthority}}
	if err := p.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if c := condition(p.settle(t, o), v1alpha1.ConditionNewTrusted); c.Reason != v1alpha1.ReasonRotationRefused || !strings.Contains(c.Message, "spec.clusterName") {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
}

func TestRotationUnderFaults(t *testing.T) {
	for name, of := range map[string]v1alpha1.RotatedCredential{"Authority": v1alpha1.CredentialCertificateAuthority, "Key": v1alpha1.CredentialServiceAccountKey, "EncryptionKey": v1alpha1.CredentialEncryptionKey} {
		t.Run(name, func(t *testing.T) {
			operatortest.RunParallel(t, func(t *testing.T) operatortest.World {
				p := newPlace(t)
				return p.world(p.rotation(t, "first", of, true))
			})
		})
	}
}

func TestOlder(t *testing.T) {
	then := time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)
	token := []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}}}}}}
	pod := func(began time.Time, phase corev1.PodPhase, volumes []corev1.Volume) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Volumes: volumes}, Status: corev1.PodStatus{Phase: phase, StartTime: &metav1.Time{Time: began}}}
	}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"Before":     {pod(then.Add(-time.Second), corev1.PodRunning, token), true},
		"Since":      {pod(then, corev1.PodRunning, token), false},
		"Ended":      {pod(then.Add(-time.Hour), corev1.PodSucceeded, token), false},
		"NoToken":    {pod(then.Add(-time.Hour), corev1.PodRunning, nil), false},
		"NotStarted": {&corev1.Pod{Spec: corev1.PodSpec{Volumes: token}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, older(tc.pod, then)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
