package volumes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// namespace has what nodes have left. It is that of the agent's pods.
	namespace = metav1.NamespaceSystem
	// labelNode has the UID of the node that an object is about.
	labelNode = "local-volumes.kqueen.io/node-uid"
)

// announce tells the scheduler what the node has left, by a CSIStorageCapacity for each class of this provisioner. The CSIDriver of
// the addon makes the scheduler ask for them, so that it selects no node without the agent, or with too little left.
func (a *agent) announce(ctx context.Context) error {
	left, err := a.ledger.left()
	if err != nil {
		return err
	}
	client := a.client.StorageV1().CSIStorageCapacities(namespace)
	found, err := client.List(ctx, metav1.ListOptions{LabelSelector: labelNode + "=" + string(a.node.uid)})
	if err != nil {
		return fmt.Errorf("read what the scheduler was told: %w", err)
	}
	var classes []*storage.StorageClass
	for _, obj := range a.watched.classes.GetStore().List() {
		if class := obj.(*storage.StorageClass); class.Provisioner == Provisioner {
			classes = append(classes, class)
		}
	}
	errs := []error{}
	wanted := capacities(a.node, classes, left)
	for _, is := range found.Items {
		want, ok := wanted[is.Name]
		delete(wanted, is.Name)
		switch {
		case !ok:
			if err := client.Delete(ctx, is.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		case is.Capacity == nil || is.Capacity.Cmp(*want.Capacity) != 0:
			is.Capacity = want.Capacity
			_, err := client.Update(ctx, &is, metav1.UpdateOptions{})
			errs = append(errs, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		_, err := client.Create(ctx, wanted[name], metav1.CreateOptions{})
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("tell the scheduler what the node has left: %w", err)
	}
	return nil
}

// capacities returns what the scheduler is told of a node, by name. The garbage collector deletes them with the node, their owner.
func capacities(node place, classes []*storage.StorageClass, left int64) map[string]*storage.CSIStorageCapacity {
	all := map[string]*storage.CSIStorageCapacity{}
	for _, class := range classes {
		name := fmt.Sprintf("%s-%s", node.uid, class.UID)
		all[name] = &storage.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: namespace, Labels: map[string]string{labelNode: string(node.uid)},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.name, UID: node.uid}},
			},
			StorageClassName: class.Name,
			NodeTopology:     &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: node.host}},
			Capacity:         resource.NewQuantity(left, resource.BinarySI),
		}
	}
	return all
}
