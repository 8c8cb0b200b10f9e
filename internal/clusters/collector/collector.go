package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/inventory"
)

const (
	// confirmEvery is the time between two confirmations of all clusters that are live.
	confirmEvery = 15 * time.Second
	// credentialEvery is the time between two looks at whether a cluster's credential is another one: Secrets are not watched.
	credentialEvery = time.Minute
	// pagesAtOnce is how many pages of lists are read at once, over all clusters.
	pagesAtOnce = 8
)

// Store is told what runs in clusters. The same Changes may come twice.
type Store interface {
	// Apply writes what has changed in a cluster, however long that takes beside others. Changes without items tell what the Cluster object says.
	Apply(context.Context, inventory.Cluster, inventory.Changes) error
	// Confirm says that these clusters, by UID, are watched now and known to be so until a time. It leaves their messages as they are.
	Confirm(ctx context.Context, at time.Time, live []string) error
	// Lost says why a cluster is not watched. Confirm directly after it says that it is, and that the message names what is left out; such
	// a message is empty when nothing is.
	Lost(ctx context.Context, uid, message string) error
	// End says that a cluster has left the fleet.
	End(ctx context.Context, uid string, at time.Time) error
}

// Config is what a Collector works with. Client, Store, Connect and Now have to be set.
type Config struct {
	// Client reads Clusters, from a cache.
	Client client.Reader
	Store  Store
	// Connect says how to reach a cluster. It has to bound where connections may go.
	Connect func(context.Context, *v1alpha1.Cluster) (*rest.Config, error)
	// Credential returns a text that is another one when the credential is. Nil reads the resource version of the kubeconfig's Secret by
	// SecretReader. [ErrNotReady] when there is none yet: the agent of an adopted cluster has not enrolled, for example.
	Credential   func(context.Context, *v1alpha1.Cluster) (string, error)
	SecretReader client.Reader
	// Hosted returns the components that KQueen runs for a cluster itself; none for those that it does not host.
	Hosted func(context.Context, *v1alpha1.Cluster) []inventory.Item
	// Known returns the UIDs of the clusters that the store takes to be in the fleet: those without a Cluster are ended at the start.
	// Nil ends none.
	Known func(context.Context) ([]string, error)
	// Secrets has TLS Secrets read for when their certificates end. Their keys are sent with them, and dropped at once.
	Secrets bool
	Limits  Limits
	Now     func() time.Time
	Log     *slog.Logger
}

// Collector watches all clusters. Make it with New. It is a reconciler of Clusters and a runnable of a manager.
type Collector struct {
	config   Config
	turns    *turns
	measures *measures

	started chan struct{} // closed by Start

	mu       sync.Mutex
	life     context.Context // that of Start, and so of the sessions
	sessions map[types.NamespacedName]*watched
	running  sync.WaitGroup
}

// watched is the session of a cluster.
type watched struct {
	*session

	with    identity
	object  *atomic.Pointer[v1alpha1.Cluster] // as it was seen last
	stop    context.CancelFunc
	stopped chan struct{}
}

// identity is what a session depends on: with another one there is another session.
type identity struct {
	uid, endpoint, credential string
	asleep                    bool
}

// asleepSays is what the store is told of a cluster that sleeps.
const asleepSays = "the cluster is asleep; what is shown of it is as it was when it fell asleep"

// New returns a collector that watches nothing yet.
func New(config Config) *Collector {
	config.Limits = config.Limits.withDefaults()
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	c := &Collector{
		config: config, turns: newTurns(pagesAtOnce), started: make(chan struct{}), sessions: map[types.NamespacedName]*watched{},
	}
	c.measures = newMeasures(c.standing)
	return c
}

// Start implements [manager.Runnable]: it lets sessions begin, confirms those that are live, and waits for all to end when ctx does. It
// may be called once.
func (c *Collector) Start(ctx context.Context) error {
	if err := c.endUnknown(ctx); err != nil {
		c.config.Log.Warn("clusters that were deleted while KQueen did not run stay in the inventory until its next start", "error", err)
	}
	c.mu.Lock()
	c.life = ctx
	c.mu.Unlock()
	close(c.started)
	ticker := time.NewTicker(confirmEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			c.running.Wait()
			return nil
		case <-ticker.C:
			c.confirm(ctx)
		}
	}
}

// endUnknown ends the clusters that left the fleet while KQueen did not run.
func (c *Collector) endUnknown(ctx context.Context) error {
	if c.config.Known == nil {
		return nil
	}
	known, err := c.config.Known(ctx)
	if err != nil {
		return fmt.Errorf("read which clusters are known: %w", err)
	}
	clusters := &v1alpha1.ClusterList{}
	if err := c.config.Client.List(ctx, clusters); err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	there := map[string]bool{}
	for i := range clusters.Items {
		there[string(clusters.Items[i].UID)] = true
	}
	var failed []error
	for _, uid := range known {
		if !there[uid] {
			failed = append(failed, c.config.Store.End(ctx, uid, c.config.Now()))
		}
	}
	return errors.Join(failed...)
}

// confirm tells the store which clusters are live, in one call. The time is that of the one that was heard of longest ago.
func (c *Collector) confirm(ctx context.Context) {
	var live []string
	var at time.Time
	for _, w := range c.all() {
		if now := w.state.now(); now.live {
			live = append(live, w.uid())
			if at.IsZero() || now.at.Before(at) {
				at = now.at
			}
		}
	}
	if len(live) == 0 {
		return
	}
	slices.Sort(live)
	ctx, cancel := context.WithTimeout(ctx, c.config.Limits.Store)
	defer cancel()
	if err := c.config.Store.Confirm(ctx, at, live); err != nil {
		c.measures.storeErrors.Inc()
		c.config.Log.Warn("clusters are watched, and the store does not take it", "clusters", len(live), "error", err)
	}
}

