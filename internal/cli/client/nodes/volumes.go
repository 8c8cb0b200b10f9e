package nodes

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
)

// mostVolumes is how many volumes of a cluster are looked at for those of a node.
const mostVolumes = 5000

// volumesLost warns of the volumes that are lost with a node, and says whether there are any. Of a cluster that does not answer it
// says so: its nodes have to be replaced all the same.
func volumesLost(ctx context.Context, e *connection.Env, name string) bool {
	c, node, err := reachNode(ctx, e, name)
	if err != nil {
		e.Say("warning: volumes on the disk of node %s are lost with it; which there are cannot be told: %v", name, err)
		return false
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := c.List(ctx, volumes, client.Limit(mostVolumes)); err != nil {
		e.Say("warning: volumes on the disk of node %s are lost with it; which there are cannot be told: list volumes: %v", name, err)
		return false
	}
	lost := boundTo(volumes.Items, node)
	if len(lost) > 0 {
		e.Say("warning: the volumes of these claims are on the disk of node %s and lost with it: %s", name, console.List(lost[:min(len(lost), shownPods)]))
	}
	return len(lost) > 0
}

// boundTo are the claims, as NAMESPACE/NAME, whose volumes only pods on a node can use. It is pure.
func boundTo(volumes []corev1.PersistentVolume, node *corev1.Node) []string {
	var claims []string
	for i := range volumes {
		if claim := volumes[i].Spec.ClaimRef; claim != nil && onlyOn(volumes[i].Spec.NodeAffinity, node.Labels[corev1.LabelHostname]) {
			claims = append(claims, console.CleanLine(fmt.Sprintf("%s/%s", claim.Namespace, claim.Name)))
		}
	}
	slices.Sort(claims)
	return claims
}

func onlyOn(affinity *corev1.VolumeNodeAffinity, host string) bool {
	if host == "" || affinity == nil || affinity.Required == nil || len(affinity.Required.NodeSelectorTerms) != 1 {
		return false
	}
	return slices.ContainsFunc(affinity.Required.NodeSelectorTerms[0].MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
		return r.Key == corev1.LabelHostname && r.Operator == corev1.NodeSelectorOpIn && slices.Equal(r.Values, []string{host})
	})
}
