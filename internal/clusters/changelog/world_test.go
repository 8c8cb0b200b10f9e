package changelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// store is a keyspace whose whole history is known, and the folder of its log.
type store struct {
	mu        sync.Mutex
	revision  int64
	history   []made
	compacted int64
	changed   chan struct{} // closed when there is more to tell
	asked     int

	files map[string][]byte
	hangs chan struct{} // what is written to the folder waits for its end; nil when it does not hang
	fails error
}

// made is a write and when it was made.
type made struct {
	datastore.Write
	at time.Time
}

func newStore() *store {
	return &store{revision: 100, changed: make(chan struct{}), files: map[string][]byte{}}
}

// put writes keys, "" for a removal, as one transaction.
func (s *store) put(keys map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		w := datastore.Write{Entry: datastore.Entry{Key: key, Value: []byte(keys[key])}, Revision: s.revision, Removed: keys[key] == ""}
		s.history = append(s.history, made{w, time.Now()})
	}
	s.told()
}

func (s *store) told() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// elsewhere is a write of another tenant.
func (s *store) elsewhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
}

// at is the truth at a moment, and its revision.
func (s *store) at(t time.Time) (map[string]string, int64) {
	state, revision := map[string]string{}, int64(0)
	for _, m := range s.history {
		if m.at.After(t) {
			break
		}
		revision = m.Revision
		state[m.Key] = string(m.Value)
		if m.Removed {
			delete(state, m.Key)
		}
	}
	return state, revision
}

func (s *store) Revision(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision, nil
}

func (s *store) Had(_ context.Context, w datastore.Write) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.Revision <= s.compacted {
		return false, datastore.ErrCompacted
	}
	return slices.ContainsFunc(s.history, func(m made) bool {
		return m.Revision == w.Revision && m.Key == w.Key && bytes.Equal(m.Value, w.Value) && m.Removed == w.Removed
	}), nil
}

func (s *store) AskProgress(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	s.told()
	return nil
}

func (s *store) Watch(ctx context.Context, after int64) <-chan datastore.Writes {
	told := make(chan datastore.Writes)
	go func() {
		defer close(told)
		answered := 0
		for ctx.Err() == nil {
			w, changed, asked := s.since(after)
			if asked > answered && len(w.All) == 0 { // before, not all is told
				w.Until, answered = s.now(), asked
			}
			if w.Err != nil || w.Until > after {
				select {
				case told <- w:
				case <-ctx.Done():
					return
				}
				if w.Err != nil {
					return
				}
				after = w.Until
				continue
			}
			minute := time.NewTimer(time.Minute)
			select {
			case <-changed:
			case <-minute.C:
				if w, _, _ := s.since(after); len(w.All) == 0 && w.Err == nil {
					select {
					case told <- datastore.Writes{Until: s.now()}:
					case <-ctx.Done():
					}
				}
			case <-ctx.Done():
			}
			minute.Stop()
		}
	}()
	return told
}

func (s *store) now() int64 {
	n, _ := s.Revision(context.Background())
	return n
}

// since is at most some of what was written after a revision.
func (s *store) since(after int64) (datastore.Writes, chan struct{}, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var w datastore.Writes
	if after < s.compacted {
		w.Err = fmt.Errorf("watch: %w", datastore.ErrCompacted)
		return w, s.changed, s.asked
	}
	for _, m := range s.history {
		if m.Revision > after && (len(w.All) < 3 || w.Until == m.Revision) {
			w.All, w.Until = append(w.All, m.Write), m.Revision
		}
	}
	return w, s.changed, s.asked
}

// folder is the bucket.
type folder struct{ *store }

func (f folder) Close() error { return nil }

func (f folder) Put(_ context.Context, name string, data []byte) error {
	if f.hangs != nil {
		<-f.hangs
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return f.fails
	}
	f.files[name] = slices.Clone(data)
	return nil
}

func (f folder) Get(_ context.Context, name string, _ int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.files[name]
	if !ok {
		return nil, archive.ErrNotFound
	}
	return slices.Clone(data), nil
}

func (f folder) List(_ context.Context, folder string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.files)), func(name string) bool { return !strings.HasPrefix(name, folder+"/") }), nil
}

func (f folder) Delete(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.files, name)
	return nil
}

// place is a store with what records it.
type place struct {
	*store
	keys archive.Keys
	of   Target
	news atomic.Int64
	// recorders are those of the program that runs; stop ends it.
	recorders *Recorders
	stop      context.CancelFunc
}

var testLog = archive.Log{Owner: "s1", Cluster: "c1", ControlPlane: "p1"}

func newPlace(t *testing.T) *place {
	t.Helper()
	data, err := archive.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{store: newStore(), of: Target{Log: testLog, StoreName: "default", ControlPlane: &v1alpha1.ControlPlane{
		ObjectMeta: metav1.ObjectMeta{Name: "demo"},
		Status:     v1alpha1.ControlPlaneStatus{Version: "v1.35.4"},
	}}}
	if p.keys, err = archive.ParseKeys(data, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// start starts the program.
func (p *place) start() {
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.recorders = New(ctx, Config{
		State: func(context.Context, *v1alpha1.ControlPlane) (State, error) { return p.store, nil },
		Open: func(context.Context, Target) (backupstore.Opened, error) {
			return backupstore.Opened{Bucket: folder{p.store}, Keys: p.keys}, nil
		},
		Skip:   func(key string) bool { return strings.HasPrefix(key, "minions/") },
		Notify: func(string) { p.news.Add(1) },
		Now:    time.Now,
	})
	p.recorders.Ensure(p.of)
}

// end ends the program, as it ends when it is asked to, and kill as a crash does.
func (p *place) end() {
	p.stop()
	p.recorders.Wait()
}

func (p *place) kill() {
	p.mu.Lock()
	p.fails = errors.New("killed")
	p.mu.Unlock()
	p.end()
	p.mu.Lock()
	p.fails = nil
	p.mu.Unlock()
}

// replay is the state at a moment as it is found by the log, from the truth at one of the bases.
func (p *place) replay(bases []Base, at time.Time) (map[string]string, int64, error) {
	r, err := Replay(context.Background(), folder{p.store}, p.keys, testLog, bases, at)
	if err != nil {
		return nil, 0, err
	}
	base, _ := p.at(bases[r.Base].TakenTime)
	state := map[string]string{}
	for e, err := range r.Over(func(yield func(archive.Entry, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(base)) {
			if !yield(archive.Entry{Key: key, Value: []byte(base[key])}, nil) {
				return
			}
		}
	}) {
		if err != nil {
			return nil, 0, err
		}
		state[e.Key] = string(e.Value)
	}
	return state, r.Revision, nil
}

// base is a backup of the state now.
func (p *place) base() Base {
	now := time.Now()
	_, revision := p.at(now)
	return Base{Revision: max(revision, 100), TakenTime: now}
}
