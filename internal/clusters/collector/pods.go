package collector

import (
	"cmp"
	"strings"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// hashLabel is what a Deployment's controller puts on the pods of its ReplicaSets, whose names end with its value.
const hashLabel = "pod-template-hash"

// ownerOf says which controller owns a ReplicaSet or a Job: the zero owner when it has none, and false when it is not known.
type ownerOf func(uid string) (owner, bool)

// podItems returns the containers of a pod, and the components of Kubernetes that run in it.
func podItems(p *pod, of ownerOf) []inventory.Item {
	kind, name := workloadOf(p, of)
	var out []inventory.Item
	add := func(kindOf inventory.ContainerType, all []container, states []containerState) {
		states = states[:min(len(states), maxList)]
		for i := range all[:min(len(all), maxList)] {
			c, state := &all[i], stateOf(states, all[i].Name)
			typ := kindOf
			if typ == inventory.TypeInit && c.RestartPolicy == "Always" {
				typ = inventory.TypeSidecar
			}
			key := podKey(p, inventory.KindContainer)
			key.Part = listing.Clean(c.Name, maxName)
			out = append(out, inventory.Item{Key: key, Container: &inventory.Container{
				Type: typ, Static: isStatic(p), Image: image(c.Image, state.ImageID),
				WorkloadKind: kind, WorkloadName: name, Node: listing.Clean(p.Spec.NodeName, maxName),
				Phase: listing.Clean(p.Status.Phase, maxWord), Reason: reasonOf(p, &state),
			}})
		}
	}
	add(inventory.TypeInit, p.Spec.Init, p.Status.Init)
	add(inventory.TypeApp, p.Spec.Containers, p.Status.Containers)
	add(inventory.TypeEphemeral, p.Spec.Ephemeral, p.Status.Ephemeral)
	out = out[:min(len(out), maxList)]
	return append(out, podComponents(p, out)...)
}

func podKey(p *pod, kind inventory.Kind) inventory.Key {
	return inventory.Key{Kind: kind, Namespace: listing.Clean(p.Meta.Namespace, maxName), Name: listing.Clean(p.Meta.Name, maxName), UID: listing.Clean(p.Meta.UID, maxUID)}
}

func stateOf(states []containerState, name string) containerState {
	for _, s := range states {
		if s.Name == name {
			return s
		}
	}
	return containerState{}
}

// isStatic says whether a kubelet runs the pod from a file: what the API server has of it is a mirror.
func isStatic(p *pod) bool {
	return p.Meta.Annotations.Mirror != "" || p.Meta.controller().Kind == "Node"
}

// reasonOf says why a container does not run; "" when it does, or has run to its end. What the kubelet says of the container comes first.
func reasonOf(p *pod, s *containerState) string {
	switch {
	case s.State.Waiting != nil:
		return listing.Clean(cmp.Or(s.State.Waiting.Reason, "Waiting"), maxWord)
	case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
		return listing.Clean(cmp.Or(s.State.Terminated.Reason, "Error"), maxWord)
	case p.Status.Reason != "": // of the pod, such as Evicted
		return listing.Clean(p.Status.Reason, maxWord)
	case p.Spec.NodeName == "":
		for _, c := range p.Status.Conditions {
			if c.Type == "PodScheduled" && c.Status == "False" {
				return listing.Clean(c.Reason, maxWord)
			}
		}
	}
	return ""
}

// workloadOf returns what owns a pod in the end: the owner of its ReplicaSet or Job where there is one. A ReplicaSet that is not known is
// taken for a Deployment's when it is named as such are; a pod that has no controller is its own.
func workloadOf(p *pod, of ownerOf) (kind, name string) {
	direct := p.Meta.controller()
	if direct.Kind == "" {
		return "Pod", listing.Clean(p.Meta.Name, maxName)
	}
	top := direct
	if direct.Kind == "ReplicaSet" || direct.Kind == "Job" {
		above, known := of(direct.UID)
		deployment, hashed := strings.CutSuffix(direct.Name, "-"+p.Meta.Labels[hashLabel])
		switch {
		case known && above.Kind != "":
			top = above
		case !known && direct.Kind == "ReplicaSet" && hashed && p.Meta.Labels[hashLabel] != "":
			top = owner{Kind: "Deployment", Name: deployment}
		}
	}
	return listing.Clean(top.Kind, maxWord), listing.Clean(top.Name, maxName)
}
