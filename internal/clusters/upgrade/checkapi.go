package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// deprecatedAPIs are those that clients call and that a version on the way does not serve any more.
func deprecatedAPIs(f Facts) []v1alpha1.UpgradeFinding {
	table := removals()
	var out []v1alpha1.UpgradeFinding
	for _, a := range f.Called {
		in, known := goneIn(a, table)
		if !known || !in.at(f.To) || in.at(f.From) {
			continue
		}
		name := nameOf(schema.GroupVersionResource{Group: a.Group, Version: a.Version, Resource: a.Resource})
		out = append(out, blocks(v1alpha1.CheckDeprecatedAPIs, name, fmt.Sprintf("clients call it, and %s does not serve it", in),
			"find the clients in the audit log of the cluster and have them call another version; that they called it is remembered until its API server restarts: then ignore this check"))
	}
	return out
}

// storedVersions are definitions with objects in versions that clients cannot read.
func storedVersions(f Facts) []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for _, d := range f.Seen.Definitions {
		object := "CustomResourceDefinition " + d.Name
		for _, v := range unserved(d) {
			if _, listed := d.Served[v]; !listed {
				out = append(out, blocks(v1alpha1.CheckStoredVersions, object, "objects may be stored in version "+v+", which the definition does not have any more",
					"write all of its objects again, and take the version out of status.storedVersions"))
				continue
			}
			out = append(out, warns(v1alpha1.CheckStoredVersions, object, "objects may be stored in version "+v+", which is not served any more",
				"write all of its objects again before the version is taken out of the definition"))
		}
	}
	return out
}

// unserved are the stored versions of a definition that are not served. It is pure.
func unserved(d Definition) []string {
	return slices.DeleteFunc(slices.Clone(d.Stored), func(v string) bool { return d.Served[v] })
}

// disruptionBudgets are those that keep pods on the nodes that are to be replaced.
func disruptionBudgets(f Facts) []v1alpha1.UpgradeFinding {
	if !slices.ContainsFunc(f.Steps, func(s v1alpha1.UpgradeStep) bool { return s.Kind == v1alpha1.StepNodePool }) {
		return nil
	}
	var out []v1alpha1.UpgradeFinding
	for _, b := range f.Seen.Budgets {
		if why := never(b); why != "" {
			out = append(out, blocks(v1alpha1.CheckDisruptionBudgets, "PodDisruptionBudget "+b.Namespace+"/"+b.Name, why,
				"let one pod be disrupted, or run one more; else its pods are killed when the time to drain a node has ended"))
		}
	}
	return out
}

// never says why none of a budget's pods may ever be evicted, or nothing: that none may now is not enough, because it can pass. It is pure.
// Percentages are rounded as the disruption controller does (k8s.io/kubernetes/pkg/controller/disruption: both up).
func never(b Budget) string {
	if b.Allowed > 0 || b.Expected <= 0 {
		return ""
	}
	if n, ok := scaled(b.MaxUnavailable, b.Expected); ok && n <= 0 {
		return "maxUnavailable is " + b.MaxUnavailable.String() + ": its pods can never leave their node"
	}
	if n, ok := scaled(b.MinAvailable, b.Expected); ok && n >= int(b.Expected) {
		return fmt.Sprintf("minAvailable is %s of %d: its pods can never leave their node", shown(b.MinAvailable), b.Expected)
	}
	return ""
}

func scaled(v *intstr.IntOrString, of int32) (int, bool) {
	if v == nil {
		return 0, false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, int(of), true)
	return n, err == nil
}

// shown is a number or percentage that a cluster has said.
func shown(v *intstr.IntOrString) string { return clean(v.String()) }

func admissionWebhooks(f Facts) []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for _, w := range f.Seen.Webhooks {
		if f.Seen.Answering[w.Service] {
			continue
		}
		out = append(out, blocks(v1alpha1.CheckAdmissionWebhooks, w.Configuration,
			fmt.Sprintf("its webhook %s must answer for %s, and its Service %s has no endpoint that is ready", w.Name, strings.Join(w.Of, ", "), w.Service),
			"run the webhook, set its failurePolicy to Ignore, or delete the configuration; else no new node can join"))
	}
	return out
}

func conversionWebhooks(f Facts) []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for _, d := range f.Seen.Definitions {
		if d.Converter == nil || f.Seen.Answering[*d.Converter] {
			continue
		}
		out = append(out, blocks(v1alpha1.CheckConversionWebhooks, "CustomResourceDefinition "+d.Name,
			fmt.Sprintf("its objects are converted by Service %s, which has no endpoint that is ready", *d.Converter),
			"run the webhook; else the API server can neither list nor delete its objects"))
	}
	return out
}
