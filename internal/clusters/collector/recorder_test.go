package collector_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/collector"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.FromSlogHandler(slog.DiscardHandler)) // without one, controller-runtime prints a stack trace
	if where := os.Getenv(collectFrom); where != "" {
		if err := collectForever(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(databasetest.Run(withControlPlane{m}))
}

// withControlPlane runs tests and then stops the API server that they started.
type withControlPlane struct{ m *testing.M }

func (w withControlPlane) Run() int { return controlplanetest.Run(w.m) }

// recorder is a store in memory that keeps what holds now.
type recorder struct {
	mu       sync.Mutex
	items    map[string]map[inventory.Key]inventory.Item // by UID of the cluster
	clusters map[string]inventory.Cluster
	messages map[string]string
	live     map[string]time.Time
	ended    []string
	wholes   map[inventory.Kind]int
	largest  int // batch
	refuse   int // so many calls of Apply
	changed  chan struct{}
}

func newRecorder() *recorder {
	return &recorder{
		items: map[string]map[inventory.Key]inventory.Item{}, clusters: map[string]inventory.Cluster{}, messages: map[string]string{},
		live: map[string]time.Time{}, wholes: map[inventory.Kind]int{}, changed: make(chan struct{}),
	}
}

func (r *recorder) did() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) Apply(_ context.Context, cluster inventory.Cluster, changes inventory.Changes) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.did()
	if r.refuse > 0 {
		r.refuse--
		return errors.New("the database is away")
	}
	r.clusters[cluster.UID], r.largest = cluster, max(r.largest, len(changes.Set)+len(changes.Gone))
	items := r.items[cluster.UID]
	if items == nil {
		items = map[inventory.Key]inventory.Item{}
		r.items[cluster.UID] = items
	}
	for _, kind := range changes.Whole {
		r.wholes[kind]++
		maps.DeleteFunc(items, func(k inventory.Key, _ inventory.Item) bool { return k.Kind == kind })
	}
	for _, key := range changes.Gone {
		delete(items, key)
	}
	for _, item := range changes.Set {
		items[item.Key] = item
	}
	return nil
}

func (r *recorder) Confirm(_ context.Context, at time.Time, live []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.did()
	for _, uid := range live {
		r.live[uid] = at
	}
	return nil
}

func (r *recorder) Lost(_ context.Context, uid, message string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.did()
	delete(r.live, uid)
	r.messages[uid] = message
	return nil
}

func (r *recorder) End(_ context.Context, uid string, _ time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.did()
	r.ended = append(r.ended, uid)
	return nil
}

// until waits until a state of the store is as wanted; differs says how it is not.
func (r *recorder) until(t *testing.T, differs func() string) {
	t.Helper()
	deadline, look := time.After(time.Minute), time.NewTicker(50*time.Millisecond) // what is not of the store changes too
	defer look.Stop()
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		diff := differs()
		if diff == "" {
			return
		}
		select {
		case <-changed:
		case <-look.C:
		case <-deadline:
			t.Fatalf("it did not come about within a minute: %s", diff)
		}
	}
}

// message is what the store was told of a cluster last.
func (r *recorder) message(uid string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages[uid]
}

// isLive says whether a cluster was confirmed since it was lost.
func (r *recorder) isLive(uid string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.live[uid].IsZero()
}

// whole is how often a kind was handed over whole.
func (r *recorder) whole(kind inventory.Kind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wholes[kind]
}

// left are the clusters that were ended.
func (r *recorder) left() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ended)
}

// cluster is what is known of a Cluster object.
func (r *recorder) cluster(uid string) inventory.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clusters[uid]
}

// all returns the items of a cluster.
func (r *recorder) all(uid string) map[inventory.Key]inventory.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.items[uid])
}

// batch is the size of the largest one.
func (r *recorder) batch() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.largest
}

// of returns the items of a kind, sorted.
func (r *recorder) of(uid string, kind inventory.Kind) []inventory.Item {
	var out []inventory.Item
	for key, item := range r.all(uid) {
		if key.Kind == kind {
			out = append(out, item)
		}
	}
	slices.SortFunc(out, func(a, b inventory.Item) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name), cmp.Compare(a.Key.Part, b.Key.Part))
	})
	return out
}

// clusters are the Clusters of the admin plane, in memory.
type clusters struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*v1alpha1.Cluster
}

func (c *clusters) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.all[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, key.Name)
	}
	found.DeepCopyInto(into.(*v1alpha1.Cluster))
	return nil
}

func (c *clusters) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cluster := range c.all {
		into.(*v1alpha1.ClusterList).Items = append(into.(*v1alpha1.ClusterList).Items, *cluster)
	}
	return nil
}

// collecting is a collector at work, and what it works with.
type collecting struct {
	*collector.Collector

	t        *testing.T
	store    *recorder
	clusters *clusters
}

// noCredential is the credential of a cluster of which nothing is known yet by which it could be reached.
const noCredential = "none"

// quick are limits under which tests need not wait long. None of them is asserted.
func quick() collector.Limits {
	return collector.Limits{
		Gather: 20 * time.Millisecond, Pause: 20 * time.Millisecond, Probe: 50 * time.Millisecond, Again: 100 * time.Millisecond, Call: 5 * time.Second,
	}
}

// collect starts a collector whose clusters are reached as connect says.
func collect(t *testing.T, limits collector.Limits, connect func(name string) *rest.Config, with ...func(*collector.Config)) *collecting {
	t.Helper()
	c := &collecting{t: t, store: newRecorder(), clusters: &clusters{all: map[types.NamespacedName]*v1alpha1.Cluster{}}}
	config := collector.Config{
		Client: c.clusters, Store: c.store, Now: time.Now, Limits: limits,
		Connect: func(_ context.Context, cluster *v1alpha1.Cluster) (*rest.Config, error) {
			return connect(cluster.Name), nil
		},
		Credential: func(_ context.Context, cluster *v1alpha1.Cluster) (string, error) {
			credential := cluster.Annotations["credential"]
			if credential == noCredential {
				return "", collector.ErrNotReady
			}
			return credential, nil
		},
	}
	for _, change := range with {
		change(&config)
	}
	c.Collector = collector.New(config)
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the collector ended with %v", err)
		}
	})
	return c
}

// put writes a Cluster and has the collector look at it.
func (c *collecting) put(name, uid string, change ...func(*v1alpha1.Cluster)) {
	c.t.Helper()
	cluster := connected("org-acme", name, uid)
	for _, f := range change {
		f(cluster)
	}
	key := client.ObjectKeyFromObject(cluster)
	c.clusters.mu.Lock()
	c.clusters.all[key] = cluster
	c.clusters.mu.Unlock()
	c.reconcile(key)
}

func (c *collecting) remove(name string) {
	c.t.Helper()
	key := types.NamespacedName{Namespace: "org-acme", Name: name}
	c.clusters.mu.Lock()
	delete(c.clusters.all, key)
	c.clusters.mu.Unlock()
	c.reconcile(key)
}

func (c *collecting) reconcile(key types.NamespacedName) {
	c.t.Helper()
	if _, err := c.Reconcile(c.t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		c.t.Fatal(err)
	}
}
