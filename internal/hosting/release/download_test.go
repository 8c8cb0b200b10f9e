package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

const testVersion = "v1.99.9"

// mirror is a server with the upstream layout. Handlers replaces single paths' answers
// by component or by component.sha256.
type mirror struct {
	*httptest.Server
	hits     atomic.Int64 // programs served, hashes not counted
	handlers map[string]http.HandlerFunc
}

func program(name string) []byte { return []byte("#!/bin/false " + name + strings.Repeat("x", 1000)) }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func pinsOf() map[string]string {
	pins := map[string]string{}
	for _, name := range Components {
		pins[name] = hashOf(program(name))
	}
	return pins
}

func newMirror(t *testing.T, handlers map[string]http.HandlerFunc) *mirror {
	m := &mirror{handlers: handlers}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) serve(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	component, wantsHash := strings.CutSuffix(name, ".sha256")
	if r.URL.Path != path.Join("/release", testVersion, "bin/linux", runtime.GOARCH, name) {
		http.NotFound(w, r)
		return
	}
	if handler, ok := m.handlers[name]; ok {
		handler(w, r)
		return
	}
	if wantsHash {
		fmt.Fprintf(w, "%s  %s\n", hashOf(program(component)), component)
		return
	}
	m.hits.Add(1)
	w.Write(program(component))
}

func (m *mirror) source() Source { return Source{Download: &Download{BaseURL: m.URL + "/release"}} }

func (m *mirror) pinned(pins map[string]string) Source {
	return Source{Download: &Download{BaseURL: m.URL + "/release", SHA256: pins}}
}

