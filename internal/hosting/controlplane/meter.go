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
	"kqueen.io/kqueen/internal/hosting/datastore"
)

const (
	// meterInterval is the time between two measurements of the same control plane, at least.
	meterInterval = 5 * time.Minute
	// meterFirst is the time until a control plane of which nothing is known is measured, at most.
	meterFirst = 15 * time.Second
	// meterRest is how much longer than a measurement the rest after it is: however much tenants hold, data stores are
	// measured for no more than a hundredth of the time.
	meterRest = 99
	// unmeasuredAfter is how long measuring may fail until what is known counts for nothing.
	unmeasuredAfter = time.Hour
)

// Meter knows what control planes hold in data stores: the gate of a store tells it, and in a store without one they are measured
// one after the other. It is safe for concurrent use.
type Meter struct {
	client client.Reader
	stores Stores
	gates  Gates
	notify func(types.UID)
	log    *slog.Logger
	now    func() time.Time

	mu    sync.Mutex
	taken map[types.UID]reading
	next  time.Time // when one may be measured again
}

// reading is what was measured of a control plane.
type reading struct {
	bytes int64
	at    time.Time // also of a measurement that failed, and bytes are then those of the one before
	// good is when the last one that did not fail was, or when the first one was begun.
	good   time.Time
	failed bool
}

// NewMeter returns a Meter. c reads control planes and organizations from a cache; notify has the control plane of a UID
// reconciled again, and does not block.
func NewMeter(c client.Reader, stores Stores, gates Gates, notify func(types.UID), log *slog.Logger, now func() time.Time) *Meter {
	return &Meter{client: c, stores: stores, gates: gates, notify: notify, log: log, now: now, taken: map[types.UID]reading{}}
}

// StoreBytes is what a control plane held when it was last measured in this life of the program.
func (m *Meter) StoreBytes(uid types.UID) (int64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.taken[uid]
	return r.bytes, ok && r.bytes > 0
}

// Unmeasured says that measuring a control plane has failed for too long.
func (m *Meter) Unmeasured(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.taken[uid]
	return r.failed && m.now().Sub(r.good) > unmeasuredAfter
}

// Run measures until ctx ends.
func (m *Meter) Run(ctx context.Context) error {
	for {
		rest, err := m.Step(ctx)
		if err != nil && ctx.Err() == nil {
			m.log.Warn("a control plane's data is not measured; it is tried again", "error", err)
		}
		next := time.NewTimer(rest)
		select {
		case <-ctx.Done():
			next.Stop()
			return nil
		case <-next.C:
		}
	}
}

// Step asks the gates, measures the control plane whose turn it is, if it is any's, and says when the next step is due.
func (m *Meter) Step(ctx context.Context) (time.Duration, error) {
	list := &v1alpha1.ControlPlaneList{}
	if err := m.client.List(ctx, list); err != nil {
		return meterFirst, fmt.Errorf("list control planes: %w", err)
	}
	if err := m.notifyChanged(ctx, list.Items); err != nil {
		return meterFirst, err
	}
	asked := m.askGates(list.Items)
	cp := m.due(list.Items)
	if cp == nil || m.now().Before(m.next) {
		return meterFirst, asked
	}
	began := m.now()
	bytes, err := m.measure(ctx, cp)
	spent := m.now().Sub(began)
	m.mu.Lock()
	m.taken[cp.UID] = m.taken[cp.UID].next(bytes, err, began, m.now())
	m.mu.Unlock()
	if err != nil {
		return max(spent, time.Second), errors.Join(asked, fmt.Errorf("measure control plane %s/%s: %w", cp.Namespace, cp.Name, err))
	}
	if noted(cp.Status.StoreBytes, bytes) != cp.Status.StoreBytes {
		m.notify(cp.UID)
	}
	rest := meterRest * spent
	m.next = m.now().Add(rest)
	return min(rest, meterFirst), asked
}

// askGates takes what gates have counted. One that has not counted a control plane yet is asked again.
func (m *Meter) askGates(all []v1alpha1.ControlPlane) error {
	var problems error
	for name, gate := range m.gates.Ready() {
		told, err := gate.Usage()
		if err != nil {
			problems = errors.Join(problems, err)
		}
		for i := range all {
			if cp := &all[i]; cp.Spec.DataStore == name && measurable(cp) {
				problems = errors.Join(problems, m.take(cp, told.Bytes))
			}
		}
	}
	return problems
}

var errNotCounted = errors.New("the store gate has not counted it for an hour; its log says why")

func (m *Meter) take(cp *v1alpha1.ControlPlane, held map[string]int64) error {
	bytes, known := held[string(cp.UID)]
	var err error
	if !known {
		err = errNotCounted
	}
	m.mu.Lock()
	m.taken[cp.UID] = m.taken[cp.UID].next(bytes, err, m.now(), m.now())
	m.mu.Unlock()
	switch {
	case known && noted(cp.Status.StoreBytes, bytes) != cp.Status.StoreBytes:
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

// next is the reading after a measurement. It is pure.
func (r reading) next(bytes int64, err error, began, ended time.Time) reading {
	r.at, r.failed = ended, err != nil
	if r.good.IsZero() {
		r.good = began
	}
	if err == nil {
		r.bytes, r.good = bytes, ended
	}
	return r
}

// due returns the control plane that waits longest, of those that no gate tells of, and forgets those that are gone.
func (m *Meter) due(all []v1alpha1.ControlPlane) *v1alpha1.ControlPlane {
	m.mu.Lock()
	defer m.mu.Unlock()
	there, gates := map[types.UID]reading{}, m.gates.Ready()
	var next *v1alpha1.ControlPlane
	for i := range all {
		cp := &all[i]
		r, known := m.taken[cp.UID]
		if known {
			there[cp.UID] = r
		}
		if !measurable(cp) || gates[cp.Spec.DataStore] != nil || known && m.now().Sub(r.at) < meterInterval {
			continue
		}
		if next == nil || r.at.Before(m.taken[next.UID].at) {
			next = cp
		}
	}
	m.taken = there
	return next
}

func (m *Meter) measure(ctx context.Context, cp *v1alpha1.ControlPlane) (int64, error) {
	store, err := m.stores.Open(ctx, cp.Spec.DataStore)
	if err != nil {
		return 0, err
	}
	keyspace, err := datastore.NewKeyspace(string(cp.UID))
	if err != nil {
		return 0, err
	}
	usage, err := store.Usage(ctx, keyspace)
	return usage.Bytes, err
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
