package collector_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/clusters/collector"
	"kqueen.io/kqueen/internal/clusters/inventory"
)

// hostile is an API server that a test has do one thing that none should. Everything else is empty, and its watches stay open.
type hostile struct {
	*httptest.Server

	path   string // of what is attacked
	attack func(http.ResponseWriter, *http.Request)
	asked  atomic.Int64 // calls of path that are no watch
	read   atomic.Int64 // bytes that came by the connections of config
	mu     sync.Mutex
	open   int // calls of path that are being answered
	most   int
}

func newHostile(t *testing.T, path string, attack func(http.ResponseWriter, *http.Request)) *hostile {
	t.Helper()
	h := &hostile{path: path, attack: attack}
	h.Server = httptest.NewUnstartedServer(h)
	h.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	h.StartTLS()
	t.Cleanup(h.Close)
	return h
}

func (h *hostile) config(string) *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &countedConn{conn, &h.read}, err
	}
	return &rest.Config{Host: h.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}, Dial: dial}
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watch := r.URL.Query().Get("watch") == "true"
	switch {
	case r.URL.Path == h.path:
		if !watch {
			h.asked.Add(1)
		}
		h.count(1)
		defer h.count(-1)
		h.attack(w, r)
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
	case watch:
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.URL.Path == "/metrics":
		fmt.Fprintln(w, `apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="podsecuritypolicies",subresource="",version="v1beta1"} 1`)
	default:
		fmt.Fprint(w, empty)
	}
}

func (h *hostile) count(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open += n
	h.most = max(h.most, h.open)
}

// oneAtOnce fails when the path was asked for by several calls at once. Two that the caller gave up may still be answered, because the
// server notices late.
func (h *hostile) oneAtOnce(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > 3 {
		t.Errorf("%s was asked for by %d calls at once", h.path, h.most)
	}
}

const empty = `{"metadata":{"resourceVersion":"7"},"items":[]}`

// countedConn counts what is read. What the server sends is no measure: the kernel holds megabytes of it that no program reads.
type countedConn struct {
	net.Conn

	read *atomic.Int64
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// drip sends a byte now and then, until the caller has enough.
func drip(w http.ResponseWriter, r *http.Request, begin string) {
	fmt.Fprint(w, begin)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
			if _, err := fmt.Fprint(w, " "); err != nil {
				return
			}
		}
	}
}

// endless sends bytes until the caller has enough.
func endless(w http.ResponseWriter, begin string) {
	fmt.Fprint(w, begin)
	block := []byte(strings.Repeat("x", 64<<10))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// onList has lists attacked, and watches open and silent.
func onList(attack func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		attack(w, r)
	}
}

