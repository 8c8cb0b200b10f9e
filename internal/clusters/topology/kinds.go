package topology

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// kind is a resource that is listed.
type kind struct {
	group, version, resource, kind string
	// metaOnly asks for metadata alone: owner references are all that matters.
	metaOnly bool
	decode   func(raw []byte) (Object, error)
}

// pods is read first: without it there is no answer.
func pods() kind {
	return kind{version: "v1", resource: "pods", kind: "Pod", decode: decoder(podObject)}
}

// others are read after the pods.
func others() []kind {
	meta := decoder(func(*object, *Object) {})
	return []kind{
		{group: "apps", version: "v1", resource: "deployments", kind: "Deployment", metaOnly: true, decode: meta},
		{group: "apps", version: "v1", resource: "replicasets", kind: "ReplicaSet", metaOnly: true, decode: meta},
		{group: "apps", version: "v1", resource: "statefulsets", kind: "StatefulSet", metaOnly: true, decode: meta},
		{group: "apps", version: "v1", resource: "daemonsets", kind: "DaemonSet", metaOnly: true, decode: meta},
		{group: "batch", version: "v1", resource: "jobs", kind: "Job", metaOnly: true, decode: meta},
		{group: "batch", version: "v1", resource: "cronjobs", kind: "CronJob", metaOnly: true, decode: meta},
		{version: "v1", resource: "services", kind: "Service", decode: decoder(serviceObject)},
		{version: "v1", resource: "persistentvolumeclaims", kind: "PersistentVolumeClaim", decode: decoder(claimObject)},
		{group: "networking.k8s.io", version: "v1", resource: "ingresses", kind: "Ingress", decode: decoder(ingressObject)},
		{group: "networking.k8s.io", version: "v1", resource: "networkpolicies", kind: "NetworkPolicy", decode: decoder(policyObject)},
		{group: "policy", version: "v1", resource: "poddisruptionbudgets", kind: "PodDisruptionBudget", decode: decoder(budgetObject)},
		{group: "autoscaling", version: "v2", resource: "horizontalpodautoscalers", kind: "HorizontalPodAutoscaler", decode: decoder(scalerObject)},
		{group: gatewayGroup, version: "v1", resource: "httproutes", kind: "HTTPRoute", decode: decoder(routeObject)},
	}
}

const gatewayGroup = "gateway.networking.k8s.io"

// paths are where the kind is listed: in all namespaces, or in each of some.
func (k kind) paths(namespaces []string) []string {
	base := "/api/" + k.version
	if k.group != "" {
		base = "/apis/" + k.group + "/" + k.version
	}
	if len(namespaces) == 0 {
		return []string{base + "/" + k.resource}
	}
	var paths []string
	for _, namespace := range namespaces {
		paths = append(paths, base+"/namespaces/"+namespace+"/"+k.resource)
	}
	return paths
}

func (k kind) accept() string {
	if k.metaOnly {
		return listing.Metadata("PartialObjectMetadataList")
	}
	return listing.JSON
}

// How many things an object may have, and how long a name may be, in bytes. Kubernetes allows no longer names, and no program has as many
// owners and references; a hostile API server does.
const (
	maxName    = 253
	maxUID     = 64
	maxWord    = 128
	maxOwners  = 32
	maxTargets = 256
	maxLabels  = 64
)

// metadata is what is decoded of every object.
type metadata struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	UID       string            `json:"uid"`
	Labels    map[string]string `json:"labels"`
	Owners    []struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		UID        string `json:"uid"`
	} `json:"ownerReferences"`
}

// object is one with metadata alone, and what every other one begins with.
type object struct {
	Meta metadata `json:"metadata"`
}

func (o *object) metadata() *metadata { return &o.Meta }

// of is a pointer to a trimmed object.
type of[T any] interface {
	*T
	metadata() *metadata
}

// decoder takes an object apart; more adds what its kind has beside metadata.
func decoder[T any, P of[T]](more func(*T, *Object)) func([]byte) (Object, error) {
	return func(raw []byte) (Object, error) {
		var in T
		if err := json.Unmarshal(raw, &in); err != nil {
			return Object{}, fmt.Errorf("read object: %w", err)
		}
		m := P(&in).metadata()
		out := Object{Ref: Ref{Namespace: listing.Clean(m.Namespace, maxName), Name: listing.Clean(m.Name, maxName)}, UID: listing.Clean(m.UID, maxUID), Cut: len(m.Owners) > maxOwners}
		for _, o := range m.Owners[:min(len(m.Owners), maxOwners)] {
			out.Owners = append(out.Owners, Owner{listing.Clean(groupOf(o.APIVersion), maxName), listing.Clean(o.Kind, maxWord), listing.Clean(o.Name, maxName), listing.Clean(o.UID, maxUID)})
		}
		more(&in, &out)
		return out, nil
	}
}

// label keeps the labels of an object, which selectors are compared with: as they are, for what is shown of them is nothing.
func (o *Object) label(with map[string]string) {
	if len(with) > maxLabels {
		o.Cut = true
		return
	}
	o.Labels = labels.Set(with)
}

// name adds an object that this one names. One without a name is none.
func (o *Object) name(group, kind, namespace, name string, as Relation) {
	o.target(Target{Ref: Ref{listing.Clean(group, maxName), listing.Clean(kind, maxWord), listing.Clean(namespace, maxName), listing.Clean(name, maxName)}, As: as})
}

func (o *Object) target(t Target) {
	switch {
	case t.Name == "":
	case len(o.Targets) >= maxTargets:
		o.Cut = true
	default:
		o.Targets = append(o.Targets, t)
	}
}

// size is about how many bytes the object takes, its own overhead included.
func (o *Object) size() int64 {
	n := 256 + len(o.Namespace) + len(o.Name) + len(o.UID) + len(o.Phase)
	for key, value := range o.Labels {
		n += 64 + len(key) + len(value)
	}
	for _, owner := range o.Owners {
		n += 64 + len(owner.Group) + len(owner.Kind) + len(owner.Name) + len(owner.UID)
	}
	for _, t := range o.Targets {
		n += 96 + len(t.Group) + len(t.Kind) + len(t.Namespace) + len(t.Name)
	}
	if o.Selector != nil {
		requirements, _ := o.Selector.Requirements()
		for i := range requirements {
			n += 128 + len(requirements[i].Key())
			for _, value := range requirements[i].ValuesUnsorted() {
				n += 32 + len(value)
			}
		}
	}
	return int64(n)
}
