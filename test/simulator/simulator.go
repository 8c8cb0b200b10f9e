// Package simulator is many API servers in one process, for tests of what watches clusters.
//
// What is real: HTTP, the JSON of pods and nodes, pages of lists that are of one moment, watches with resource versions, bookmarks,
// watches that end, and the error 410 when a version is too old. What is simulated: all else. There is no etcd, no kubelet and no
// scheduler; nothing is validated, no caller is authenticated, and other kinds are answered with 404. Churn is what the test asks for. So
// it shows that what is watched is right and what it costs, and nothing of how a cluster behaves. It hides how all that is kept. Only
// tests may import it.
package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version is what every simulated API server says it is.
const Version = "v1.36.3"

// Fleet is simulated clusters, each under "/clusters/NAME". Make it with New. It is safe for concurrent use.
type Fleet struct{ clusters map[string]*Cluster }

// New returns clusters with nodes and pods, the same for the same seed.
func New(seed uint64, clusters, nodes, pods int) *Fleet {
	f := &Fleet{clusters: map[string]*Cluster{}}
	for i := range clusters {
		name := fmt.Sprintf("sim-%03d", i)
		c := &Cluster{
			name: name, objects: map[string]map[string]stored{"pods": {}, "nodes": {}},
			random: rand.New(rand.NewPCG(seed, uint64(i))), //nolint:gosec // the same for the same seed
			rests:  map[string]rest{}, changed: make(chan struct{}), cut: make(chan struct{}),
		}
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

// Names are those of the clusters, sorted.
func (f *Fleet) Names() []string {
	return slices.Sorted(maps.Keys(f.clusters))
}

// Cluster returns one of them, nil for a name that is none.
func (f *Fleet) Cluster(name string) *Cluster { return f.clusters[name] }

// ServeHTTP implements [http.Handler].
func (f *Fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/clusters/"), "/")
	c := f.clusters[name]
	if c == nil {
		refuse(w, http.StatusNotFound, "no such cluster")
		return
	}
	resource, found := strings.CutPrefix(path, "api/v1/")
	switch {
	case path == "version":
		send(w, map[string]string{"gitVersion": Version})
	case !found || c.objects[resource] == nil:
		refuse(w, http.StatusNotFound, "the simulator has pods and nodes alone")
	case r.URL.Query().Get("watch") == "true":
		c.serveWatch(w, r, resource)
	default:
		c.serveList(w, r, resource)
	}
}

func send(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // a caller that went away
}

func status(code int, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Message: message,
	}
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status(code, message)) //nolint:errchkjson // a caller that went away
}

// Cluster is one simulated cluster.
type Cluster struct {
	name string

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
	close(c.changed)
	c.changed = make(chan struct{})
}

type list struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   metav1.ListMeta   `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

func (c *Cluster) serveList(w http.ResponseWriter, r *http.Request, resource string) {
	query := r.URL.Query()
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 {
		limit = 1 << 30
	}
	answer, err := c.list(resource, query.Get("continue"), limit)
	if err != nil {
		refuse(w, http.StatusGone, err.Error())
		return
	}
	send(w, answer)
}

func (c *Cluster) list(resource, token string, limit int) (*list, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left, ok := c.rests[token]
	switch {
	case token == "":
		c.lists++
		left = rest{version: c.version}
		for _, name := range slices.Sorted(maps.Keys(c.objects[resource])) {
			left.items = append(left.items, c.objects[resource][name].body)
		}
	case !ok:
		return nil, errors.New("the continue token has expired")
	}
	delete(c.rests, token)
	answer := &list{Kind: "List", APIVersion: "v1", Metadata: metav1.ListMeta{ResourceVersion: strconv.Itoa(left.version)}, Items: left.items}
	if len(left.items) > limit {
		answer.Items, left.items = left.items[:limit], left.items[limit:]
		answer.Metadata.Continue = fmt.Sprintf("%s-%d-%d", resource, left.version, len(left.items))
		c.rests[answer.Metadata.Continue] = left
	}
	return answer, nil
}

// bookmarks is the time between two bookmarks, as API servers have it.
const bookmarks = time.Minute

func (c *Cluster) serveWatch(w http.ResponseWriter, r *http.Request, resource string) {
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "resourceVersion must be a number")
		return
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		seconds = 300
	}
	end, mark := time.NewTimer(time.Duration(seconds)*time.Second), time.NewTicker(bookmarks)
	defer end.Stop()
	defer mark.Stop()
	out := json.NewEncoder(w)
	flush := http.NewResponseController(w).Flush
	for {
		news, now, changed, cut, expired := c.since(resource, from)
		if expired {
			_ = out.Encode(map[string]any{"type": "ERROR", "object": status(http.StatusGone, "too old resource version")}) //nolint:errchkjson // a caller that went away
			return
		}
		for _, e := range news {
			if out.Encode(map[string]any{"type": e.kind, "object": e.body}) != nil { //nolint:errchkjson // a caller that went away
				return
			}
		}
		from = now
		if flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-mark.C:
			marked := map[string]any{"metadata": map[string]string{"resourceVersion": strconv.Itoa(from)}}
			_ = out.Encode(map[string]any{"type": "BOOKMARK", "object": marked}) //nolint:errchkjson // a caller that went away
		case <-cut:
			return
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// since returns the events of a resource after a version, the version now, and what ends the wait for more.
func (c *Cluster) since(resource string, from int) (news []event, now int, changed, cut chan struct{}, expired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from < c.compacted {
		return nil, 0, nil, nil, true
	}
	first, _ := slices.BinarySearchFunc(c.events, from+1, func(e event, version int) int { return e.version - version })
	for _, e := range c.events[first:] {
		if e.resource == resource {
			news = append(news, e)
		}
	}
	return news, c.version, c.changed, c.cut, false
}
