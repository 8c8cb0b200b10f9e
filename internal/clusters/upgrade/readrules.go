package upgrade

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func (r *reading) budget(raw []byte) error {
	in, err := object[struct {
		Meta meta `json:"metadata"`
		Spec struct {
			MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
			MinAvailable   *intstr.IntOrString `json:"minAvailable"`
		} `json:"spec"`
		Status struct {
			Allowed  int32 `json:"disruptionsAllowed"`
			Expected int32 `json:"expectedPods"`
		} `json:"status"`
	}](raw)
	if err != nil {
		return err
	}
	b := Budget{
		Namespace: clean(in.Meta.Namespace), Name: clean(in.Meta.Name), MaxUnavailable: in.Spec.MaxUnavailable, MinAvailable: in.Spec.MinAvailable,
		Allowed: in.Status.Allowed, Expected: in.Status.Expected,
	}
	if never(b) != "" { // the others are not kept
		r.seen.Budgets = append(r.seen.Budgets, b)
	}
	return nil
}

// webhook is one of admission, as its configuration has it.
type webhook struct {
	Name              string       `json:"name"`
	Client            clientConfig `json:"clientConfig"`
	FailurePolicy     string       `json:"failurePolicy"`
	NamespaceSelector selector     `json:"namespaceSelector"`
	ObjectSelector    selector     `json:"objectSelector"`
	Rules             []rule       `json:"rules"`
}

type rule struct {
	Groups    []string `json:"apiGroups"`
	Resources []string `json:"resources"`
}

type selector struct {
	Labels      map[string]string `json:"matchLabels"`
	Expressions []struct {
		Operator string `json:"operator"`
	} `json:"matchExpressions"`
}

// narrow says whether it takes only what is labelled for it. One that leaves something out is not narrow.
func (s selector) narrow() bool {
	return len(s.Labels) > 0 || slices.ContainsFunc(s.Expressions, func(e struct {
		Operator string `json:"operator"`
	},
	) bool {
		return e.Operator == "In" || e.Operator == "Exists"
	})
}

// vital are the resources without which no node comes and no pod starts, by their API group.
var vital = []struct{ group, resource string }{{"", "nodes"}, {"", "pods"}, {"coordination.k8s.io", "leases"}}

// of are the vital resources that a webhook is asked about, of all namespaces and objects. It is pure.
func (w webhook) of() []string {
	if w.ObjectSelector.narrow() {
		return nil
	}
	var out []string
	for _, v := range vital {
		if v.resource != "nodes" && w.NamespaceSelector.narrow() { // nodes are in no namespace
			continue
		}
		if slices.ContainsFunc(w.Rules, func(r rule) bool { return r.takes(v.group, v.resource) }) {
			out = append(out, v.resource)
		}
	}
	return out
}

func (r rule) takes(group, resource string) bool {
	takesGroup := slices.Contains(r.Groups, group) || slices.Contains(r.Groups, "*")
	return takesGroup && slices.ContainsFunc(r.Resources, func(s string) bool {
		return s == "*" || s == "*/*" || s == resource || s == resource+"/*" || s == resource+"/status"
	})
}

// webhooks reads the configurations of a kind.
func (r *reading) webhooks(kind string) func([]byte) error {
	return func(raw []byte) error {
		in, err := object[struct {
			Meta     meta      `json:"metadata"`
			Webhooks []webhook `json:"webhooks"`
		}](raw)
		if err != nil {
			return err
		}
		for _, w := range in.Webhooks {
			service, of := w.Client.Service.service(), w.of()
			if w.FailurePolicy == "Ignore" || service == nil || len(of) == 0 {
				continue
			}
			if len(r.seen.Webhooks) < listedAtMost {
				r.seen.Webhooks = append(r.seen.Webhooks, Webhook{Configuration: kind + " " + clean(in.Meta.Name), Name: clean(w.Name), Service: *service, Of: of})
			}
		}
		return nil
	}
}
