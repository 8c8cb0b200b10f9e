package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/hosting/storegate"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// outside is all that a control plane touches beside the API: it survives a crash of the reconciler.
// The real runner and the real store have suites of their own; here their promises are enough.
type outside struct {
	mu        sync.Mutex
	workloads map[string]*workload
	keyspaces map[datastore.Keyspace]int // how often it was made anew
	readOnly  map[datastore.Keyspace]bool
	bytes     map[datastore.Keyspace]int64
	gate      map[string]storegate.Tenant // by UID
	quotas    map[string]int64
	nextPort  uint16
	early     []string // what was taken away while programs still used it
}

type workload struct {
	runner.Workload
	place    runner.Place
	ready    bool
	begun    bool // the controllers have made the first ServiceAccount
	stopping bool
	trusted  map[string]bool // every ca.crt that ever ran
}

func newOutside() *outside {
	return &outside{
		workloads: map[string]*workload{}, keyspaces: map[datastore.Keyspace]int{}, readOnly: map[datastore.Keyspace]bool{},
		gate: map[string]storegate.Tenant{}, quotas: map[string]int64{}, nextPort: 20000,
	}
}

// step lets programs that were started become ready, and those that were told to end, end.
func (o *outside) step() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	moved := false
	for id, w := range o.workloads {
		if w.stopping {
			delete(o.workloads, id)
			moved = true
			continue
		}
		if len(w.Components) > 0 && !w.ready {
			w.ready, moved = true, true
			continue
		}
		w.begun = w.ready // no watch tells that
	}
	return moved
}

// lines lead to the outside through an injector.
type lines struct {
	*outside
	inj *operatortest.Injector
}

func (l lines) Reserve(_ context.Context, id string, ports []runner.Port) (runner.Place, error) {
	return operatortest.Value(l.inj, "runner.Reserve", func() (runner.Place, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		w := l.workloads[id]
		if w == nil {
			w = &workload{place: runner.Place{}, trusted: map[string]bool{}}
			l.workloads[id] = w
		}
		for _, p := range ports {
			if _, ok := w.place[p.Name]; !ok {
				l.nextPort++
				w.place[p.Name] = runner.Endpoint{
					Inside:  netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), l.nextPort),
					Outside: netip.AddrPortFrom(netip.IPv4Unspecified(), l.nextPort),
				}
			}
		}
		return maps.Clone(w.place), nil
	})
}

func (l lines) Apply(_ context.Context, want runner.Workload) error {
	return l.inj.Call("runner.Apply", func() error {
		if err := want.Validate(); err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		w := l.workloads[want.ID]
		if w == nil {
			return fmt.Errorf("workload %s has no place", want.ID)
		}
		changed := len(w.Components) < len(want.Components) || len(want.Components) == 0 // those that stay run on when others end
		for i := range min(len(w.Components), len(want.Components)) {
			have, want := w.Components[i], want.Components[i]
			changed = changed || have.Program != want.Program || !slices.Equal(have.Args, want.Args)
		}
		w.ready = w.ready && !changed
		w.Workload = want
		w.trusted[string(want.Files["ca.crt"].Data)] = true
		return nil
	})
}

func (l lines) Status(_ context.Context, id string) (health.Status, error) {
	return operatortest.ReadValue(l.inj, "health.Status", func() (health.Status, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		w := l.workloads[id]
		if w == nil {
			return health.Status{}, nil
		}
		state := health.Starting
		if w.ready {
			state = health.Ready
		}
		var status health.Status
		for _, c := range w.Components {
			status.Components = append(status.Components, health.Component{Name: c.Name, State: state, StartedAt: time.Now()})
		}
		return status, nil
	})
}

func (l lines) Remove(_ context.Context, id string, _ time.Duration) (bool, error) {
	return operatortest.Value(l.inj, "runner.Remove", func() (bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		w := l.workloads[id]
		if w == nil {
			return true, nil
		}
		w.stopping = true
		return false, nil
	})
}

// ask is a question to the tenant's API server.
func (l lines) ask(_ context.Context, kubeconfig []byte, path string) (int, error) {
	return operatortest.ReadValue(l.inj, "tenant.Ask", func() (int, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, w := range l.workloads {
			if w.begun && path == firstServiceAccount && bytes.Contains(kubeconfig, []byte(w.place[PortAPI].Inside.String())) {
				return http.StatusOK, nil
			}
		}
		return http.StatusNotFound, nil
	})
}

func (l lines) Lookup(v release.Version) (release.Binaries, bool, error) {
	binaries, err := operatortest.ReadValue(l.inj, "releases.Lookup", func() (release.Binaries, error) {
		return release.Binaries{Version: v, Dir: "/releases/" + v.String(), HandsOver: true, Components: map[string]release.Component{
			APIServer: {}, ControllerManager: {}, Scheduler: {},
		}}, nil
	})
	return binaries, err == nil, err
}

