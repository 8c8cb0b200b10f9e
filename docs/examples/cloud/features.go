package cloud

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// What this cloud can beyond that. A driver leaves out what its vendor does not have.
var (
	_ provision.Upgrader         = (*Driver)(nil)
	_ provision.KubeconfigMinter = (*Driver)(nil)
	_ provision.NodePooler       = (*Driver)(nil)
	_ provision.Adopter          = (*Driver)(nil)
	_ provision.Resizer          = (*Driver)(nil)
)

// Versions are the cloud's own.
func (d *Driver) Versions(ctx context.Context, of provision.Target, from string) ([]string, error) {
	var all []string
	err := d.call(ctx, of, http.MethodGet, "versions?from="+url.QueryEscape(from), nil, &all)
	return all, err
}

// MintKubeconfig has the cloud make a kubeconfig that ends.
func (d *Driver) MintKubeconfig(ctx context.Context, of provision.Target, lifetime time.Duration) (provision.Minted, error) {
	have, err := d.find(ctx, of)
	if err != nil {
		return provision.Minted{}, err
	}
	var made struct {
		Kubeconfig string    `json:"kubeconfig"`
		Ends       time.Time `json:"ends"`
	}
	err = d.call(ctx, of, http.MethodPost, "clusters/"+have.ID+"/kubeconfig?lifetime="+lifetime.String(), nil, &made)
	return provision.Minted{Kubeconfig: []byte(made.Kubeconfig), Ends: made.Ends}, err
}

// EnsureNodePool orders nodes.
func (d *Driver) EnsureNodePool(ctx context.Context, of provision.Target, want provision.NodePool) (provision.ObservedNodePool, error) {
	have, err := d.find(ctx, of)
	if err != nil {
		return provision.ObservedNodePool{}, err
	}
	if err := d.call(ctx, of, http.MethodPut, "clusters/"+have.ID+"/pools/"+want.Name, want.Replicas, nil); err != nil {
		return provision.ObservedNodePool{}, err
	}
	o := provision.ObservedNodePool{Ready: have.Pools[want.Name]}
	if o.Ready != want.Replicas {
		o.Message = "the cloud is making the nodes"
	}
	return o, nil
}

// DeleteNodePool orders the end of a pool.
func (d *Driver) DeleteNodePool(ctx context.Context, of provision.Target, name string) (bool, error) {
	have, err := d.find(ctx, of)
	if err != nil {
		return false, err
	}
	if _, there := have.Pools[name]; !there {
		return true, nil
	}
	return false, d.call(ctx, of, http.MethodDelete, "clusters/"+have.ID+"/pools/"+name, nil, nil)
}

// NodePools names the pools.
func (d *Driver) NodePools(ctx context.Context, of provision.Target) ([]string, error) {
	have, err := d.find(ctx, of)
	return slices.Sorted(maps.Keys(have.Pools)), err
}

// Adopt writes our owner to a cluster that has none. The cloud refuses when another one is faster.
func (d *Driver) Adopt(ctx context.Context, want provision.Desired, id string) error {
	return d.call(ctx, want.Target, http.MethodPost, "clusters/"+id+"/owner", string(want.UID), nil)
}

// Release takes our owner away.
func (d *Driver) Release(ctx context.Context, of provision.Target) error {
	have, err := d.find(ctx, of)
	if err != nil {
		if errors.Is(err, provision.ErrNotFound) {
			return nil
		}
		return err
	}
	return d.call(ctx, of, http.MethodDelete, "clusters/"+have.ID+"/owner", nil, nil)
}

// Sizes are the cloud's own.
func (*Driver) Sizes(context.Context, provision.Target) ([]string, error) {
	return []string{"small", "large"}, nil
}

// Resize orders another size.
func (d *Driver) Resize(ctx context.Context, of provision.Target, size string) error {
	if all, _ := d.Sizes(ctx, of); !slices.Contains(all, size) {
		return &invalid.Error{Field: "size", Problem: "is none that the cloud has", Want: "small or large"}
	}
	have, err := d.find(ctx, of)
	if err != nil || have.Size == size {
		return err
	}
	return d.call(ctx, of, http.MethodPatch, "clusters/"+have.ID, record{Size: size}, nil)
}
