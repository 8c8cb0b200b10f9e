// Package simulator is many API servers in one process, for tests of what watches clusters and for demonstrations.
//
// What is real: HTTP, the JSON of objects, pages of lists that are of one moment, watches with resource versions, bookmarks,
// watches that end, and the error 410 when a version is too old. What is simulated: all else. There is no etcd, no kubelet and no
// scheduler; nothing runs, nothing is validated, nothing can be written, and other kinds are answered with 404. [New] has pods and nodes
// whose churn is what a test asks for, and authenticates no caller. [Showcase] is what "kqueen up --demo" shows: applications on nodes that
// change slowly by themselves, served by a [Process] to callers with a token. So it shows that what is watched is right and what it
// costs, and nothing of how a cluster behaves. It hides how all that is kept. The app runs the process, the command line asks which
// clusters there are, and tests of what looks at clusters may import it.
package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version is what every simulated API server of [New] says it is.
const Version = "v1.36.3"

// Fleet is simulated clusters, each under "/clusters/NAME". Make it with New. It is safe for concurrent use.
type Fleet struct{ clusters map[string]*Cluster }

// New returns clusters with nodes and pods, the same for the same seed.
func New(seed uint64, clusters, nodes, pods int) *Fleet {
	f := &Fleet{clusters: map[string]*Cluster{}}
	for i := range clusters {
		name := fmt.Sprintf("sim-%03d", i)
		c := newCluster(name, seed, uint64(i))
		for n := range nodes {
			c.putNode(n)
		}
		for range pods {
			c.putPod()
		}
		f.clusters[name] = c
	}
	return f
}

// newCluster returns one without pods and nodes, the same for the same seed and number.
func newCluster(name string, seed, number uint64) *Cluster {
	return &Cluster{
		name: name, release: Version, objects: map[string]map[string]stored{"pods": {}, "nodes": {}},
		random: rand.New(rand.NewPCG(seed, number)), //nolint:gosec // the same for the same seed
		rests:  map[string]rest{}, changed: make(chan struct{}), cut: make(chan struct{}),
	}
}

// Names are those of the clusters, sorted.
func (f *Fleet) Names() []string {
	return slices.Sorted(maps.Keys(f.clusters))
}

// Cluster returns one of them, nil for a name that is none.
func (f *Fleet) Cluster(name string) *Cluster { return f.clusters[name] }

// Cluster is one simulated cluster.
type Cluster struct {
	name string
	// release is the version of Kubernetes that it says it is.
	release string
	// trouble is what is wrong with it, at a time; nil for nothing.
	trouble func(path string, at time.Time) int
	// keep is how many events watches can begin behind; 0 for all. Older ones are told that their version has expired.
	keep int

	mu        sync.Mutex
	random    *rand.Rand
	version   int
	made      int // pods so far
	objects   map[string]map[string]stored
	events    []event
	compacted int // events of this version and older are gone
	rests     map[string]rest
	changed   chan struct{} // closed at a change
	cut       chan struct{} // closed to end the watches
	lists     int
}

// stored is an object as it was written last.
type stored struct {
	uid  string
	body json.RawMessage
}

type event struct {
	version        int
	resource, kind string
	body           json.RawMessage
}

// rest is what is left of a list, as it was when its first page was read.
type rest struct {
	version int
	items   []json.RawMessage
}

// failing returns the status that a call is refused with; 0 for one that is answered.
func (c *Cluster) failing(path string) int {
	if c.trouble == nil {
		return 0
	}
	return c.trouble(path, time.Now())
}

// CutWatches ends all watches without a word.
func (c *Cluster) CutWatches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.cut)
	c.cut = make(chan struct{})
}

// Compact forgets what happened so far, and a change of something else after it: every watch is told that its version has expired, also
// one that has seen everything.
func (c *Cluster) Compact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.events, c.compacted = nil, c.version
	close(c.changed)
	c.changed = make(chan struct{})
}

// Lists is how many first pages of lists were read.
func (c *Cluster) Lists() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists
}

// put writes an object; kind is the type of the event. The caller holds the lock.
func (c *Cluster) put(resource, name, uid, kind string, object any, m *metav1.ObjectMeta) {
	c.version++
	m.ResourceVersion = strconv.Itoa(c.version)
	body, err := json.Marshal(object)
	if err != nil {
		body = []byte("{}") // types of Kubernetes can be written
	}
	if kind == "DELETED" {
		delete(c.objects[resource], name)
	} else {
		c.objects[resource][name] = stored{uid: uid, body: body}
	}
	c.events = append(c.events, event{version: c.version, resource: resource, kind: kind, body: body})
	if c.keep > 0 && len(c.events) > 2*c.keep {
		old := len(c.events) - c.keep
		c.compacted = c.events[old-1].version
		c.events = slices.Clone(c.events[old:])
		c.rests = map[string]rest{} // lists that were not read to their end
	}
	close(c.changed)
	c.changed = make(chan struct{})
}
