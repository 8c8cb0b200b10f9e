// Package prepare puts into a cluster what every node needs before one joins: it says which images the cluster's own
// pods run, has package addons describe the objects, and applies them by the cluster's API server.
//
// It hides when that is to be done again. The reconciler of NodePool calls it, wired by package app.
package prepare

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

// Clusters gives access to managed clusters, as their administrator.
type Clusters interface {
	Client(ctx context.Context, cluster *v1alpha1.Cluster) (client.Client, error)
}

// Config is what a Preparer is made of. All fields but Images are required.
type Config struct {
	Clusters Clusters
	Releases *release.Store
	// Images says where the images come from that the pods run: [Bundled] or [Upstream]. Empty takes bundled ones where
	// there are such.
	Images string
}

// again is when a cluster gets its contents again although nothing of ours has changed: a user may have deleted some.
const again = 10 * time.Minute

// Preparer puts into clusters what every node needs. It is safe for concurrent use.
type Preparer struct {
	Config

	mu   sync.Mutex
	done map[types.UID]prepared
}

// New returns a Preparer that has prepared no cluster yet.
func New(c Config) *Preparer { return &Preparer{Config: c, done: map[types.UID]prepared{}} }

type prepared struct {
	hash string
	at   time.Time
}

// Prepare is cheap when the cluster has it all.
func (p *Preparer) Prepare(ctx context.Context, cluster *v1alpha1.Cluster) error {
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
	if last.hash == hash && time.Since(last.at) < again {
		return nil
	}
	c, err := p.Clusters.Client(ctx, cluster)
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

func (p *Preparer) contents(cluster *v1alpha1.Cluster) ([]client.Object, error) {
	joins, err := machine.ClusterOf(cluster)
	if err != nil {
		return nil, err
	}
	var bundled []release.Image // where upstream's are asked for, it does not matter how those here are
	if p.Images != Upstream {
		if bundled, err = p.bundled(); err != nil {
			return nil, err
		}
	}
	images, err := chooseImages(p.Images, bundled, cluster.Status.Version, joins.CNI)
	if err != nil {
		return nil, err
	}
	return addons.Objects(addons.Params{
		Version: cluster.Status.Version, Server: joins.Server, CA: joins.CA, ServerName: cluster.Status.Join.ServerName,
		PodCIDR: joins.PodCIDR, ServiceCIDR: joins.ServiceCIDR, DNS: joins.DNS, DNSDomain: joins.DNSDomain,
		ClusterName: cluster.Name, CNI: joins.CNI, Images: images,
	})
}

// bundled are the images that were built here. While the first ones are being built, it is an error that says so.
func (p *Preparer) bundled() ([]release.Image, error) {
	// Before the images are looked for: a build that ends meanwhile has to count as one that goes on.
	step, building := p.Releases.NodeBuild()
	parts, ok, err := p.Releases.LookupNodeParts()
	if err != nil {
		return nil, err
	}
	if building && !ok {
		return nil, fmt.Errorf("waiting for the programs and images of nodes, which are being built: %s", step)
	}
	return parts.Images(), nil
}
