//go:build linux

package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/workers/addons"
	"kqueen.io/kqueen/internal/workers/machine"
)

// clusters gives the verbs access to the clusters that KQueen manages.
type clusters struct{ remotes *kube.Remotes }

// Client implements the interface that package machinecontroller asks for.
func (c clusters) Client(ctx context.Context, cluster *v1alpha1.Cluster) (client.Client, error) {
	secret := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.KubeconfigSecret()}
	return c.remotes.Client(ctx, secret, v1alpha1.KubeconfigKey)
}

// prepareAgain is when a cluster gets its contents again although nothing of ours has changed: somebody may
// have deleted some.
const prepareAgain = 10 * time.Minute

// preparer puts into clusters what every node needs.
type preparer struct {
	clusters clusters
	releases *release.Store
	// from says where images come from, as [Config.Images].
	from string

	mu   sync.Mutex
	done map[types.UID]prepared
}

type prepared struct {
	hash string
	at   time.Time
}

// prepare is cheap when the cluster has it all.
func (p *preparer) prepare(ctx context.Context, cluster *v1alpha1.Cluster) error {
	objects, err := p.contents(cluster)
	if err != nil {
		return err
	}
	hash, err := kube.Hash(objects)
	if err != nil {
		return err
	}
	p.mu.Lock()
	last := p.done[cluster.UID]
	p.mu.Unlock()
	if last.hash == hash && time.Since(last.at) < prepareAgain {
		return nil
	}
	c, err := p.clusters.Client(ctx, cluster)
	if err != nil {
		return err
	}
	if err := kube.Apply(ctx, c, objects, addons.Manager); err != nil {
		return fmt.Errorf("prepare cluster %s for nodes: %w", cluster.Name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[cluster.UID] = prepared{hash, time.Now()}
	return nil
}

func (p *preparer) contents(cluster *v1alpha1.Cluster) ([]client.Object, error) {
	joins, err := machine.ClusterOf(cluster)
	if err != nil {
		return nil, err
	}
	parts, _, err := p.releases.LookupNodeParts()
	if err != nil {
		return nil, err
	}
	images, err := chooseImages(p.from, parts.Images(), cluster.Status.Version, joins.CNI)
	if err != nil {
		return nil, err
	}
	return addons.Objects(addons.Params{
		Version: cluster.Status.Version, Server: joins.Server, CA: joins.CA, ServerName: cluster.Status.Join.ServerName,
		PodCIDR: joins.PodCIDR, ServiceCIDR: joins.ServiceCIDR, DNS: joins.DNS, DNSDomain: joins.DNSDomain,
		ClusterName: cluster.Name, CNI: joins.CNI, Images: images,
	})
}
