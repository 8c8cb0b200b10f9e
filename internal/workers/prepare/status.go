package prepare

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/workers/addons"
)

const (
	// maxWorkloads is how many workloads of a cluster are looked at: a cluster may have labelled any number.
	maxWorkloads = 100
	// maxMessage is how many bytes of what a cluster says about a workload are repeated.
	maxMessage = 200
)

// Addons prepares the cluster, and says how its addons are, in the order of the catalogue.
func (p *Preparer) Addons(ctx context.Context, cluster *v1alpha1.Cluster) ([]v1alpha1.AddonStatus, error) {
	want, have, err := p.prepare(ctx, cluster)
	if err := cmp.Or(err, have.unpruned); err != nil {
		return nil, err
	}
	c, err := p.Clusters.Client(ctx, cluster)
	if err != nil {
		return nil, err
	}
	found, err := workloads(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []v1alpha1.AddonStatus
	for _, a := range want.chosen {
		s := v1alpha1.AddonStatus{Name: a.Name, Version: a.Version(want.images)}
		not, failed := have.not[a.Name]
		switch {
		case not.state == v1alpha1.AddonUserOwned:
			s.Version, s.State, s.Message = "", not.state, not.message
		case failed:
			s.State, s.Message = not.state, not.message
		case !a.IsFor(cluster.Status.Version):
			s.State, s.Message = v1alpha1.AddonFailed, unfit(a.Addon, cluster.Status.Version)
		case !a.HasImage(want.images):
			s.State, s.Message = p.missing(a.Name)
		default:
			s.State, s.Message = judge(found[a.Name])
			s.Message = cmp.Or(s.Message, a.Lacks(want.chosen))
		}
		all = append(all, s)
	}
	return all, nil
}

// unfit says why an addon is not applied to a cluster of another release than those that it is for.
func unfit(a addons.Addon, release string) string {
	return fmt.Sprintf("it is for Kubernetes %s, and the cluster runs %s: switch it off, or upgrade the cluster", a.Kubernetes, release)
}

// workloads are what addons run in a cluster, by addon.
func workloads(ctx context.Context, c client.Client) (map[string][]unstructured.Unstructured, error) {
	all := map[string][]unstructured.Unstructured{}
	for _, kind := range []string{"DaemonSet", "Deployment"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind + "List"})
		if err := listOf(ctx, c, list); err != nil {
			return nil, fmt.Errorf("list what addons run: %w", err)
		}
		for _, w := range list.Items {
			addon := w.GetLabels()[v1alpha1.LabelAddon]
			all[addon] = append(all[addon], w)
		}
	}
	return all, nil
}

func listOf(ctx context.Context, c client.Client, list client.ObjectList) error {
	ctx, cancel := context.WithTimeout(ctx, kube.CallDeadline)
	defer cancel()
	return c.List(ctx, list, client.HasLabels{v1alpha1.LabelAddon}, client.Limit(maxWorkloads))
}

// judge says how an addon is by what it runs: as kstatus does, and as the worst of several. It is pure.
func judge(all []unstructured.Unstructured) (state, message string) {
	state = v1alpha1.AddonReady
	for i := range all {
		result, err := status.Compute(&all[i])
		if err != nil {
			return v1alpha1.AddonProgressing, "how " + all[i].GetName() + " is cannot be told"
		}
		said := text.Cut(text.Line(all[i].GetKind()+" "+all[i].GetName()+": "+result.Message), maxMessage)
		switch result.Status {
		case status.CurrentStatus:
		case status.FailedStatus:
			return v1alpha1.AddonFailed, said
		default:
			if state == v1alpha1.AddonReady {
				state, message = v1alpha1.AddonProgressing, said
			}
		}
	}
	return state, message
}
