// Package prepare puts into a cluster what every node needs before one joins, and the addons that settings choose: it says which
// images their pods run, has package addons describe the objects, applies them by the cluster's API server, deletes those of addons
// that are switched off, and tells how the addons are.
//
// It hides when that is to be done again, and what it leaves to users. The reconcilers of NodePool and Cluster call it, wired by
// package app.
package prepare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/text"
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
	// Settings reads the admin plane: the provisioners and organizations whose settings of addons count for their clusters, the Secrets
	// with the certificates of their Ingresses, and their machines.
	Settings client.Reader
	Releases *release.Store
	// Images says where the images come from that the pods run: [Bundled] or [Upstream]. Empty takes bundled ones where
	// there are such.
	Images string
}

const (
	// again is when a cluster gets its contents again although nothing of ours has changed: a user may have deleted some.
	again = 10 * time.Minute
	// sooner is again for one of which something was refused.
	sooner = 15 * time.Second
	// soon is again for one that was too early, such as for a kind that the API server serves in a moment.
	soon = 2 * time.Second
)

// Preparer puts into clusters what every node needs, and addons. It is safe for concurrent use.
type Preparer struct {
	Config

	mu   sync.Mutex
	done map[types.UID]prepared
}

// New returns a Preparer that has prepared no cluster yet.
func New(c Config) *Preparer { return &Preparer{Config: c, done: map[types.UID]prepared{}} }

// prepared is what a cluster was given last.
type prepared struct {
	hash string
	at   time.Time
	// not are the addons that were not applied, by name.
	not map[string]verdict
	// unpruned is why what is not wanted any more may still be there.
	unpruned error
}

// until is when the cluster gets its contents again.
func (p prepared) until() time.Time {
	wait := again
	if p.unpruned != nil {
		wait = sooner
	}
	for _, v := range p.not {
		switch v.state {
		case v1alpha1.AddonFailed:
			wait = min(wait, sooner)
		case v1alpha1.AddonProgressing:
			wait = soon
		}
	}
	return p.at.Add(wait)
}

// contents are what a cluster is to have.
type contents struct {
	objects []client.Object
	images  addons.Images
	// chosen are its addons, those that have no image among them.
	chosen []addons.Chosen
	// certificate is what Ingresses have by default; nil for none.
	certificate *corev1.Secret
	// gatewayAPI says whether it is to have the kinds of the Gateway API.
	gatewayAPI bool
}

// hash is another one for other contents.
func (c *contents) hash() (string, error) {
	all := c.objects
	if c.certificate != nil {
		all = append(slices.Clip(all), c.certificate)
	}
	hash, err := kube.Hash(all)
	if c.gatewayAPI {
		hash += " and the Gateway API " + addons.GatewayAPIVersion
	}
	return hash, err
}

// Prepare puts into the cluster what nodes need to join; addons beyond that may fail, which [Preparer.Addons] tells. It is cheap
// when the cluster has it all.
func (p *Preparer) Prepare(ctx context.Context, cluster *v1alpha1.Cluster) error {
	_, _, err := p.prepare(ctx, cluster)
	return err
}