// storeLines lead to the one data store.
type storeLines struct{ lines }

func (s storeLines) Open(_ context.Context, name string) (*Store, error) {
	return operatortest.ReadValue(s.inj, "stores.Open", func() (*Store, error) {
		if name != "default" {
			return nil, ErrStoreNotFound
		}
		authority, err := storeSigner()
		if err != nil {
			return nil, err
		}
		return &Store{Keyspaces: keyspaceLines(s), Name: name, Endpoints: []string{"https://127.0.0.1:2379"}, Signers: authority.Signer("ca", storeAuthority), CA: authority["ca.crt"]}, nil
	})
}

// storeSigner is the authority of the data store, made once: it survives everything.
var storeSigner = sync.OnceValues(func() (pki.Bundle, error) {
	set := pki.Set{Authorities: []pki.Authority{{Name: "ca", CommonName: "test store", Lifetime: 20 * 365 * 24 * time.Hour}}}
	bundle, _, err := pki.Issue(nil, set, nil, time.Now())
	return bundle, err
})

// keyspaceLines lead to the keyspaces of the data store.
type keyspaceLines struct{ lines }

func (k keyspaceLines) Ensure(_ context.Context, space datastore.Keyspace, may datastore.Access) error {
	return k.inj.Call("keyspaces.Ensure", func() error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.keyspaces[space] == 0 {
			k.keyspaces[space] = 1
		}
		k.readOnly[space] = may == datastore.ReadOnly
		return nil
	})
}

func (k keyspaceLines) Remove(_ context.Context, space datastore.Keyspace) error {
	return k.inj.Call("keyspaces.Remove", func() error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.workloads[space.UID()] != nil {
			k.early = append(k.early, "the keyspace went while programs still wrote to it")
		}
		if _, calls := k.gate[space.UID()]; calls {
			k.early = append(k.early, "the user went while the store gate still called as it")
		}
		delete(k.keyspaces, space)
		return nil
	})
}

// State is for backups: no control plane reads or writes keyspaces itself.
func (keyspaceLines) State(datastore.Keyspace) datastore.State { return datastore.State{} }

func (k keyspaceLines) Maintain(context.Context) (datastore.Maintenance, error) {
	return datastore.Maintenance{}, nil
}

func (k keyspaceLines) Health(context.Context) (datastore.Health, error) {
	return datastore.Health{}, nil
}

// gateLines lead to what the gate of the data store follows.
type gateLines struct{ lines }

func (g gateLines) Get(uid string) (storegate.Tenant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, ok := g.gate[uid]
	return t, ok
}

func (g gateLines) Set(uid string, t storegate.Tenant, quota *int64) error {
	return g.inj.Call("gate.Set", func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if keyspace, err := datastore.NewKeyspace(uid); err != nil || g.keyspaces[keyspace] == 0 {
			g.early = append(g.early, "the store gate was told of a control plane without a user")
		}
		g.gate[uid] = t
		g.limit(t.Group, quota)
		return nil
	})
}

func (g gateLines) SetQuota(group string, quota *int64) error {
	return g.inj.Call("gate.SetQuota", func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.limit(group, quota)
		return nil
	})
}

func (g gateLines) limit(group string, quota *int64) {
	delete(g.quotas, group)
	if quota != nil {
		g.quotas[group] = *quota
	}
}

func (g gateLines) Remove(uid string) error {
	return g.inj.Call("gate.Remove", func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.workloads[uid] != nil {
			g.early = append(g.early, "the store gate was closed while programs still wrote")
		}
		delete(g.gate, uid)
		return nil
	})
}

// gateSigner is the authority of the store gate, made once.
var gateSigner = sync.OnceValues(func() (pki.Bundle, error) {
	set, err := pki.StoreGate("default")
	if err != nil {
		return nil, err
	}
	bundle, _, err := pki.Issue(nil, set, nil, time.Now())
	return bundle, err
})

// counted is what the gate tells of control planes.
func (l lines) counted() (storegate.Usage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := map[string]int64{}
	for keyspace, bytes := range l.bytes {
		held[keyspace.UID()] = bytes
	}
	return storegate.Usage{Bytes: held}, nil
}

// gates are those before the data stores.
func (l lines) gates() FixedGates {
	keys, err := gateSigner()
	if err != nil {
		return nil
	}
	return FixedGates{"default": NewGate("https://127.0.0.1:2380", keys, gateLines{l}, l.counted)}
}

var (
	_ runner.Runner = lines{}
	_ Stores        = storeLines{}
)
