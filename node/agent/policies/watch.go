package policies

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	networkinginformers "k8s.io/client-go/informers/networking/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// ofOwnAddress leaves out pods that no policy is about, so that the API server does not send them.
const ofOwnAddress = "spec.hostNetwork=false,status.phase!=Succeeded,status.phase!=Failed"

// never is how often informers repeat what they have: the enforcer repeats by itself.
const never time.Duration = 0

// watched are the objects of the cluster that rules follow from.
type watched struct {
	pods, namespaces, policies cache.SharedIndexInformer
}

// watch has changed called at each change, once the informers run.
func watch(client kubernetes.Interface, changed func()) (watched, error) {
	s := watched{
		pods: coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, never, cache.Indexers{}, func(o *metav1.ListOptions) {
			o.FieldSelector = ofOwnAddress
		}),
		namespaces: coreinformers.NewNamespaceInformer(client, never, cache.Indexers{}),
		policies:   networkinginformers.NewNetworkPolicyInformer(client, metav1.NamespaceAll, never, cache.Indexers{}),
	}
	for _, informer := range s.all() {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		})
		if err := errors.Join(err, informer.SetTransform(keep)); err != nil {
			return watched{}, fmt.Errorf("watch the cluster: %w", err)
		}
	}
	return s, nil
}

func (s watched) all() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{s.pods, s.namespaces, s.policies}
}

func (s watched) synced() []cache.InformerSynced {
	var out []cache.InformerSynced
	for _, informer := range s.all() {
		out = append(out, informer.HasSynced)
	}
	return out
}

func listOf[T any](informer cache.SharedIndexInformer) []*T {
	var out []*T
	for _, object := range informer.GetStore().List() {
		if t, ok := object.(*T); ok {
			out = append(out, t)
		}
	}
	return out
}

// keep returns the part of an object that rules follow from: the rest would be most of this program's memory.
func keep(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return keepPod(o), nil
	case *corev1.Namespace:
		return &corev1.Namespace{ObjectMeta: keepMeta(o.ObjectMeta)}, nil
	case *networkingv1.NetworkPolicy:
		return &networkingv1.NetworkPolicy{ObjectMeta: keepMeta(o.ObjectMeta), Spec: o.Spec}, nil
	default:
		return object, nil // cache.DeletedFinalStateUnknown has an object that was here before
	}
}

func keepMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, Labels: m.Labels,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		ResourceVersion: m.ResourceVersion, // by which informers tell an update
	}
}

func keepPod(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: keepMeta(p.ObjectMeta)}
	out.Spec.NodeName, out.Spec.HostNetwork = p.Spec.NodeName, p.Spec.HostNetwork
	out.Status.Phase, out.Status.PodIPs = p.Status.Phase, p.Status.PodIPs
	var ports []corev1.ContainerPort
	for _, port := range containerPorts(p) {
		if port.Name != "" { // the only ones that a policy can be about
			ports = append(ports, corev1.ContainerPort{Name: port.Name, ContainerPort: port.ContainerPort, Protocol: port.Protocol})
		}
	}
	if len(ports) > 0 {
		out.Spec.Containers = []corev1.Container{{Ports: ports}}
	}
	return out
}
