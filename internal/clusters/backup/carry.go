package backup

import (
	"context"
	"fmt"
	"iter"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/stored"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// fate is what becomes of an entry of a backup in a new cluster.
type fate int

const (
	asItIs  fate = iota
	changed      // without what it says of the cluster that it is from
	leftOut
)

// ofMachines begin the keys of what belongs to the machines of a cluster, beside what [Stays] has: what they are attached to, offer and hold.
// Leases say who does something at the moment; in a new cluster nothing is done yet.
var ofMachines = []string{"leases/", "leasecandidates/", "volumeattachments/", "csistoragecapacities/", "resourceslices/", "podcertificaterequests/", "peerserverleases/"}

// ofIdentity are the keys of what a control plane or KQueen writes of the cluster's own addresses and authorities, and makes where it is missing.
// The API server adds to the authorities of callers that it finds: those of another cluster would be trusted by what serves APIs behind it.
var ofIdentity = map[string]bool{
	"services/endpoints/default/kubernetes": true, "endpointslices/default/kubernetes": true,
	"configmaps/kube-system/extension-apiserver-authentication": true, "configmaps/kube-public/cluster-info": true,
}

const rootAuthority = "/kube-root-ca.crt"

// carrier carries the entries of a backup to a new cluster.
type carrier struct {
	from, to atrest.Cipher
	// volumes are the names of the PersistentVolumes that it gets.
	volumes map[string]bool
}

// carry is what a new cluster gets of an entry. Of a kind that is looked into it is an error when it cannot be read.
func (c carrier) carry(ctx context.Context, e datastore.Entry) (datastore.Entry, fate, error) {
	folder, rest, _ := strings.Cut(e.Key, "/")
	var err error
	f := asItIs
	switch {
	case Stays(e.Key), ofIdentity[e.Key], hasAnyPrefix(e.Key, ofMachines), folder == "configmaps" && strings.HasSuffix(e.Key, rootAuthority):
		f = leftOut
	case folder == "persistentvolumes":
		if !c.volumes[rest] {
			f = leftOut
		}
	case folder == "persistentvolumeclaims":
		e.Value, f, err = edit(e.Value, &corev1.PersistentVolumeClaim{}, c.release)
	case folder == "pods":
		e.Value, f, err = edit(e.Value, &corev1.Pod{}, unbind)
	case folder == "secrets":
		e.Value, f, err = c.secret(ctx, e.Value)
	}
	if err != nil {
		return e, f, fmt.Errorf("%.300q: %w", e.Key, err)
	}
	return e, f, nil
}

func hasAnyPrefix(key string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// edit has f change a stored object.
func edit[T stored.Object](value []byte, o T, f func(T) fate) ([]byte, fate, error) {
	if err := stored.Decode(value, o); err != nil {
		return nil, leftOut, err
	}
	becomes := f(o)
	if becomes != changed {
		return value, becomes, nil
	}
	value, err := stored.Encode(value, o)
	return value, becomes, err
}

// secret encrypts a Secret with the key of the new cluster.
func (c carrier) secret(ctx context.Context, value []byte) ([]byte, fate, error) {
	plain, err := c.from.Open(ctx, value)
	if err != nil {
		return nil, leftOut, err
	}
	plain, f, err := edit(plain, &corev1.Secret{}, withoutToken)
	if err != nil {
		return nil, leftOut, err
	}
	value, err = c.to.Seal(ctx, plain)
	return value, f, err
}

// withoutToken takes a token that the other cluster has signed out of a Secret: the controller of tokens makes another one. It is pure.
func withoutToken(s *corev1.Secret) fate {
	if s.Type != corev1.SecretTypeServiceAccountToken {
		return asItIs
	}
	delete(s.Data, corev1.ServiceAccountTokenKey)
	delete(s.Data, corev1.ServiceAccountRootCAKey)
	return changed
}

// unbind takes a pod from its node, so that it is scheduled again. A pod that a controller has made is left out, as one that has ended: the
// controller makes another. So is what a kubelet shows of a pod of its own. It is pure.
func unbind(p *corev1.Pod) fate {
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case mirror:
		return leftOut
	case p.Spec.NodeName == "" && !ended:
		return asItIs
	case metav1.GetControllerOf(p) != nil, ended, p.DeletionTimestamp != nil:
		return leftOut
	}
	p.Spec.NodeName = ""
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: p.Status.QOSClass}
	return changed
}

// annotations of a claim that say which volume it has, and on which node.
var ofBinding = []string{"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node"}

// release has a claim get a new volume where it does not get the one that it had. It is pure.
func (c carrier) release(claim *corev1.PersistentVolumeClaim) fate {
	if claim.Spec.VolumeName == "" || c.volumes[claim.Spec.VolumeName] {
		return asItIs
	}
	claim.Spec.VolumeName = ""
	for _, name := range ofBinding {
		delete(claim.Annotations, name)
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	return changed
}

// kept are the names of the PersistentVolumes that a new cluster gets: those that are kept when their claim goes. Any other one would be deleted
// with a claim of the new cluster, with the data of the one that it is from. It is pure.
func kept(entries iter.Seq2[datastore.Entry, error]) (map[string]bool, error) {
	names := map[string]bool{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		name, is := strings.CutPrefix(e.Key, "persistentvolumes/")
		if !is {
			continue
		}
		volume := &corev1.PersistentVolume{}
		if err := stored.Decode(e.Value, volume); err != nil {
			return nil, fmt.Errorf("%.300q: %w", e.Key, err)
		}
		if volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
			names[name] = true
		}
	}
	return names, nil
}

// all carries entries, and counts them in changes.
func (c carrier) all(ctx context.Context, entries iter.Seq2[datastore.Entry, error], changes *v1alpha1.RestoreChanges) iter.Seq2[datastore.Entry, error] {
	return func(yield func(datastore.Entry, error) bool) {
		for e, err := range entries {
			f := leftOut
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				e, f, err = c.carry(ctx, e)
			}
			if err != nil {
				yield(datastore.Entry{}, err)
				return
			}
			tally(changes, e.Key, f)
			if f != leftOut && !yield(e, nil) {
				return
			}
		}
	}
}

// tally counts what becomes of an entry, and names what is not as it was.
func tally(to *v1alpha1.RestoreChanges, key string, f fate) {
	switch f {
	case asItIs:
		to.Added++
	case changed:
		note(to, datastore.Change{Verb: datastore.Changed, Key: key})
	case leftOut:
		note(to, datastore.Change{Verb: datastore.Removed, Key: key})
	}
}
