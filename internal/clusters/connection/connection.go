//go:build linux

// Package connection reaches clusters by their API servers, also those that others run and that KQueen has adopted.
//
//	kubeconfig of a user ──► Parse (data alone, nothing is run, read or skipped) ──► Guard (judges each address when it is dialed)
//	agent in a cluster ──► Agents (a stream on the connection that it keeps)
//
// It hides where the credentials of a cluster lie, which addresses are closed to the kubeconfigs of users, and how much a cluster
// that is hostile or stuck may cost: time, bytes and connections. [Connections] is the one way in which what looks at clusters
// reaches them; the workers of hosted clusters are prepared by platform/kube. The driver of adopted clusters imports it, what looks into
// clusters, and package app, which makes it.
package connection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
)

const (
	// fresh is how long credentials are used without a look at whether they have changed.
	fresh = 10 * time.Second
	// idle is how long a connection is kept that is not asked for: its cluster may be gone.
	idle = time.Hour
)

// Config is what Connections are made of. All fields but Now are required.
type Config struct {
	// Secrets reads the admin plane without a cache.
	Secrets client.Reader
	// Guard dials the clusters that users have adopted by a kubeconfig, and Agents reach those that have an agent.
	Guard  *Guard
	Agents Agents
	// Version of the calling program, for the user agent.
	Version string
	// Now tells the time; nil for time.Now.
	Now func() time.Time
}

// Connections keeps one way to each cluster. Make it with New. It is safe for concurrent use.
type Connections struct {
	from Config

	mu   sync.Mutex
	open map[types.UID]connection
}

type connection struct {
	config *rest.Config
	// version is that of what the cluster is reached by.
	version       string
	looked, asked time.Time
	// through is the way for the calls of others.
	through *way
	// end closes connections that nothing is asked on, but for those that the client library keeps.
	end func()
}

// New returns an empty collection.
func New(c Config) *Connections {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Connections{from: c, open: map[types.UID]connection{}}
}

// ErrNoCredentials says that there is nothing yet by which a cluster could be reached.
var ErrNoCredentials = errors.New("there are no credentials yet by which the cluster can be reached")

// ErrAsleep says that nothing of a cluster runs: KQueen itself does not wake it.
var ErrAsleep = errors.New("the cluster is asleep")

// Config says how to reach a cluster: by its own kubeconfig where KQueen hosts it, and by the one that a user has set where it was
// adopted; these are guarded. No redirect is followed, each call but a watch ends after [kube.CallDeadline], and no answer is read
// beyond [MostBytes]. It makes no call to the cluster. The same cluster gets the same config until its credentials change; the
// caller does not change it. [ErrNoCredentials] when there are none, and [ErrAsleep] for one that sleeps.
//
// A config for an adopted cluster has a Transport and no secrets: a client that needs its keys, as for exec, cannot be made of it.
func (c *Connections) Config(ctx context.Context, cluster *v1alpha1.Cluster) (*rest.Config, error) {
	if cluster.Status.Sleeps() {
		return nil, ErrAsleep
	}
	return c.config(ctx, cluster)
}

// config is Config of a cluster that may be asleep.
func (c *Connections) config(ctx context.Context, cluster *v1alpha1.Cluster) (*rest.Config, error) {
	now := c.from.Now()
	have, ok := c.known(cluster.UID, now)
	if ok && now.Sub(have.looked) < fresh {
		return have.config, nil
	}
	found, err := c.find(ctx, cluster)
	if err != nil {
		if errors.Is(err, ErrNoCredentials) {
			c.Forget(cluster.UID)
		}
		return nil, err
	}
	if version := found.version(); !ok || have.version != version {
		made, err := c.make(cluster, found)
		if err != nil {
			return nil, fmt.Errorf("read the credentials of cluster %s: %w", cluster.Name, err)
		}
		have = made
		have.version = version
	}
	have.looked, have.asked = now, now
	c.keep(cluster.UID, have, now)
	return have.config, nil
}

// Version is a text that is another one when what the cluster is reached by is. [ErrNoCredentials] when there is nothing.
func (c *Connections) Version(ctx context.Context, cluster *v1alpha1.Cluster) (string, error) {
	found, err := c.find(ctx, cluster)
	if err != nil {
		return "", err
	}
	return found.version(), nil
}

// find reads what a cluster is reached by. Credentials that users set count first, so that nothing else can have an adopted
// cluster called without the guard.
func (c *Connections) find(ctx context.Context, cluster *v1alpha1.Cluster) (found, error) {
	for _, name := range []string{cluster.CredentialsSecret(), cluster.KubeconfigSecret()} {
		secret := &corev1.Secret{}
		err := c.from.Secrets.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, secret)
		if err == nil && metav1.IsControlledBy(secret, cluster) {
			return foundIn(secret, name == cluster.CredentialsSecret())
		}
		if err := client.IgnoreNotFound(err); err != nil {
			return found{}, fmt.Errorf("read the credentials of cluster %s: %w", cluster.Name, err)
		}
	}
	return found{}, ErrNoCredentials
}

func (c *Connections) make(cluster *v1alpha1.Cluster, from found) (connection, error) {
	if from.means.Agent != nil {
		return c.reached(tunnelled(c.from.Agents, cluster.UID), tunnelled(c.from.Agents, cluster.UID).forOthers()), nil
	}
	if from.adopted {
		kubeconfig, err := Parse(from.means.Kubeconfig)
		if err != nil {
			return connection{}, err
		}
		way, err := c.from.Guard.transport(kubeconfig)
		if err != nil {
			return connection{}, err
		}
		through, err := c.from.Guard.transport(kubeconfig)
		if err != nil {
			return connection{}, err
		}
		return c.reached(way, through.forOthers()), nil
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(from.secret.Data[v1alpha1.KubeconfigKey])
	if err != nil {
		return connection{}, err
	}
	config.UserAgent, config.QPS = c.agent(), -1
	kube.Background(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &capped{next: kube.Bounded(next)} })
	through, err := forCallers(config)
	if err != nil {
		return connection{}, err
	}
	return connection{config: config, through: through, end: through.closeIdle}, nil
}

// reached is the connection to an adopted cluster.
func (c *Connections) reached(way, through *way) connection {
	config := &rest.Config{Host: way.server.String(), UserAgent: c.agent(), Transport: way, QPS: -1}
	return connection{config: config, through: through, end: func() { way.closeIdle(); through.closeIdle() }}
}

func (c *Connections) agent() string { return "kqueen/" + c.from.Version }

func (c *Connections) known(uid types.UID, now time.Time) (connection, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have, ok := c.open[uid]
	if ok {
		have.asked = now
		c.open[uid] = have
	}
	return have, ok
}

// keep puts a connection in the place of the former one, and drops those that were not asked for in a while.
func (c *Connections) keep(uid types.UID, made connection, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if former, ok := c.open[uid]; ok && former.config != made.config {
		former.close()
	}
	c.open[uid] = made
	for other, have := range c.open {
		if now.Sub(have.asked) > idle {
			have.close()
			delete(c.open, other)
		}
	}
}

// Forget drops what is kept of a cluster.
func (c *Connections) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[uid].close()
	delete(c.open, uid)
}

func (c connection) close() {
	if c.end != nil {
		c.end()
	}
}
