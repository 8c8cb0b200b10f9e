package collector

import (
	"encoding/json"
	"fmt"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// resourceKind is a resource of the Kubernetes API that is watched.
type resourceKind struct {
	// name is what users call it, and path where it is.
	name, path string
	// query selects; metaOnly asks for metadata alone.
	query    string
	metaOnly bool
	// first are read before the others, which need what they say of owners.
	first bool
	// kinds are what it contributes to.
	kinds []inventory.Kind
	// decode takes an object in JSON apart.
	decode func(j *joins, raw []byte) (observed, error)
}

// observed is what an object said.
type observed struct {
	name, namespace, uid string
	items                []inventory.Item
}

func (r *resourceKind) accept(as string) string {
	if r.metaOnly {
		return listing.Metadata(as)
	}
	return listing.JSON
}

// resourceKinds are what is watched in each cluster.
func resourceKinds(secrets bool) []*resourceKind {
	all := []*resourceKind{
		{name: "replicasets", path: "/apis/apps/v1/replicasets", metaOnly: true, first: true, decode: decoder(func(j *joins, o *object) []inventory.Item {
			j.own(&o.Meta)
			return nil
		})},
		{name: "jobs", path: "/apis/batch/v1/jobs", first: true, kinds: workloads, decode: decoder(func(j *joins, w *workload) []inventory.Item {
			j.own(&w.Meta)
			return workloadItems("Job", w)
		})},
		{name: "pods", path: "/api/v1/pods", kinds: kindsOf(inventory.KindContainer, inventory.KindComponent, inventory.KindNode), decode: decoder(func(j *joins, p *pod) []inventory.Item {
			return j.pod(p, podItems(p, j.ownerOf))
		})},
		{name: "nodes", path: "/api/v1/nodes", kinds: kindsOf(inventory.KindNode, inventory.KindComponent), decode: decoder(func(j *joins, n *node) []inventory.Item {
			return j.node(n)
		})},
		{name: "namespaces", path: "/api/v1/namespaces", metaOnly: true, kinds: kindsOf(inventory.KindNamespace), decode: plain(namespaceItems)},
		{name: "deployments", path: "/apis/apps/v1/deployments", kinds: workloads, decode: workloadDecoder("Deployment")},
		{name: "statefulsets", path: "/apis/apps/v1/statefulsets", kinds: workloads, decode: workloadDecoder("StatefulSet")},
		{name: "daemonsets", path: "/apis/apps/v1/daemonsets", kinds: workloads, decode: workloadDecoder("DaemonSet")},
		{name: "cronjobs", path: "/apis/batch/v1/cronjobs", kinds: workloads, decode: workloadDecoder("CronJob")},
		{name: "services", path: "/api/v1/services", kinds: kindsOf(inventory.KindService), decode: plain(serviceItems)},
		{name: "ingresses", path: "/apis/networking.k8s.io/v1/ingresses", kinds: kindsOf(inventory.KindIngress), decode: plain(ingressItems)},
		{name: "persistentvolumes", path: "/api/v1/persistentvolumes", kinds: kindsOf(inventory.KindVolume), decode: plain(volumeItems)},
		{name: "persistentvolumeclaims", path: "/api/v1/persistentvolumeclaims", kinds: kindsOf(inventory.KindVolume), decode: plain(volumeItems)},
		{name: "csidrivers", path: "/apis/storage.k8s.io/v1/csidrivers", metaOnly: true, kinds: kindsOf(inventory.KindComponent), decode: plain(driverItems)},
		{name: "events", path: "/api/v1/events", query: "fieldSelector=type=Warning", kinds: kindsOf(inventory.KindWarning), decode: plain(warningItems)},
	}
	if secrets {
		all = append(all, &resourceKind{
			name: "secrets", path: "/api/v1/secrets", query: "fieldSelector=type=kubernetes.io/tls",
			kinds: kindsOf(inventory.KindCertificate), decode: plain(secretItems),
		})
	}
	return all
}

// What no object says comes from these: the version and the certificate of the API server, and its metrics.
var (
	ofCluster = resourceKind{name: "cluster", kinds: kindsOf(inventory.KindComponent, inventory.KindCertificate)}
	ofMetrics = resourceKind{name: "metrics", kinds: kindsOf(inventory.KindAPI)}
)

var workloads = kindsOf(inventory.KindWorkload)

func kindsOf(kinds ...inventory.Kind) []inventory.Kind { return kinds }

// of is a pointer to a trimmed object.
type of[T any] interface {
	*T
	metadata() *meta
}

func decoder[T any, P of[T]](items func(*joins, *T) []inventory.Item) func(*joins, []byte) (observed, error) {
	return func(j *joins, raw []byte) (observed, error) {
		var o T
		if err := json.Unmarshal(raw, &o); err != nil {
			return observed{}, fmt.Errorf("read object: %w", err)
		}
		m := P(&o).metadata()
		if m.UID == "" || len(m.UID) > maxUID {
			return observed{}, fmt.Errorf("read object %s/%s: its UID is not one", listing.Clean(m.Namespace, maxName), listing.Clean(m.Name, maxName))
		}
		return observed{name: m.Name, namespace: m.Namespace, uid: m.UID, items: items(j, &o)}, nil
	}
}

func plain[T any, P of[T]](items func(*T) []inventory.Item) func(*joins, []byte) (observed, error) {
	return decoder[T, P](func(_ *joins, o *T) []inventory.Item { return items(o) })
}

func workloadDecoder(kind string) func(*joins, []byte) (observed, error) {
	return plain(func(w *workload) []inventory.Item { return workloadItems(kind, w) })
}
