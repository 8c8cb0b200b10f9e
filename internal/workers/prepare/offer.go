package prepare

import (
	"context"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/workers/addons"
)

// Offer are the images that addons have in clusters of this installation; none while they are being built, and when those that were
// built are damaged, which the status of each cluster says. That of kube-proxy is not among them: it has the version of each cluster.
func (p *Preparer) Offer() addons.Images {
	bundled, err := p.bundled()
	if err != nil && p.Images != Upstream {
		return addons.Images{}
	}
	images := chooseImages(p.Images, bundled, "")
	images.KubeProxy = ""
	return images
}

// Settled says how each addon of the catalogue is to be in a cluster.
func (p *Preparer) Settled(ctx context.Context, cluster *v1alpha1.Cluster) ([]addons.Settled, error) {
	settings, err := p.settings(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return addons.Settle(cluster.Spec.CNI, settings...), nil
}
