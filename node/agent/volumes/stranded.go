package volumes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
)

// maxStranded is how many objects one run looks after: the others come with the next one, or by the agents of other nodes.
const maxStranded = 100

// sweepStranded looks after what only the agent of another node would, when that node is gone from the cluster: volumes that were
// released stay without end, and claims wait for it, since the scheduler keeps to a node that it selected. Every agent does so; the
// API server lets the first one.
func (a *agent) sweepStranded(ctx context.Context) error {
	var errs []error
	hosts, nodes := map[string]bool{}, map[string]bool{} // whether it is gone
	for _, volume := range firsts(a.watched.volumes.GetStore().List(), func(v *corev1.PersistentVolume) bool { return ownedElsewhere(v, a.node.host) }) {
		gone, err := remember(hosts, hostOf(volume), func(host string) (bool, error) {
			if len(validation.IsValidLabelValue(host)) > 0 {
				return false, nil // a user wrote this volume
			}
			list, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: corev1.LabelHostname + "=" + host, Limit: 1})
			return err == nil && len(list.Items) == 0, err
		})
		if gone {
			klog.FromContext(ctx).Info("Deleting a released volume, because its node is gone", "volume", volume.Name, "host", hostOf(volume))
			err = a.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &volume.UID, ResourceVersion: &volume.ResourceVersion},
			})
		}
		errs = append(errs, unlessOvertaken(err))
	}
	for _, claim := range firsts(a.watched.claims.GetStore().List(), func(c *corev1.PersistentVolumeClaim) bool { return waitsElsewhere(c, a.node.name) }) {
		gone, err := remember(nodes, claim.Annotations[annSelectedNode], func(node string) (bool, error) {
			if len(validation.IsDNS1123Subdomain(node)) > 0 {
				return true, nil // no node can have this name
			}
			_, err := a.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
			return apierrors.IsNotFound(err), unlessOvertaken(err)
		})
		if gone {
			klog.FromContext(ctx).Info("Asking the scheduler for another node, because the selected one is gone", "claim", klog.KObj(claim))
			_, err = a.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, unselect(claim), metav1.PatchOptions{})
		}
		errs = append(errs, unlessOvertaken(err))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("look after what is left of nodes that are gone: %w", err)
	}
	return nil
}

// ownedElsewhere says whether a volume is to be deleted by the agent of another node.
func ownedElsewhere(volume *corev1.PersistentVolume, here string) bool {
	host := hostOf(volume)
	return isOurs(volume) && host != "" && host != here && volume.DeletionTimestamp == nil &&
		volume.Status.Phase == corev1.VolumeReleased && volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

// waitsElsewhere says whether a claim waits for the agent of another node.
func waitsElsewhere(claim *corev1.PersistentVolumeClaim, here string) bool {
	node := claim.Annotations[annSelectedNode]
	return claim.Annotations[annProvisioner] == Provisioner && node != "" && node != here && claim.Spec.VolumeName == ""
}

// unselect is a merge patch that fails when the claim was changed meanwhile: the scheduler may have selected another node.
func unselect(claim *corev1.PersistentVolumeClaim) []byte {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion,
		"annotations":     map[string]any{annSelectedNode: nil},
	}})
	if err != nil {
		panic(err) // strings
	}
	return data
}

func firsts[T any](all []any, is func(T) bool) []T {
	var some []T
	for _, obj := range all {
		if t := obj.(T); is(t) && len(some) < maxStranded {
			some = append(some, t)
		}
	}
	return some
}

// remember asks once about a name.
func remember(answers map[string]bool, name string, ask func(string) (bool, error)) (bool, error) {
	if answer, ok := answers[name]; ok {
		return answer, nil
	}
	answer, err := ask(name)
	if err == nil {
		answers[name] = answer
	}
	return answer && err == nil, err
}

// unlessOvertaken leaves out that the object is another by now, or gone: an agent of another node, or the scheduler, was first.
func unlessOvertaken(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
