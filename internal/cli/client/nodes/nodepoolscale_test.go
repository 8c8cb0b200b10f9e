package nodes

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// busyPool is a server of one pool, which another caller changes before it is changed, so many times.
type busyPool struct {
	revision, replicas int
	meanwhile          func(*busyPool)
	times              int
}

// ServeHTTP answers getPool and updatePool.
func (b *busyPool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPatch {
		if b.times--; b.times >= 0 {
			b.revision++
			b.meanwhile(b)
		}
		if r.Header.Get("If-Match") != strconv.Quote(strconv.Itoa(b.revision)) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusPreconditionFailed)
			fmt.Fprintf(w, `{"code":%q}`, rest.CodeChanged)
			return
		}
		var patch struct{ Spec struct{ Replicas int } }
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.revision++
		b.replicas = patch.Spec.Replicas
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(b.pool()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (b *busyPool) pool() rest.Object {
	return rest.Object{
		Kind: "NodePool", Name: "pool", UID: "uid", Organization: "blue", Revision: strconv.Itoa(b.revision),
		Spec: fmt.Appendf(nil, `{"replicas":%d}`, b.replicas),
	}
}

// TestResizeBesideOthers changes a pool just before it is scaled. A status matters not; another size does,
// because what was asked for was computed from the size before.
func TestResizeBesideOthers(t *testing.T) {
	status, size := func(*busyPool) {}, func(b *busyPool) { b.replicas = 7 }
	cases := map[string]struct {
		meanwhile func(*busyPool)
		times     int
		want      int
		conflict  bool
		problem   string
	}{
		"no other caller":                 {want: 2},
		"its status changes":              {meanwhile: status, times: scaleTries - 1, want: 2},
		"its status changes all the time": {meanwhile: status, times: scaleTries, want: 3, conflict: true},
		"another caller scales it": {
			meanwhile: size, times: 1, want: 7,
			problem: "another caller scaled nodepool pool to 7 nodes just now; look at it, and try again",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			there := &busyPool{revision: 1, replicas: 3, meanwhile: c.meanwhile, times: c.times}
			served := httptest.NewTLSServer(there)
			defer served.Close()
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: served.Certificate().Raw})
			api, err := client.New(client.Config{Connection: client.Connection{Server: served.URL, CA: ca}})
			if err != nil {
				t.Fatal(err)
			}
			scheme, err := connection.NewScheme()
			if err != nil {
				t.Fatal(err)
			}
			connected := objects.New(api, scheme, "blue")
			pool, err := objects.Named[*v1alpha1.NodePool](t.Context(), connected, kinds.NodePool.Kind, "pool")
			if err != nil {
				t.Fatal(err)
			}
			var words bytes.Buffer
			err = (&scaling{env: connection.New(nil, nil, &words)}).resize(t.Context(), connected, pool, 2)
			if objects.IsConflict(err) != c.conflict {
				t.Errorf("error %v, want a conflict: %t", err, c.conflict)
			}
			if !c.conflict {
				wantProblem(t, c.problem, err)
			}
			if there.replicas != c.want {
				t.Errorf("the pool is to have %d nodes, want %d", there.replicas, c.want)
			}
		})
	}
}