func (c *Collector) all() []*watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.sessions))
}

// standing counts the clusters that are live, and those that are not.
func (c *Collector) standing() (live, lost int) {
	for _, w := range c.all() {
		if w.state.now().live {
			live++
		} else {
			lost++
		}
	}
	return live, lost
}

// Reconcile begins, renews or ends the session of one cluster.
func (c *Collector) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	select {
	case <-c.started:
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	}
	cluster := &v1alpha1.Cluster{}
	err := c.config.Client.Get(ctx, req.NamespacedName, cluster)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, c.end(ctx, req.NamespacedName)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read Cluster: %w", err)
	}
	have := c.session(req.NamespacedName)
	if have != nil && have.with.uid != string(cluster.UID) {
		if err := c.end(ctx, req.NamespacedName); err != nil {
			return reconcile.Result{}, err
		}
		have = nil
	}
	if !apimeta.IsStatusConditionTrue(cluster.Status.Conditions, v1alpha1.ConditionKubeconfigReady) {
		return reconcile.Result{}, nil // a session goes on with the kubeconfig that it has
	}
	credential, err := c.credential(ctx, cluster)
	if errors.Is(err, ErrNotReady) {
		return reconcile.Result{RequeueAfter: credentialEvery}, nil // sooner when the status of the cluster changes
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	with := identity{uid: string(cluster.UID), endpoint: cluster.Status.Endpoint, credential: credential, asleep: cluster.Status.Sleeps()}
	if have == nil || have.with != with {
		c.halt(have)
		if with.asleep {
			return reconcile.Result{RequeueAfter: credentialEvery}, c.rest(ctx, req.NamespacedName, cluster, with)
		}
		c.begin(req.NamespacedName, cluster, with)
	} else {
		have.object.Store(cluster)
		have.rename(described(cluster))
	}
	return reconcile.Result{RequeueAfter: credentialEvery}, nil
}

// ErrNotReady says that there is nothing yet by which a cluster can be reached.
var ErrNotReady = errors.New("the cluster cannot be reached yet")

func (c *Collector) credential(ctx context.Context, cluster *v1alpha1.Cluster) (string, error) {
	if c.config.Credential != nil {
		return c.config.Credential(ctx, cluster)
	}
	secret := &corev1.Secret{}
	if err := c.config.SecretReader.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.KubeconfigSecret()}, secret); err != nil {
		return "", fmt.Errorf("read the kubeconfig's Secret: %w", err)
	}
	return secret.ResourceVersion, nil
}

// described is what the store is told of a Cluster object.
func described(cluster *v1alpha1.Cluster) inventory.Cluster {
	organization, _ := v1alpha1.OrganizationOf(cluster.Namespace)
	return inventory.Cluster{UID: string(cluster.UID), Organization: organization, Name: cluster.Name, Labels: maps.Clone(cluster.Labels)}
}

func (c *Collector) session(name types.NamespacedName) *watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[name]
}

func (c *Collector) begin(name types.NamespacedName, cluster *v1alpha1.Cluster, with identity) {
	object := &atomic.Pointer[v1alpha1.Cluster]{}
	object.Store(cluster)
	s := newSession(c, described(cluster))
	s.connect = func(ctx context.Context) (*rest.Config, error) {
		ctx, cancel := context.WithTimeout(ctx, c.config.Limits.Call)
		defer cancel()
		return c.config.Connect(ctx, object.Load())
	}
	if c.config.Hosted != nil {
		s.hosted = func(ctx context.Context) []inventory.Item { return c.config.Hosted(ctx, object.Load()) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, stop := context.WithCancel(c.life)
	w := &watched{session: s, with: with, object: object, stop: stop, stopped: make(chan struct{})}
	c.sessions[name] = w
	c.running.Go(func() {
		defer close(w.stopped)
		s.run(ctx)
	})
}

// rest notes that a cluster sleeps: nothing of it is watched, and nothing is kept for it but this.
func (c *Collector) rest(ctx context.Context, name types.NamespacedName, cluster *v1alpha1.Cluster, with identity) error {
	if err := c.config.Store.Lost(ctx, with.uid, asleepSays); err != nil {
		return fmt.Errorf("note in the inventory that the cluster sleeps: %w", err)
	}
	object := &atomic.Pointer[v1alpha1.Cluster]{}
	object.Store(cluster)
	stopped := make(chan struct{})
	close(stopped)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[name] = &watched{session: newSession(c, described(cluster)), with: with, object: object, stop: func() {}, stopped: stopped}
	return nil
}

// halt ends a session and waits until it has. Its cluster stays in the fleet.
func (c *Collector) halt(w *watched) {
	if w == nil {
		return
	}
	w.stop()
	<-w.stopped
}

// end ends the session of a cluster that left the fleet. The session is kept until the store knows: a caller tries again.
func (c *Collector) end(ctx context.Context, name types.NamespacedName) error {
	w := c.session(name)
	if w == nil {
		return nil
	}
	c.halt(w)
	if err := c.config.Store.End(ctx, w.with.uid, c.config.Now()); err != nil {
		return fmt.Errorf("end the inventory of the cluster: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, name)
	return nil
}
