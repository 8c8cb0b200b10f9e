package volumes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// provisioner is what the library calls: it has retries, events and the writing of volumes.
type provisioner struct{ *agent }

var (
	_ controller.Qualifier        = &provisioner{}
	_ controller.DeletionGuard    = &provisioner{}
	_ controller.BlockProvisioner = &provisioner{}
)

// ShouldProvision is for claims whose pod is scheduled to this node.
func (p *provisioner) ShouldProvision(_ context.Context, claim *corev1.PersistentVolumeClaim) bool {
	return claim.Annotations[annSelectedNode] == p.node.name
}

// ShouldDelete is for the volumes of this node.
func (p *provisioner) ShouldDelete(_ context.Context, volume *corev1.PersistentVolume) bool {
	return hostOf(volume) == p.node.host
}

// SupportsBlock says yes to what [unsupported] refuses, because the library's own refusal does not say what would be right.
func (p *provisioner) SupportsBlock(context.Context) bool { return true }

// Provision creates the folder, which is there before the volume is. A claim that does not fit, or that the disk does not take, is
// handed back to the scheduler for another node.
func (p *provisioner) Provision(_ context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	claim := options.PVC
	if err := unsupported(claim, options.StorageClass); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if err := p.ledger.grant(options.PVName, size.Value()); err != nil {
		return nil, controller.ProvisioningReschedule, err
	}
	if err := p.folders.create(claim.UID); err != nil {
		p.ledger.drop(options.PVName)
		return nil, controller.ProvisioningReschedule, fmt.Errorf("create the folder of the volume on node %s: %w", p.node.name, err)
	}
	return volumeFor(claim, options.StorageClass, options.PVName, p.node.host, p.folders.path(claim.UID)), controller.ProvisioningFinished, nil
}

// volumeFor describes a volume of type local: unlike with hostPath, the kubelet gives its files to the pod's fsGroup, and fails a pod
// whose folder is not there, rather than starting it with an empty one.
func volumeFor(claim *corev1.PersistentVolumeClaim, class *storage.StorageClass, name, host, path string) *corev1.PersistentVolume {
	mode, policy := corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    &mode,
			PersistentVolumeReclaimPolicy: policy,
			MountOptions:                  class.MountOptions,
			NodeAffinity:                  affinityTo(host),
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
		},
	}
}

// unsupportedError is about a claim or class that no node can serve. As a status of gRPC it makes the library wait five minutes
// before it looks again, because neither changes by itself.
type unsupportedError string

func (e unsupportedError) Error() string { return string(e) }

// GRPCStatus is how the library finds out.
func (e unsupportedError) GRPCStatus() *status.Status {
	return status.New(codes.InvalidArgument, string(e))
}

func unsupported(claim *corev1.PersistentVolumeClaim, class *storage.StorageClass) error {
	spec := claim.Spec
	switch {
	case spec.VolumeMode != nil && *spec.VolumeMode != corev1.PersistentVolumeFilesystem:
		return unsupportedError(fmt.Sprintf("spec.volumeMode: volumes on the disks of nodes have files, not blocks: use %s", corev1.PersistentVolumeFilesystem))
	case slices.ContainsFunc(spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m != corev1.ReadWriteOnce && m != corev1.ReadWriteOncePod
	}):
		return unsupportedError(fmt.Sprintf("spec.accessModes: a volume is on the disk of one node, so that pods of others cannot use it: use %s or %s", corev1.ReadWriteOnce, corev1.ReadWriteOncePod))
	case spec.DataSource != nil || spec.DataSourceRef != nil:
		return unsupportedError("spec.dataSource: volumes begin empty: there are no snapshots or clones to begin from; leave it out")
	case spec.Selector != nil:
		return unsupportedError("spec.selector: it selects among volumes that exist, and this one would be created; leave it out, or set storageClassName to \"\"")
	case len(class.Parameters) > 0:
		return unsupportedError(fmt.Sprintf("parameters of StorageClass %s: %s has none; leave them out", class.Name, Provisioner))
	}
	if _, err := folderName(claim.UID); err != nil {
		return unsupportedError(err.Error())
	}
	return nil
}

// Delete removes the folder of a volume that its claim has released. It goes on where it was interrupted.
func (p *provisioner) Delete(ctx context.Context, volume *corev1.PersistentVolume) error {
	claim, err := claimOf(volume, p.folders.path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// Users with the right to write volumes, or to their status, have no right to the data of a claim that exists.
	found, err := p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
	switch {
	case err == nil && found.UID == claim.UID:
		return &controller.VolumeInUseError{Reason: fmt.Sprintf("claim %s/%s exists", claim.Namespace, claim.Name)}
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("look for the claim: %w", err)
	}
	if err := p.folders.remove(claim.UID); err != nil {
		return fmt.Errorf("delete the folder of the volume on node %s: %w", p.node.name, err)
	}
	return nil
}

// claimOf returns the claim of a volume that this provisioner created, and an error for a volume that a user wrote to look like one:
// the name, the claim and the path have to agree.
func claimOf(volume *corev1.PersistentVolume, pathOf func(types.UID) string) (*corev1.ObjectReference, error) {
	claim, local := volume.Spec.ClaimRef, volume.Spec.Local
	if claim == nil || local == nil {
		return nil, errors.New("the volume lacks a claim or a local path, so that this provisioner did not create it: delete it by hand")
	}
	if _, err := folderName(claim.UID); err != nil {
		return nil, err
	}
	if volume.Name != volumeName(claim.UID) || local.Path != pathOf(claim.UID) {
		return nil, fmt.Errorf("the volume is not that of its claim, which would be %s at %s, so that this provisioner did not create it: delete it by hand",
			volumeName(claim.UID), pathOf(claim.UID))
	}
	return claim, nil
}

// volumeName is the library's name of the volume of a claim.
func volumeName(claim types.UID) string { return volumePrefix + string(claim) }

const volumePrefix = "pvc-"

// claimOfName is the inverse of volumeName; empty for other volumes.
func claimOfName(volume string) types.UID {
	if uid, ok := strings.CutPrefix(volume, volumePrefix); ok {
		return types.UID(uid)
	}
	return ""
}
