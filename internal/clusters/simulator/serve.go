package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServeHTTP implements [http.Handler].
func (f *Fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, clustersPath), "/")
	c := f.clusters[name]
	if c == nil {
		refuse(w, http.StatusNotFound, "no such cluster")
		return
	}
	if code := c.failing(path); code != 0 {
		refuse(w, code, "the simulator has this API server fail")
		return
	}
	resource, namespace, found := parsePath(path)
	switch {
	case r.Method != http.MethodGet:
		refuse(w, http.StatusMethodNotAllowed, "the simulator is read-only")
	case path == "version":
		send(w, map[string]string{"gitVersion": c.release})
	case path == "readyz":
		_, _ = io.WriteString(w, "ok")
	case !found || c.objects[resource] == nil:
		refuse(w, http.StatusNotFound, "the simulator does not have that")
	case r.URL.Query().Get("watch") == "true":
		if namespace != "" {
			refuse(w, http.StatusNotFound, "the simulator has watches of all namespaces alone")
			return
		}
		c.serveWatch(w, r, resource)
	default:
		c.serveList(w, r, resource, namespace)
	}
}

// parsePath returns which resource a path lists, and in which namespace; empty for all. It is pure.
func parsePath(path string) (resource, namespace string, ok bool) {
	parts, group := strings.Split(path, "/"), ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", "", false
	}
	switch {
	case len(parts) == 1:
		resource = parts[0]
	case len(parts) == 3 && parts[0] == "namespaces":
		resource, namespace = parts[2], parts[1]
	}
	// Groups have resources of the same names: metrics.k8s.io has nodes, too.
	known, ok := groups[resource]
	return resource, namespace, ok && group == known
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

type list struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   metav1.ListMeta   `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

func (c *Cluster) serveList(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	query := r.URL.Query()
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 {
		limit = 1 << 30
	}
	answer, err := c.list(resource, namespace, query.Get("continue"), limit)
	if err != nil {
		refuse(w, http.StatusGone, err.Error())
		return
	}
	send(w, answer)
}

// list returns a page. Objects of a namespace are stored under its name.
func (c *Cluster) list(resource, namespace, token string, limit int) (*list, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left, ok := c.rests[token]
	switch {
	case token == "":
		c.lists++
		left = rest{version: c.version}
		for _, name := range slices.Sorted(maps.Keys(c.objects[resource])) {
			if namespace == "" || strings.HasPrefix(name, namespace+"/") {
				left.items = append(left.items, c.objects[resource][name].body)
			}
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
