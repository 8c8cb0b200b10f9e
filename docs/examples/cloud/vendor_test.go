package cloud_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/clusters/provision"
)

const token = "tok-d41d8cd98f00b204"

// kept is a cluster in the cloud's books: how it is, and how it is to be after the next step.
type kept struct {
	ID       string           `json:"id"`
	Owner    string           `json:"owner"`
	Name     string           `json:"name"`
	Version  string           `json:"version"`
	Size     string           `json:"size"`
	State    string           `json:"state"`
	Endpoint string           `json:"endpoint"`
	Pools    map[string]int32 `json:"pools"`
	next     struct {
		version, size string
		pools         map[string]int32
	}
}

// vendor is the cloud: an HTTP API that takes orders and works on them in steps.
type vendor struct {
	url string

	mu       sync.Mutex
	clusters map[string]*kept // by region and id
	broken   bool
	silence  chan struct{} // closed when the vendor answers again
}

func newVendor(t *testing.T) *vendor {
	t.Helper()
	v := &vendor{clusters: map[string]*kept{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{region}/versions", v.versions)
	mux.HandleFunc("GET /{region}/clusters", v.list)
	mux.HandleFunc("PUT /{region}/clusters/{id}", v.order)
	for pattern, change := range map[string]func(*kept, *http.Request) (any, int){
		"PATCH /{region}/clusters/{id}":               patch,
		"DELETE /{region}/clusters/{id}":              func(c *kept, _ *http.Request) (any, int) { c.State = "deleting"; return nil, 0 },
		"POST /{region}/clusters/{id}/kubeconfig":     mint,
		"PUT /{region}/clusters/{id}/pools/{pool}":    setPool,
		"DELETE /{region}/clusters/{id}/pools/{pool}": func(c *kept, r *http.Request) (any, int) { delete(c.next.pools, r.PathValue("pool")); return nil, 0 },
		"POST /{region}/clusters/{id}/owner":          own,
		"DELETE /{region}/clusters/{id}/owner":        func(c *kept, _ *http.Request) (any, int) { c.Owner = ""; return nil, 0 },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v.mu.Lock()
			defer v.mu.Unlock()
			c := v.clusters[r.PathValue("region")+"/"+r.PathValue("id")]
			if c == nil {
				http.NotFound(w, r)
				return
			}
			answer(w)(change(c, r))
		})
	}
	server := httptest.NewServer(v.guard(mux))
	t.Cleanup(server.Close)
	v.url = server.URL
	return v
}

func answer(w http.ResponseWriter) func(any, int) {
	return func(body any, status int) {
		w.WriteHeader(cmp.Or(status, http.StatusOK))
		_ = json.NewEncoder(w).Encode(body)
	}
}

// guard refuses a wrong token, and does not answer or fails when it is told to.
func (v *vendor) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		silence, broken := v.silence, v.broken
		v.mu.Unlock()
		if silence != nil {
			select {
			case <-silence:
			case <-r.Context().Done():
				return
			}
		}
		switch {
		case broken:
			http.Error(w, "no service for "+r.Header.Get("Authorization"), http.StatusInternalServerError)
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (*vendor) versions(w http.ResponseWriter, r *http.Request) {
	all := []string{"v1.35.1", "v1.36.1", "v1.36.2"}
	answer(w)(slices.DeleteFunc(all, func(version string) bool { return version <= r.FormValue("from") }), 0)
}

func (v *vendor) list(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := []*kept{}
	for key, c := range v.clusters {
		if strings.HasPrefix(key, r.PathValue("region")+"/") && c.Owner == r.FormValue("owner") {
			found = append(found, c)
		}
	}
	answer(w)(found, 0)
}

func (v *vendor) order(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key, c := r.PathValue("region")+"/"+r.PathValue("id"), &kept{}
	if v.clusters[key] != nil {
		answer(w)(nil, http.StatusConflict)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(c); err != nil {
		answer(w)(nil, http.StatusUnprocessableEntity)
		return
	}
	c.ID, c.State, c.Size = r.PathValue("id"), "creating", "small"
	c.settle()
	v.clusters[key] = c
	answer(w)(c, 0)
}

// settle makes what is to be what is.
func (c *kept) settle() {
	c.next.version, c.next.size, c.next.pools = c.Version, c.Size, maps.Clone(c.Pools)
	if c.next.pools == nil {
		c.next.pools = map[string]int32{}
	}
}

func patch(c *kept, r *http.Request) (any, int) {
	var in kept
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, http.StatusUnprocessableEntity
	}
	c.next.version, c.next.size = cmp.Or(in.Version, c.next.version), cmp.Or(in.Size, c.next.size)
	return nil, 0
}

func mint(c *kept, r *http.Request) (any, int) {
	lifetime, err := time.ParseDuration(r.FormValue("lifetime"))
	if err != nil || c.Endpoint == "" {
		return nil, http.StatusServiceUnavailable
	}
	return map[string]any{"kubeconfig": "server: " + c.Endpoint, "ends": time.Now().Add(lifetime)}, 0
}

func setPool(c *kept, r *http.Request) (any, int) {
	var replicas int32
	if err := json.NewDecoder(r.Body).Decode(&replicas); err != nil {
		return nil, http.StatusUnprocessableEntity
	}
	c.next.pools[r.PathValue("pool")] = replicas
	return nil, 0
}

func own(c *kept, r *http.Request) (any, int) {
	var owner string
	if err := json.NewDecoder(r.Body).Decode(&owner); err != nil || c.Owner != "" && c.Owner != owner {
		return nil, http.StatusConflict
	}
	c.Owner = owner
	return nil, 0
}

// progress moves the clusters of an owner by one step.
func (v *vendor) progress(_ *testing.T, ref provision.Ref) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, c := range v.clusters {
		switch {
		case c.Owner != string(ref.UID):
		case c.State == "deleting":
			delete(v.clusters, key)
		default:
			c.State, c.Endpoint = "running", "https://"+c.ID+".cloud.example"
			c.Version, c.Size, c.Pools = c.next.version, c.next.size, maps.Clone(c.next.pools)
		}
	}
}

// outside is all that the cloud knows of clusters of a name.
func (v *vendor) outside(_ *testing.T, namespace, name string) any {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []string
	for key, c := range v.clusters {
		if c.Name == namespace+"/"+name {
			all = append(all, fmt.Sprintf("%s %+v", key, *c))
		}
	}
	slices.Sort(all)
	return all
}

func (v *vendor) fail(*testing.T, provision.Ref) func() {
	set := func(broken bool) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.broken = broken
	}
	set(true)
	return func() { set(false) }
}

func (v *vendor) hang(*testing.T, provision.Ref) func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	silence := make(chan struct{})
	v.silence = silence
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.silence = nil
		close(silence)
	}
}

// foreign makes a cluster that belongs to no KQueen.
func (v *vendor) foreign(_ *testing.T, want provision.Desired) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := &kept{ID: "legacy", Name: "legacy", Version: want.Version, Size: "small", State: "running", Endpoint: "https://legacy.cloud.example"}
	c.settle()
	v.clusters["north/legacy"] = c
	return c.ID
}
