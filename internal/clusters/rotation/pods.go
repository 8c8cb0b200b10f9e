package rotation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
)

const (
	// mostNames is how many pods are named, and longestName how long a namespace and a name are together.
	mostNames   = 20
	longestName = 317
	// tokenLife is how long a token lives that a pod has of its service account, where the pod asks for no other time.
	tokenLife = time.Hour
	// podsTimeout bounds one look: no cluster is trusted to answer.
	podsTimeout = 20 * time.Second
)

// Pods are pods of a cluster: how many, and the names of some.
type Pods struct {
	Count int
	Names []string
}

// Bounds are those of the client that OlderPods takes.
func Bounds() listing.Bounds {
	return listing.Bounds{Call: 10 * time.Second, PageItems: 200, PageBytes: 8 << 20, Objects: 20_000, Connections: 1}
}

// OlderPods finds the pods with a token of a service account that began before a time, in the cluster that a client leads to.
func OlderPods(ctx context.Context, c *listing.Client, than time.Time) (Pods, error) {
	ctx, cancel := context.WithTimeout(ctx, podsTimeout)
	defer cancel()
	var found Pods
	_, err := c.List(ctx, listing.Resource{Path: "/api/v1/pods", Accept: listing.JSON}, listing.AnyTurn, func(raw []byte) error {
		pod := &corev1.Pod{}
		if err := json.Unmarshal(raw, pod); err != nil {
			return fmt.Errorf("read a pod: %w", err)
		}
		found.add(pod, than)
		return nil
	})
	if errors.Is(err, listing.ErrTooMany) { // so many are enough to say that there are
		err = nil
	}
	if err != nil {
		return Pods{}, fmt.Errorf("list pods: %w", err)
	}
	return found, nil
}

func (p *Pods) add(pod *corev1.Pod, than time.Time) {
	if !older(pod, than) {
		return
	}
	p.Count++
	if name := listing.Clean(pod.Namespace+"/"+pod.Name, longestName); len(p.Names) < mostNames && !slices.Contains(p.Names, name) {
		p.Names = append(p.Names, name)
	}
}

// older says whether a pod runs, began before a time and has a token of a service account. It is pure.
func older(pod *corev1.Pod, than time.Time) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if ended || pod.Status.StartTime == nil || !pod.Status.StartTime.Time.Before(than) {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil })
	})
}

// await says what still depends on the old credential, as far as that is known, while both are good.
func (r *reconciler) await(ctx context.Context, o *v1alpha1.Rotation, cluster *v1alpha1.Cluster) operator.Outcome {
	message := "finish with: kqueen cluster rotate finish " + cluster.Name
	if o.Spec.Credential == v1alpha1.CredentialServiceAccountKey {
		until := o.Status.SignsTime.Add(tokenLife)
		if r.Now().Before(until) {
			message += fmt.Sprintf("; tokens that pods have of the old key are renewed until %s", until.UTC().Format(time.RFC3339))
		}
		return operator.Wait(v1alpha1.ReasonRotationAwaitsFinish, message, podsCheck)
	}
	if o.Spec.Credential == v1alpha1.CredentialEncryptionKey {
		if err := r.countBackups(ctx, o); err != nil {
			return operator.Retry(v1alpha1.ReasonRotationFailed, err)
		}
		if n := int(o.Status.OlderBackups); n > 0 {
			message += fmt.Sprintf("; %s taken before the new key had encrypted all cannot be restored after that: back the cluster up first", text.Count(n, "backup"))
		}
		return operator.Wait(v1alpha1.ReasonRotationAwaitsFinish, message, podsCheck)
	}
	pods, err := r.OlderPods(ctx, cluster, o.Status.SignsTime.Time)
	if err != nil {
		return operator.Wait(v1alpha1.ReasonRotationAwaitsFinish, message+"; which pods have to be started again is not known: "+text.Cut(err.Error(), 300), podsCheck)
	}
	o.Status.OlderPods, o.Status.OlderPodNames = int32(pods.Count), pods.Names
	if pods.Count > 0 {
		message += fmt.Sprintf("; before that, start %s again which may trust the old authority alone, such as %s", text.Count(pods.Count, "pod"), pods.Names[0])
	}
	return operator.Wait(v1alpha1.ReasonRotationAwaitsFinish, message, podsCheck)
}
