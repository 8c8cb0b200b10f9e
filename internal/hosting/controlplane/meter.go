package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	// meterInterval is the time between two looks at what the gates have counted.
	meterInterval = 15 * time.Second
	// unmeasuredAfter is how long a gate may not tell what a control plane holds until what is known counts for nothing.
	unmeasuredAfter = time.Hour
)

// Meter knows what control planes hold in data stores, as the gates of these have counted it. It is safe for concurrent use.
type Meter struct {
	client client.Reader
	gates  Gates
	notify func(types.UID)
	log    *slog.Logger
	now    func() time.Time

	mu    sync.Mutex
	taken map[types.UID]reading
}

// reading is what a gate has told of a control plane.
type reading struct {
	bytes int64 // of one that failed those of the one before
	// good is when the last one that did not fail was, or when the first one was.
	good   time.Time
	failed bool
}

// NewMeter returns a Meter. c reads control planes and organizations from a cache; notify has the control plane of a UID
// reconciled again, and does not block.
func NewMeter(c client.Reader, gates Gates, notify func(types.UID), log *slog.Logger, now func() time.Time) *Meter {
	return &Meter{client: c, gates: gates, notify: notify, log: log, now: now, taken: map[types.UID]reading{}}
}

// StoreBytes is what a control plane held when its gate told it last in this life of the program.
func (m *Meter) StoreBytes(uid types.UID) (int64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.taken[uid]
	return r.bytes, ok && r.bytes > 0
}

// Unmeasured says that it has not been known for too long what a control plane holds.
func (m *Meter) Unmeasured(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.taken[uid]
	return r.failed && m.now().Sub(r.good) > unmeasuredAfter
}

// Run asks the gates until ctx ends.
func (m *Meter) Run(ctx context.Context) error {
	tick := time.NewTicker(meterInterval)
	defer tick.Stop()
	for {
		if err := m.Step(ctx); err != nil && ctx.Err() == nil {
			m.log.Warn("what control planes hold is not known of all; gates are asked again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Step asks the gates once.
func (m *Meter) Step(ctx context.Context) error {
	list := &v1alpha1.ControlPlaneList{}
	if err := m.client.List(ctx, list); err != nil {
		return fmt.Errorf("list control planes: %w", err)
	}
	if err := m.notifyChanged(ctx, list.Items); err != nil {
		return err
	}
	return m.askGates(list.Items)
}

// askGates takes what gates have counted, and forgets what is gone. One that has not counted a control plane yet, or does not stand, is asked
// again.
func (m *Meter) askGates(all []v1alpha1.ControlPlane) error {
	var problems error
	told := map[string]map[string]int64{} // by DataStore and UID
	for name, gate := range m.gates.Ready() {
		usage, err := gate.Usage()
		problems, told[name] = errors.Join(problems, err), usage.Bytes
	}
	m.forget(all)
	for i := range all {
		if cp := &all[i]; measurable(cp) {
			problems = errors.Join(problems, m.take(cp, told[cp.Spec.DataStoreName]))
		}
	}
	return problems
}

// forget leaves what is known of control planes that there are.
func (m *Meter) forget(all []v1alpha1.ControlPlane) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := map[types.UID]reading{}
	for i := range all {
		if r, known := m.taken[all[i].UID]; known {
			there[all[i].UID] = r
		}
	}
	m.taken = there
}

var errNotCounted = errors.New("the store gate has not counted it for an hour; its log says why")

func (m *Meter) take(cp *v1alpha1.ControlPlane, held map[string]int64) error {
	bytes, known := held[string(cp.UID)]
	var err error
	if !known {
		err = errNotCounted
	}
	m.mu.Lock()
	m.taken[cp.UID] = m.taken[cp.UID].next(bytes, err, m.now())
	m.mu.Unlock()
	switch {
	case known && noted(cp.Status.StoreBytes(), bytes) != cp.Status.StoreBytes():
		m.notify(cp.UID)
	case m.Unmeasured(cp.UID):
		return fmt.Errorf("measure control plane %s/%s: %w", cp.Namespace, cp.Name, err)
	}
	return nil
}

// measurable says whether a control plane has a keyspace. It is pure.
func measurable(cp *v1alpha1.ControlPlane) bool {
	return apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionStoreReady) && cp.DeletionTimestamp.IsZero()
}

// next is the reading after another one. It is pure.
func (r reading) next(bytes int64, err error, now time.Time) reading {
	r.failed = err != nil
	if r.good.IsZero() || err == nil {
		r.good = now
	}
	if err == nil {
		r.bytes = bytes
	}
	return r
}

// notifyChanged has those control planes looked at that say something else of their organization's quota than is so: what
// changed may be the quota, or what other control planes hold.
func (m *Meter) notifyChanged(ctx context.Context, all []v1alpha1.ControlPlane) error {
	var problems error
	exceeded, quotas := map[string]bool{}, map[string]bool{}
	for i := range all {
		cp := &all[i]
		over, seen := exceeded[cp.Namespace]
		if !seen {
			limit, err := storeQuota(ctx, m.client, cp.Namespace)
			if err != nil {
				problems = errors.Join(problems, err)
				continue
			}
			over = storeExceeded(limit, held(all, cp.Namespace))
			exceeded[cp.Namespace], quotas[cp.Namespace] = over, limit != nil
		}
		if storeSaid(cp) != (storeState{over, quotas[cp.Namespace] && m.Unmeasured(cp.UID)}) {
			m.notify(cp.UID)
		}
	}
	return problems
}
