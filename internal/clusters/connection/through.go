//go:build linux

package connection

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"kqueen.io/kqueen/api/v1alpha1"
)

// mostThrough is how many connections members have to one adopted cluster: each session in a container takes one.
const mostThrough = 256

// ErrNotAdopted says that a cluster is not one that others run.
var ErrNotAdopted = errors.New("the cluster was not adopted")

// Through returns the way to an adopted cluster for calls of others, which end when they end them: they are guarded, go nowhere else
// and are made with the credentials that were set, and their answers are as long as they are. [ErrNotAdopted] for other clusters.
func (c *Connections) Through(ctx context.Context, cluster *v1alpha1.Cluster) (*url.URL, http.RoundTripper, error) {
	if _, err := c.Config(ctx, cluster); err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.open[cluster.UID]
	if have.through == nil {
		return nil, nil, ErrNotAdopted
	}
	return have.through.server, have.through, nil
}
