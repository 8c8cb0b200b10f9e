package volumes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	annProvisioner   = "volume.kubernetes.io/storage-provisioner"
	annSelectedNode  = "volume.kubernetes.io/selected-node"
	annProvisionedBy = "pv.kubernetes.io/provisioned-by"
)

// watched are the claims, volumes and classes of the whole cluster: a claim cannot be selected by the node that its annotation names.
type watched struct {
	factory informers.SharedInformerFactory
	claims  cache.SharedIndexInformer
	volumes cache.SharedIndexInformer
	classes cache.SharedIndexInformer
}

func watch(client kubernetes.Interface) watched {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 15*time.Minute, informers.WithTransform(strip))
	return watched{
		factory: factory,
		claims:  factory.Core().V1().PersistentVolumeClaims().Informer(),
		volumes: factory.Core().V1().PersistentVolumes().Informer(),
		classes: factory.Storage().V1().StorageClasses().Informer(),
	}
}

// notify calls changed when what the node has left may be another, and gone with the name of a volume that was deleted.
func (w watched) notify(changed func(), gone func(volume string)) error {
	_, err := w.volumes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(obj any) {
			if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				gone(name)
			}
			changed()
		},
	})
	if err == nil {
		_, err = w.classes.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			DeleteFunc: func(any) { changed() },
		})
	}
	if err != nil {
		return fmt.Errorf("watch volumes: %w", err)
	}
	return nil
}

// start returns once everything was read, and false when the context ended before.
func (w watched) start(ctx context.Context) bool {
	w.factory.Start(ctx.Done())
	return cache.WaitForCacheSync(ctx.Done(), w.claims.HasSynced, w.volumes.HasSynced, w.classes.HasSynced)
}

// strip keeps of an object what provisioning reads: every node has the claims and volumes of the whole cluster in memory. What is
// written to the API server never comes from here as a whole: the library reads a claim again before it updates it.
func strip(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		o.Annotations = only(o.Annotations, annProvisioner, annSelectedNode, corev1.BetaStorageClassAnnotation, "volume.beta.kubernetes.io/storage-provisioner")
		o.Labels, o.Finalizers, o.OwnerReferences, o.ManagedFields = nil, nil, nil, nil
		o.Status = corev1.PersistentVolumeClaimStatus{}
	case *corev1.PersistentVolume:
		o.Annotations = only(o.Annotations, annProvisionedBy, "pv.kubernetes.io/migrated-to")
		o.Labels, o.ManagedFields = nil, nil
		o.Status = corev1.PersistentVolumeStatus{Phase: o.Status.Phase}
	case *storage.StorageClass:
		o.Annotations, o.Labels, o.ManagedFields = nil, nil, nil
	}
	return obj, nil
}

func only(all map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		if value, ok := all[key]; ok {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}
