package collector

import (
	"fmt"

	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

func keyOf(m *meta, kind inventory.Kind, part string) inventory.Key {
	return inventory.Key{Kind: kind, Namespace: listing.Clean(m.Namespace, maxName), Name: listing.Clean(m.Name, maxName), Part: part, UID: listing.Clean(m.UID, maxUID)}
}

// workloadItems returns a workload of a kind. The Jobs of a CronJob are none: they come and go with the clock, and the CronJob stays.
func workloadItems(kind string, w *workload) []inventory.Item {
	out := &inventory.Workload{Labels: cleanMap(w.Meta.Labels), Selector: cleanMap(w.Spec.Selector.MatchLabels)}
	switch kind {
	case "DaemonSet":
		out.Desired, out.Ready = w.Status.DesiredScheduled, w.Status.NumberReady
	case "Job":
		if w.Meta.controller().Kind == "CronJob" {
			return nil
		}
		out.Desired, out.Ready = ptr.Deref(w.Spec.Completions, 1), w.Status.Succeeded
	case "CronJob":
	default:
		out.Desired, out.Ready = ptr.Deref(w.Spec.Replicas, 1), w.Status.Ready
	}
	return []inventory.Item{{Key: keyOf(&w.Meta, inventory.KindWorkload, kind), Workload: out}}
}

func namespaceItems(n *object) []inventory.Item {
	return []inventory.Item{{Key: keyOf(&n.Meta, inventory.KindNamespace, ""), Namespace: &inventory.Namespace{Labels: cleanMap(n.Meta.Labels)}}}
}

func serviceItems(s *service) []inventory.Item {
	out := &inventory.Service{Type: listing.Clean(s.Spec.Type, maxWord), Selector: cleanMap(s.Spec.Selector)}
	for _, port := range s.Spec.Ports[:min(len(s.Spec.Ports), maxList)] {
		out.Ports = append(out.Ports, fmt.Sprintf("%s/%d", listing.Clean(port.Protocol, maxWord), port.Port))
	}
	var addresses []string
	for _, at := range s.Status.LoadBalancer.Ingress[:min(len(s.Status.LoadBalancer.Ingress), maxList)] {
		addresses = append(addresses, at.IP, at.Hostname)
	}
	out.Addresses = cleanSet(addresses)
	return []inventory.Item{{Key: keyOf(&s.Meta, inventory.KindService, ""), Service: out}}
}

func ingressItems(in *ingress) []inventory.Item {
	class := in.Spec.Class
	if class == "" {
		class = in.Meta.Annotations.IngressClass
	}
	services := []string{in.Spec.Default.Service.Name}
	var hosts, secrets []string
	for _, rule := range in.Spec.Rules {
		hosts = append(hosts, rule.Host)
		for _, path := range rule.HTTP.Paths {
			services = append(services, path.Backend.Service.Name)
		}
	}
	for _, tls := range in.Spec.TLS {
		secrets = append(secrets, tls.Secret)
	}
	return []inventory.Item{{Key: keyOf(&in.Meta, inventory.KindIngress, ""), Ingress: &inventory.Ingress{
		Class: listing.Clean(class, maxName), Hosts: cleanSet(hosts), Services: cleanSet(services), Secrets: cleanSet(secrets),
	}}}
}

// volumeItems returns a PersistentVolume, or a PersistentVolumeClaim with the capacity that it got.
func volumeItems(v *volume) []inventory.Item {
	capacity := v.Status.Capacity.Storage
	if v.Meta.Namespace == "" {
		capacity = v.Spec.Capacity.Storage
	}
	return []inventory.Item{{Key: keyOf(&v.Meta, inventory.KindVolume, ""), Volume: &inventory.Volume{
		StorageClass: listing.Clean(v.Spec.StorageClass, maxName), Phase: listing.Clean(v.Status.Phase, maxWord), Bytes: bytesOf(capacity), Bound: listing.Clean(v.Spec.Volume, maxName),
	}}}
}