func (p *Preparer) prepare(ctx context.Context, cluster *v1alpha1.Cluster) (contents, prepared, error) {
	want, err := p.contents(ctx, cluster)
	if err != nil {
		return contents{}, prepared{}, err
	}
	hash, err := want.hash()
	if err != nil {
		return contents{}, prepared{}, err
	}
	p.mu.Lock()
	last := p.done[cluster.UID]
	p.mu.Unlock()
	if last.hash == hash && time.Now().Before(last.until()) {
		return want, last, nil
	}
	c, err := p.Clusters.Client(ctx, cluster)
	if err != nil {
		return contents{}, prepared{}, err
	}
	var kinds verdict
	if want.gatewayAPI { // first: addons have objects of these kinds
		kinds = applyGatewayAPI(ctx, c)
	}
	not, err := apply(ctx, c, want.objects)
	if err != nil {
		return contents{}, prepared{}, fmt.Errorf("prepare cluster %s for nodes: %w", cluster.Name, err)
	}
	if kinds.state != "" {
		not[addons.NameGatewayAPI] = kinds
	}
	if _, left := not[addons.NameTraefik]; want.certificate != nil && !left {
		if err := putCertificate(ctx, c, want.certificate); err != nil {
			not[addons.NameTraefik] = failed(err)
		}
	}
	now := prepared{hash: hash, not: not, unpruned: errors.Join(prune(ctx, c, want.objects, not), forget(ctx, c, want.chosen)), at: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[cluster.UID] = now
	return want, now, nil
}

func (p *Preparer) contents(ctx context.Context, cluster *v1alpha1.Cluster) (contents, error) {
	joins, err := machine.ClusterOf(cluster)
	if err != nil {
		return contents{}, err
	}
	settings, err := p.settings(ctx, cluster)
	if err != nil {
		return contents{}, err
	}
	bundled, err := p.bundled()
	if err != nil && p.Images != Upstream { // where upstream's are asked for, what joining takes does not depend on those here
		return contents{}, err
	}
	all := contents{images: chooseImages(p.Images, bundled, cluster.Status.Version)}
	runnable, err := all.choose(addons.Choose(joins.CNI, settings...), cluster.Status.Version, len(bundled) > 0)
	if err != nil {
		return contents{}, err
	}
	params := addons.Params{
		Version: cluster.Status.Version, Server: joins.Server, CA: joins.CA, ServerName: cluster.Status.Join.ServerName,
		PodCIDR: joins.PodCIDR, ServiceCIDR: joins.ServiceCIDR, DNS: joins.DNS, DNSDomain: joins.DNSDomain,
		ClusterName: cluster.Name, CNI: joins.CNI, ServiceAddresses: machine.ServiceAddresses, Addons: runnable, Images: all.images,
	}
	all.gatewayAPI = params.HasGatewayAPI()
	if addons.ServesIngresses(runnable) {
		if all.certificate, err = p.certificate(ctx, cluster); err != nil {
			return contents{}, err
		}
	}
	all.objects, err = addons.Objects(params)
	return all, err
}

// choose notes the addons of a cluster of a release, and returns those that can run in it. It is pure.
func (c *contents) choose(all []addons.Chosen, version string, bundled bool) (runnable []addons.Chosen, err error) {
	for _, a := range all {
		has, fits := a.HasImage(c.images), a.IsFor(version)
		switch {
		case has && fits:
			runnable = append(runnable, a)
		case a.Essential && fits:
			return nil, errNoImage(a.Name)
		case a.Essential:
			return nil, errors.New(unfit(a.Addon, version))
		case fits && !bundled && !a.Asked:
			continue // there is none in a registry, and no machine has it
		}
		c.chosen = append(c.chosen, a)
	}
	return runnable, nil
}

// settings are those of addons that count for a cluster, the ones that count more later.
func (p *Preparer) settings(ctx context.Context, cluster *v1alpha1.Cluster) ([][]v1alpha1.AddonSetting, error) {
	provisioner, organization := &v1alpha1.Provisioner{}, &v1alpha1.Organization{}
	ref := client.ObjectKey{Namespace: cluster.Spec.ProvisionerRef.Namespace, Name: cluster.Spec.ProvisionerRef.Name}
	if err := client.IgnoreNotFound(p.Settings.Get(ctx, ref, provisioner)); err != nil {
		return nil, fmt.Errorf("read the addons of provisioner %s: %w", ref.Name, err)
	}
	if name, ok := v1alpha1.OrganizationOf(cluster.Namespace); ok {
		if err := client.IgnoreNotFound(p.Settings.Get(ctx, client.ObjectKey{Name: name}, organization)); err != nil {
			return nil, fmt.Errorf("read the addons of organization %s: %w", name, err)
		}
	}
	return [][]v1alpha1.AddonSetting{provisioner.Spec.Addons, organization.Spec.Addons, cluster.Spec.Addons}, nil
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
	// Joining does not take them: [Preparer.missing] says it where they are damaged.
	later, _, _ := p.Releases.LookupAddonImages()
	return append(parts.Images(), later.Images...), nil
}

// missing says how an addon is whose image is not there, and what helps or is under way.
func (p *Preparer) missing(addon string) (state, message string) {
	if step, building := p.Releases.AddonBuild(); building {
		return v1alpha1.AddonProgressing, "waiting for its image, which is being built: " + step.String()
	}
	if _, _, err := p.Releases.LookupAddonImages(); err != nil {
		return v1alpha1.AddonFailed, text.Cut(fmt.Sprintf("%v; build it again with: kqueen release build", err), maxMessage)
	}
	return v1alpha1.AddonFailed, errNoImage(addon).Error()
}