// unnamed are so many objects of no kind, in JSON.
func unnamed(n int) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"p%d","uid":"u%d"}}`, i, i))
	}
	return strings.Join(items, ",")
}

// TestHostileLists: a list that is no end of something costs its caps. It is said what is wrong, and everything else of the cluster is observed.
func TestHostileLists(t *testing.T) {
	const pods = "/api/v1/pods"
	cases := map[string]struct {
		attack  func(http.ResponseWriter, *http.Request)
		message string
		live    bool
		asks    int64 // at most, until the message is there
	}{
		"Hangs":        {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "pods: the API server did not answer in time", false, 3},
		"Drips":        {func(w http.ResponseWriter, r *http.Request) { drip(w, r, `{"items":[`) }, "pods: the API server did not answer in time", false, 3},
		"EndlessBytes": {func(w http.ResponseWriter, _ *http.Request) { endless(w, `{"items":["`) }, "pods: read list: answered more bytes than KQueen reads", false, 12},
		"EndlessPages": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"metadata":{"continue":"x"},"items":[]}`)
		}, "not observed: pods: has more objects than KQueen looks at", true, 1300},
		"TooManyInOne": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"items":[%s]}`, unnamed(300)) }, "not observed: pods: has more objects than KQueen looks at", true, 3},
		"NotJSON":      {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "pods: read list: invalid character '<' looking for beginning of value", false, 3},
		"NoUID":        {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[{"metadata":{"name":"a"}}]}`) }, "pods: read object /a: its UID is not one", false, 3},
		"Forbidden":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "not observed: pods: may not be read with KQueen's credential (403)", true, 3},
		"Absent":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "", true, 3},
		"Unauthorized": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"message":"a\u0000\u001b[31m`+strings.Repeat("b", 300)+`"}`)
		}, "pods: answered 401: a[31m" + strings.Repeat("b", 232), false, 3},
		"Redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "pods: answered 302", false, 3},
		"HugeOfOneItem": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"items":[{"metadata":{"name":"a","uid":"u"},"x":"%s"}]}`, strings.Repeat("y", 1<<20))
		}, "pods: read list: answered more bytes than KQueen reads", false, 12},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, pods, onList(tc.attack))
			limits := quick()
			limits.Call, limits.PageBytes, limits.Objects, limits.PageItems, limits.Pause, limits.Again = 200*time.Millisecond, 256<<10, 200, 100, time.Second, time.Minute
			c := collect(t, limits, h.config)
			c.put("bad", "bad")
			c.store.until(t, func() string {
				message := strings.TrimSuffix(c.store.message("bad"), "…")
				cut := strings.HasPrefix(tc.message, "pods: answered 401") && strings.HasPrefix(message, tc.message[:min(200, len(tc.message))])
				if message != strings.TrimSuffix(tc.message, "…") && !cut {
					return cmp.Diff(tc.message, message)
				}
				if tc.live {
					return missing(c.store, "bad")
				}
				return ""
			})
			// Namespaces are another resource: they are known to be none, and the API server's certificate is seen.
			c.store.until(t, func() string { return cmp.Diff(true, c.store.whole(inventory.KindNamespace) > 0) })
			c.store.until(t, func() string { return cmp.Diff(1, len(c.store.of("bad", inventory.KindCertificate))) })
			c.store.until(t, func() string { return cmp.Diff(1, len(c.store.of("bad", inventory.KindAPI))) })
			if got := h.asked.Load(); got > tc.asks {
				t.Errorf("pods were asked for %d times, want %d at most", got, tc.asks)
			}
			h.oneAtOnce(t)
			// Beside it are the buffers of TLS and HTTP at each call, and the answers to all other calls.
			if got, most := h.read.Load(), h.asked.Load()*(256<<10+64<<10)+1<<20; got > most {
				t.Errorf("%d bytes were read, want %d at most", got, most)
			}
			if got := len(c.store.of("bad", inventory.KindContainer)); got != 0 {
				t.Errorf("the store has %d containers", got)
			}
		})
	}
}

// TestHostileTexts: what no API server has in objects is cut and made printable before the store sees it.
func TestHostileTexts(t *testing.T) {
	long := strings.Repeat("l", 1<<20)
	labels := map[string]string{"a\u0000b": long}
	for i := range 1000 {
		labels[fmt.Sprintf("k%d", i)] = "v"
	}
	namespace := map[string]any{"metadata": map[string]any{"name": "n\u0000\u202e", "uid": "u", "labels": labels}}
	body, err := json.Marshal(map[string]any{"metadata": map[string]string{"resourceVersion": "1"}, "items": []any{namespace}})
	if err != nil {
		t.Fatal(err)
	}
	h := newHostile(t, "/api/v1/namespaces", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			<-r.Context().Done()
			return
		}
		w.Write(body)
	})
	c := collect(t, quick(), h.config)
	c.put("bad", "bad")
	c.store.until(t, func() string { return cmp.Diff(1, len(c.store.of("bad", inventory.KindNamespace))) })
	item := c.store.of("bad", inventory.KindNamespace)[0]
	if diff := cmp.Diff(inventory.Key{Kind: inventory.KindNamespace, Name: "n", UID: "u"}, item.Key); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := len(item.Namespace.Labels); got != 64 {
		t.Errorf("the store has %d labels, want 64", got)
	}
	if got := len(item.Namespace.Labels["ab"]); got != 63 {
		t.Errorf("the value of a label has %d bytes, want 63", got)
	}
}

// TestHostileWatches: a watch costs one call at a time and its caps, and is made again; what it says before counts.
func TestHostileWatches(t *testing.T) {
	namespace := func(kind, name string) string {
		return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q,"uid":%q,"resourceVersion":"9"}}}`+"\n", kind, name, name)
	}
	cases := map[string]struct {
		watch   func(http.ResponseWriter, *http.Request)
		message string // while it lasts; "" for none
	}{
		"DripsInAnObject": {func(w http.ResponseWriter, r *http.Request) { drip(w, r, `{"type":`) }, ""},
		"EndsAtOnce":      {func(http.ResponseWriter, *http.Request) {}, ""},
		"Hangs":           {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ""},
		"EndlessObject":   {func(w http.ResponseWriter, _ *http.Request) { endless(w, `{"type":"ADDED","object":"`) }, "namespaces: read watch: answered more bytes than KQueen reads"},
		"NotJSON":         {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<") }, "namespaces: read watch: invalid character '<' looking for beginning of value"},
		"Error": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"type":"ERROR","object":{"code":500,"message":"no"}}`)
		}, "namespaces: ended the watch with 500: no"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var watches atomic.Int64
			h := newHostile(t, "/api/v1/namespaces", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("watch") != "true" {
					fmt.Fprint(w, empty)
					return
				}
				if watches.Add(1) == 1 {
					fmt.Fprint(w, namespace("ADDED", "before"))
					w.(http.Flusher).Flush()
				}
				tc.watch(w, r)
			})
			limits := quick()
			limits.Idle, limits.ObjectBytes = 200*time.Millisecond, 64<<10
			c := collect(t, limits, h.config)
			c.put("bad", "bad")
			c.store.until(t, func() string {
				var names []string
				for _, item := range c.store.of("bad", inventory.KindNamespace) {
					names = append(names, item.Key.Name)
				}
				return cmp.Diff([]string{"before"}, names)
			})
			c.store.until(t, func() string {
				if watches.Load() < 3 {
					return "it is not watched again"
				}
				if tc.message == "" {
					return missing(c.store, "bad")
				}
				return ""
			})
			if tc.message != "" {
				c.store.until(t, func() string { return cmp.Diff(tc.message, c.store.message("bad")) })
			}
			if h.asked.Load() != 1 {
				t.Errorf("namespaces were listed %d times, want once: watches go on from where they were", h.asked.Load())
			}
			h.oneAtOnce(t)
		})
	}
}

// TestHostileNeighbour: clusters that hang and flood keep no other cluster from being observed.
func TestHostileNeighbour(t *testing.T) {
	hangs := newHostile(t, "/apis/apps/v1/replicasets", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	var flooded atomic.Int64
	floods := newHostile(t, "/api/v1/namespaces", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "true" {
			fmt.Fprint(w, empty)
			return
		}
		for i := 0; r.Context().Err() == nil; i++ {
			if _, err := fmt.Fprintf(w, `{"type":"ADDED","object":{"metadata":{"name":"n","uid":"u","labels":{"a":"%d"}}}}`, i); err != nil {
				return
			}
			flooded.Store(int64(i))
		}
	})
	sound := newHostile(t, "/none", nil)
	limits := quick()
	limits.Call, limits.Changes = time.Second, 10
	c := collect(t, limits, func(name string) *rest.Config {
		switch {
		case strings.HasPrefix(name, "hangs"):
			return hangs.config("")
		case strings.HasPrefix(name, "floods"):
			return floods.config("")
		}
		return sound.config("")
	})
	for i := range 20 {
		c.put(fmt.Sprintf("hangs-%d", i), fmt.Sprintf("hangs-%d", i))
	}
	c.put("floods", "floods")
	c.store.until(t, func() string { return cmp.Diff(1, len(c.store.of("floods", inventory.KindNamespace))) })
	c.put("sound", "sound")
	c.store.until(t, func() string { return missing(c.store, "sound") })
	// What is taken of a flood is one change of one object for each batch: it is counted before the store.
	if c.store.batch() > 50 {
		t.Errorf("the largest batch had %d changes", c.store.batch())
	}
}

// TestCredentials: a kubeconfig that has this host run programs or read files is refused.
func TestCredentials(t *testing.T) {
	c := collect(t, quick(), func(string) *rest.Config {
		return &rest.Config{Host: "https://127.0.0.1:1", BearerTokenFile: "/etc/shadow"}
	})
	c.put("bad", "bad")
	want := "connection: connect: the kubeconfig names a program or a file for its credential; it must hold it"
	c.store.until(t, func() string { return cmp.Diff(want, c.store.message("bad")) })
}

// TestForbiddenLater: a kind that may not be read leaves what was known of it, and is whole when it may be.
func TestForbiddenLater(t *testing.T) {
	var allowed atomic.Bool
	h := newHostile(t, "/apis/apps/v1/daemonsets", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !allowed.Load():
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Query().Get("watch") == "true":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"d","uid":"u"}}]}`)
		}
	})
	c := collect(t, quick(), h.config)
	c.put("some", "some")
	c.store.until(t, func() string { return missing(c.store, "some") })
	if c.store.whole(inventory.KindWorkload) != 0 {
		t.Error("workloads were handed over whole, without the one that may not be read")
	}
	allowed.Store(true)
	c.store.until(t, func() string { return cmp.Diff(1, c.store.whole(inventory.KindWorkload)) })
	c.store.until(t, func() string { return cmp.Diff("", c.store.message("some")) })
	if !slices.ContainsFunc(c.store.of("some", inventory.KindWorkload), func(i inventory.Item) bool { return i.Key.Name == "d" }) {
		t.Error("the store does not have the DaemonSet")
	}
}

var _ collector.Store = (*recorder)(nil)
