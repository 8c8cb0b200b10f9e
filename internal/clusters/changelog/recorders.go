package changelog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// State tells what is written to one keyspace. datastore.State does.
type State interface {
	Revision(ctx context.Context) (int64, error)
	Had(ctx context.Context, w datastore.Write) (bool, error)
	Watch(ctx context.Context, after int64) <-chan datastore.Writes
	AskProgress(ctx context.Context) error
}

// Config is what recorders are made of. All fields are required.
type Config struct {
	// State opens what a control plane stores, and Open the bucket of a log.
	State func(context.Context, *v1alpha1.ControlPlane) (State, error)
	Open  func(context.Context, Target) (backupstore.Opened, error)
	// Skip says of which keys no changes are recorded.
	Skip func(key string) bool
	// Notify is called with the UID of an owner of which [Recorders.Known] says something new.
	Notify func(owner string)
	Now    func() time.Time
}

// Target is what is recorded for an owner.
type Target struct {
	// Log without its name.
	Log archive.Log
	// Namespace and StoreName lead to its bucket, together with [FolderOf] the owner.
	Namespace, StoreName string
	// ControlPlane is the one whose keyspace is recorded; its version and its trust are those of what is recorded.
	ControlPlane *v1alpha1.ControlPlane
}

// FolderOf is the folder of an owner's logs among those of its namespace in a store.
func FolderOf(owner string) string { return "changes-" + owner }

// same says whether a recorder of one target can go on for another one: what it has recorded must be of the same keyspace, in the same
// place, and to be read with the same keys.
func (t Target) same(o Target) bool {
	return t.Log == o.Log && t.Namespace == o.Namespace && t.StoreName == o.StoreName && t.ControlPlane.Spec.DataStoreName == o.ControlPlane.Spec.DataStoreName &&
		maps.Equal(TrustOf(t.ControlPlane), TrustOf(o.ControlPlane))
}

// rootEncryption is the key without which what is stored cannot be read. Authorities and the key of tokens may be others.
const rootEncryption = "encryption"

// TrustOf are the fingerprints of the keys without which what a control plane stores cannot be read. It is pure.
func TrustOf(cp *v1alpha1.ControlPlane) map[string]string {
	trust := map[string]string{}
	for _, root := range cp.Status.Trust {
		if root.Name == rootEncryption {
			trust[root.Name] = root.Fingerprint
		}
	}
	return trust
}

// Untrusted names a key without which what was stored then cannot be read, and that a control plane has no more; or nothing. While its key
// is rotated, it reads with both. It is pure.
func Untrusted(then map[string]string, now *v1alpha1.ControlPlane) string {
	want := then[rootEncryption]
	reads := slices.ContainsFunc(now.Status.Trust, func(r v1alpha1.TrustRoot) bool {
		return strings.HasSuffix(r.Name, rootEncryption) && r.Fingerprint == want
	})
	if want == "" || reads {
		return ""
	}
	return rootEncryption
}

// Kept is a log that there is.
type Kept struct {
	Name string
	// Began is when it begins, and After the revision after which it does.
	Began time.Time
	After int64
}

// Known is what is known of the recording for an owner.
type Known struct {
	// Logs are those that there are, the last of which is written; none until the recorder has begun.
	Logs []Kept
	// Complete is until when no change is missing in what is written.
	Complete time.Time
	// Problem is why nothing is recorded now; nil when all is well.
	Problem error
	// Broken is why the last log began while there was one before; empty when there was none.
	Broken string
}

// Recorders record the changes of clusters. Make them with New. They are safe for concurrent use.
type Recorders struct {
	Config
	life     context.Context //nolint:containedctx // recording ends when the program does, not when one reconcile does
	measures *measures

	mu  sync.Mutex
	all map[string]*recorder // by owner
	// over says that no recorder begins any more: Wait was called.
	over bool
	// ending are those that were stopped and have not ended yet.
	ending sync.WaitGroup
}

// New returns recorders that end with life.
func New(life context.Context, c Config) *Recorders {
	r := &Recorders{Config: c, life: life, all: map[string]*recorder{}}
	r.measures = newMeasures(r.standing)
	return r
}

// Wait waits until all have written what they know, after life has ended.
func (r *Recorders) Wait() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.ending.Wait()
}

// Ensure has the changes of a target recorded, and returns what is known of it.
func (r *Recorders) Ensure(t Target) Known {
	r.mu.Lock()
	defer r.mu.Unlock()
	owner := t.Log.Owner
	have := r.all[owner]
	if have != nil && !have.target().same(t) {
		have.stop()
		if !have.ended() {
			return Known{Problem: errors.New("waiting until the recording of what was the cluster before has ended")}
		}
		have = nil
	}
	if have == nil && r.over {
		return Known{Problem: errors.New("KQueen ends")}
	}
	if have == nil {
		ctx, stop := context.WithCancel(r.life)
		have = &recorder{Config: r.Config, measures: r.measures, of: t, stop: stop, done: make(chan struct{}), flushes: make(chan flush), wake: make(chan struct{}, 1)}
		r.all[owner] = have
		r.ending.Go(func() { have.run(ctx) })
	}
	have.update(t)
	return have.known()
}

// Known is what is known of the recording for an owner; nothing where there is none.
func (r *Recorders) Known(owner string) Known {
	if have := r.of(owner); have != nil {
		return have.known()
	}
	return Known{}
}

// Stop ends the recording for an owner, and says whether it has ended.
func (r *Recorders) Stop(owner string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.all[owner]
	if have == nil {
		return true
	}
	have.stop()
	if !have.ended() {
		return false
	}
	delete(r.all, owner)
	return true
}

// Trim says what of an owner's logs is needed. The rest is removed once in a while.
func (r *Recorders) Trim(owner string, need Need) {
	if have := r.of(owner); have != nil {
		have.trim(need)
	}
}

// Flush writes all changes of an owner's cluster that were made until now. It is an error when nothing is recorded now.
func (r *Recorders) Flush(ctx context.Context, owner string) error {
	have := r.of(owner)
	if have == nil {
		return notYet("changes are not recorded now")
	}
	return have.flush(ctx)
}

func (r *Recorders) of(owner string) *recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[owner]
}