func TestDownload(t *testing.T) {
	m := newMirror(t, nil)
	store := NewStore(filepath.Join(t.TempDir(), "deep", "store"))
	v := mustVersion(t, testVersion)
	var steps []string
	b, err := store.Ensure(t.Context(), v, m.source(), func(s Step) {
		if s.Done == s.Total {
			steps = append(steps, fmt.Sprintf("%s %d %s", s.Name, s.Done, s.Unit))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Components {
		got, err := os.ReadFile(b.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(program(name)), string(got)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
		want := Component{SHA256: hashOf(program(name)), Size: int64(len(program(name)))}
		if diff := cmp.Diff(want, b.Components[name]); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
		if last := fmt.Sprintf("download %s %d bytes", name, want.Size); !strings.Contains(strings.Join(steps, "\n"), last) {
			t.Errorf("no step %q in %q", last, steps)
		}
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Errorf("fresh download: %v", err)
	}
	if got := b.Path("etcd"); got != "" {
		t.Errorf("path of a component that is not there: %q", got)
	}
	found, ok, err := store.Lookup(v)
	if err != nil || !ok {
		t.Fatalf("lookup: %v, %v", ok, err)
	}
	if diff := cmp.Diff(b, found, cmp.AllowUnexported(Version{})); diff != "" {
		t.Errorf("lookup: -ensured, +found:\n%s", diff)
	}
}

func TestDownloadAgain(t *testing.T) {
	all := int64(len(Components))
	good := newMirror(t, nil)
	other := newMirror(t, nil)
	for name, tc := range map[string]struct {
		reason        string
		first, second Source
		wantSecond    int64 // programs fetched by the second Ensure
	}{
		"Same":             {"it is there", good.source(), good.source(), 0},
		"OtherServer":      {"without pins the server is what is trusted", good.source(), other.source(), all},
		"OtherServerPins":  {"the hashes say that it is the same", good.pinned(pinsOf()), other.pinned(pinsOf()), 0},
		"PinsInUpperCase":  {"hex has two cases", good.pinned(pinsOf()), good.pinned(upper(pinsOf())), 0},
		"PinsAfterNoPins":  {"what came unpinned is not trusted", good.source(), good.pinned(pinsOf()), all},
		"ServerAfterPins":  {"another source was asked for", good.pinned(pinsOf()), good.source(), all},
		"FirstPinnedUpper": {"hex has two cases", good.pinned(upper(pinsOf())), good.pinned(pinsOf()), 0},
	} {
		t.Run(name, func(t *testing.T) {
			store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
			if _, err := store.Ensure(t.Context(), v, tc.first, nil); err != nil {
				t.Fatal(err)
			}
			before := good.hits.Load() + other.hits.Load()
			b, err := store.Ensure(t.Context(), v, tc.second, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.wantSecond, good.hits.Load()+other.hits.Load()-before); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if err := b.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func upper(pins map[string]string) map[string]string {
	for name, pin := range pins {
		pins[name] = strings.ToUpper(pin)
	}
	return pins
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

// truncated promises more than it sends.
func truncated(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "5000")
	w.Write(make([]byte, 100))
}

// endless sends until the client has had enough.
func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write(make([]byte, 4096)); err != nil {
			return
		}
	}
}

func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestDownloadRefuses(t *testing.T) {
	wrongPin := pinsOf()
	wrongPin["kubectl"] = hashOf([]byte("something else"))
	for name, tc := range map[string]struct {
		reason   string
		handlers map[string]http.HandlerFunc
		pins     map[string]string
		want     []string
	}{
		"WrongHash": {reason: "damage is found", handlers: map[string]http.HandlerFunc{"kubelet": body("other bytes")},
			want: []string{"release v1.99.9: download kubelet", "has the hash " + hashOf([]byte("other bytes"))}},
		"WrongPin": {reason: "a pin beats the server", pins: wrongPin,
			want: []string{"download kubectl", "instead of " + wrongPin["kubectl"]}},
		"Missing": {reason: "what is missing is named", handlers: map[string]http.HandlerFunc{"kube-proxy": status(404)},
			want: []string{"download kube-proxy", "404", "linux/" + runtime.GOARCH}},
		"MissingHash": {reason: "nothing unchecked is kept", handlers: map[string]http.HandlerFunc{"kubeadm.sha256": status(404)},
			want: []string{"download kubeadm", "kubeadm.sha256 is not there"}},
		"BadHashFile": {reason: "an error page is no hash", handlers: map[string]http.HandlerFunc{"kubeadm.sha256": body("<html>")},
			want: []string{"kubeadm.sha256 is not a SHA-256 hash"}},
		"EndlessHashFile": {reason: "every answer has a cap", handlers: map[string]http.HandlerFunc{"kubeadm.sha256": endless},
			want: []string{"kubeadm.sha256 is not a SHA-256 hash"}},
		"ServerError": {reason: "the status is shown", handlers: map[string]http.HandlerFunc{"kubelet": status(503)},
			want: []string{"download kubelet", "503"}},
		"Truncated": {reason: "half a program is none", handlers: map[string]http.HandlerFunc{"kubelet": truncated},
			want: []string{"download kubelet", "unexpected EOF"}},
		"Endless": {reason: "a hostile server cannot fill the disk", handlers: map[string]http.HandlerFunc{"kubelet": endless},
			want: []string{"download kubelet", "larger than the allowed 8192 bytes"}},
		"AnnouncedTooLarge": {reason: "nothing is written for it", want: []string{"download kubelet", "larger than the allowed"},
			handlers: map[string]http.HandlerFunc{"kubelet": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100000")
			}}},
		"OtherScheme": {reason: "a redirect does not change the scheme", want: []string{"redirect from http to ftp refused"},
			handlers: map[string]http.HandlerFunc{"kubelet": http.RedirectHandler("ftp://127.0.0.1/kubelet", http.StatusFound).ServeHTTP}},
		"RedirectLoop": {reason: "redirects end", want: []string{"stopped after 10 redirects"},
			handlers: map[string]http.HandlerFunc{"kubelet": http.RedirectHandler("kubelet", http.StatusFound).ServeHTTP}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t, tc.handlers)
			dir := t.TempDir()
			store := NewStore(dir)
			store.maxDownload = 8192
			v := mustVersion(t, testVersion)
			_, err := store.Ensure(t.Context(), v, m.pinned(tc.pins), nil)
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v does not say %q", tc.reason, err, part)
				}
			}
			wantNothing(t, store, v)
		})
	}
}

// wantNothing checks that a failed try left only the lock.
func wantNothing(t *testing.T, store *Store, v Version) {
	t.Helper()
	if _, ok, err := store.Lookup(v); ok || err != nil {
		t.Errorf("lookup after a failure: %v, %v", ok, err)
	}
	if diff := cmp.Diff([]string{"." + v.String() + ".lock"}, names(t, store.dir)); diff != "" {
		t.Errorf("left behind: -want, +got:\n%s", diff)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

func TestDownloadFollowsRedirect(t *testing.T) {
	m := newMirror(t, nil)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, m.URL+"/release"+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(front.Close)
	store := NewStore(t.TempDir())
	src := Source{Download: &Download{BaseURL: front.URL}}
	if _, err := store.Ensure(t.Context(), mustVersion(t, testVersion), src, nil); err != nil {
		t.Error(err)
	}
}

func TestDownloadDeadline(t *testing.T) {
	m := newMirror(t, map[string]http.HandlerFunc{"kubelet": silent})
	store := NewStore(t.TempDir())
	store.downloadTimeout = 50 * time.Millisecond
	v := mustVersion(t, testVersion)
	_, err := store.Ensure(t.Context(), v, m.source(), nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not done after 50ms") {
		t.Errorf("got %v, want the deadline", err)
	}
	wantNothing(t, store, v)
}

func TestDownloadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newMirror(t, map[string]http.HandlerFunc{"kubelet": func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 100))
		http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	}})
	store, v := NewStore(t.TempDir()), mustVersion(t, testVersion)
	if _, err := store.Ensure(ctx, v, m.source(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	wantNothing(t, store, v)
}

// TestDownloadOnce lets several stores of one folder, which is what several processes
// are, ask at the same time.
func TestDownloadOnce(t *testing.T) {
	waiting := make(chan struct{})
	m := newMirror(t, nil)
	// The first program is served only when another Ensure waits for the lock.
	m.handlers = map[string]http.HandlerFunc{Components[0]: func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-waiting:
		case <-r.Context().Done():
		}
		m.hits.Add(1)
		w.Write(program(Components[0]))
	}}
	dir, v := t.TempDir(), mustVersion(t, testVersion)
	var once sync.Once
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			_, err := NewStore(dir).Ensure(t.Context(), v, m.source(), func(s Step) {
				if strings.HasPrefix(s.Name, "wait for another process") {
					once.Do(func() { close(waiting) })
				}
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(int64(len(Components)), m.hits.Load()); diff != "" {
		t.Errorf("programs fetched: -want, +got:\n%s", diff)
	}
}
