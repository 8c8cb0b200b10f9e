package topology

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// The types here are what is decoded of objects: an answer is trimmed while it is read, and what is not named here is never kept.

// named is a reference by name alone.
type named struct {
	Name string `json:"name"`
}

type container struct {
	EnvFrom []struct {
		ConfigMap named `json:"configMapRef"`
		Secret    named `json:"secretRef"`
	} `json:"envFrom"`
	Env []struct {
		From struct {
			ConfigMap named `json:"configMapKeyRef"`
			Secret    named `json:"secretKeyRef"`
		} `json:"valueFrom"`
	} `json:"env"`
}

type volume struct {
	ConfigMap named `json:"configMap"`
	Secret    struct {
		Name string `json:"secretName"`
	} `json:"secret"`
	Claim struct {
		Name string `json:"claimName"`
	} `json:"persistentVolumeClaim"`
	Projected struct {
		Sources []struct {
			ConfigMap named `json:"configMap"`
			Secret    named `json:"secret"`
		} `json:"sources"`
	} `json:"projected"`
	CSI struct {
		Secret named `json:"nodePublishSecretRef"`
	} `json:"csi"`
}

type pod struct {
	object

	Spec struct {
		NodeName    string      `json:"nodeName"`
		Containers  []container `json:"containers"`
		Init        []container `json:"initContainers"`
		Ephemeral   []container `json:"ephemeralContainers"`
		Volumes     []volume    `json:"volumes"`
		PullSecrets []named     `json:"imagePullSecrets"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func podObject(in *pod, o *Object) {
	o.label(in.Meta.Labels)
	o.Phase = listing.Clean(in.Status.Phase, maxWord)
	o.name("", "Node", "", in.Spec.NodeName, RunsOn)
	seen := map[[2]string]bool{}
	use := func(kind, name string) {
		if is := [2]string{kind, name}; !seen[is] {
			seen[is] = true
			o.name("", kind, o.Namespace, name, Uses)
		}
	}
	for _, v := range in.Spec.Volumes {
		use("PersistentVolumeClaim", v.Claim.Name)
		use("ConfigMap", v.ConfigMap.Name)
		use("Secret", v.Secret.Name)
		use("Secret", v.CSI.Secret.Name)
		for _, source := range v.Projected.Sources {
			use("ConfigMap", source.ConfigMap.Name)
			use("Secret", source.Secret.Name)
		}
	}
	for _, some := range [][]container{in.Spec.Init, in.Spec.Containers, in.Spec.Ephemeral} {
		for i := range some {
			for _, from := range some[i].EnvFrom {
				use("ConfigMap", from.ConfigMap.Name)
				use("Secret", from.Secret.Name)
			}
			for _, env := range some[i].Env {
				use("ConfigMap", env.From.ConfigMap.Name)
				use("Secret", env.From.Secret.Name)
			}
		}
	}
	for _, secret := range in.Spec.PullSecrets {
		use("Secret", secret.Name)
	}
}

type service struct {
	object

	Spec struct {
		Selector map[string]string `json:"selector"`
	} `json:"spec"`
}

func serviceObject(in *service, o *Object) { o.Selector = plainSelector(in.Spec.Selector) }

type claim struct {
	object

	Spec struct {
		Volume string `json:"volumeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func claimObject(in *claim, o *Object) {
	o.Phase = listing.Clean(in.Status.Phase, maxWord)
	o.name("", "PersistentVolume", "", in.Spec.Volume, BoundTo)
}

type backend struct {
	Service named `json:"service"`
}

type ingress struct {
	object

	Spec struct {
		Default backend `json:"defaultBackend"`
		TLS     []struct {
			Secret string `json:"secretName"`
		} `json:"tls"`
		Rules []struct {
			HTTP struct {
				Paths []struct {
					Backend backend `json:"backend"`
				} `json:"paths"`
			} `json:"http"`
		} `json:"rules"`
	} `json:"spec"`
}

func ingressObject(in *ingress, o *Object) {
	o.name("", "Service", o.Namespace, in.Spec.Default.Service.Name, RoutesTo)
	for _, rule := range in.Spec.Rules {
		for _, path := range rule.HTTP.Paths {
			o.name("", "Service", o.Namespace, path.Backend.Service.Name, RoutesTo)
		}
	}
	for _, tls := range in.Spec.TLS {
		o.name("", "Secret", o.Namespace, tls.Secret, Uses)
	}
}

type policy struct {
	object

	Spec struct {
		Pods metav1.LabelSelector `json:"podSelector"`
	} `json:"spec"`
}

func policyObject(in *policy, o *Object) { o.Selector = labelSelector(&in.Spec.Pods) }

type budget struct {
	object

	Spec struct {
		Pods *metav1.LabelSelector `json:"selector"`
	} `json:"spec"`
}

func budgetObject(in *budget, o *Object) { o.Selector = labelSelector(in.Spec.Pods) }

type scaler struct {
	object

	Spec struct {
		Target struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"scaleTargetRef"`
	} `json:"spec"`
}

func scalerObject(in *scaler, o *Object) {
	t := &in.Spec.Target
	o.name(groupOf(t.APIVersion), t.Kind, o.Namespace, t.Name, Scales)
}

// reference is one of the Gateway API, whose absent fields have defaults.
type reference struct {
	Group     *string `json:"group"`
	Kind      *string `json:"kind"`
	Namespace *string `json:"namespace"`
	Name      string  `json:"name"`
}

// or fills in what is absent.
func (r *reference) or(group, kind, namespace string) Ref {
	out := Ref{group, kind, namespace, listing.Clean(r.Name, maxName)}
	if r.Group != nil {
		out.Group = listing.Clean(*r.Group, maxName)
	}
	if r.Kind != nil {
		out.Kind = listing.Clean(*r.Kind, maxWord)
	}
	if r.Namespace != nil {
		out.Namespace = listing.Clean(*r.Namespace, maxName)
	}
	return out
}

type route struct {
	object

	Spec struct {
		Parents []reference `json:"parentRefs"`
		Rules   []struct {
			Backends []reference `json:"backendRefs"`
		} `json:"rules"`
	} `json:"spec"`
}

func routeObject(in *route, o *Object) {
	for i := range in.Spec.Parents {
		o.target(Target{Ref: in.Spec.Parents[i].or(gatewayGroup, "Gateway", o.Namespace), As: RoutesTo, Reverse: true})
	}
	for _, rule := range in.Spec.Rules {
		for i := range rule.Backends {
			o.target(Target{Ref: rule.Backends[i].or("", "Service", o.Namespace), As: RoutesTo})
		}
	}
}
