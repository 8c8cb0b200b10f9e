package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// place is a namespace with a cluster, and what it lives in: a keyspace and the folders of backups. The real ones have tests of their own.
type place struct {
	client    client.WithWatch
	namespace string
	store     string
	now       time.Time

	mu      sync.Mutex
	state   map[string]string            // the keyspace
	folders map[string]map[string][]byte // files by bucket
	free    int64
	looked  []string
	space   int64               // in the data store
	running bool                // the API server
	whole   []map[string]string // states that it may start with
	wrong   []string
	// readOnly says, of each change of the control plane's spec, whether it could only be read then.
	readOnly []bool
	// ways are for how long the control plane was to make way for others, each time it was asked to.
	ways []time.Duration
	// flushed is how often a recorder was asked for what is not written yet, and flushFails what it answers.
	flushed    int
	flushFails error
	// keys are those of the cluster, and of the one that a restore creates, whose keyspace is newState.
	keys, newKeys map[string][]byte
	newState      map[string]string
	newRunning    bool
}

func newPlace(t *testing.T) *place {
	t.Helper()
	c := controlplanetest.Client(t)
	p := &place{
		client: c, namespace: controlplanetest.Namespace(t, c), now: time.Now().Truncate(time.Second), free: 10 << 30, space: 1 << 30, running: true,
		folders: map[string]map[string][]byte{}, state: map[string]string{"configmaps/default/a": "1", "minions/n": "then"},
		keys: map[string][]byte{atrest.Key: bytes.Repeat([]byte("o"), atrest.Length)}, newKeys: map[string][]byte{atrest.Key: bytes.Repeat([]byte("n"), atrest.Length)},
		newState: map[string]string{},
	}
	p.store = p.namespace
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), system)); err != nil {
		t.Fatal(err)
	}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.2"}}
	store := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: p.store}, Spec: v1alpha1.BackupStoreSpec{Directory: "/backups/" + p.store}}
	for _, o := range []client.Object{cluster, store} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.namespace, Name: "demo",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))},
	}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.2"}}
	if err := c.Create(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: cp.KeysSecret()}, Data: p.keys}
	if err := c.Create(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	cp.Status.Version, cp.Status.APIServerVersion = "v1.36.2", "v1.36.2"
	cp.Status.Trust = []v1alpha1.TrustRoot{{Name: "encryption", Fingerprint: "sha256:aa"}}
	for _, condition := range []string{v1alpha1.ConditionInitialized, v1alpha1.ConditionReady} {
		apimeta.SetStatusCondition(&cp.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady})
	}
	cp.Status.ObservedGeneration = cp.Generation
	if err := c.Status().Update(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	p.settle(t, &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: p.store}})
	t.Cleanup(func() { p.dropStore(t) })
	return p
}

// dropStore removes what is in no namespace.
func (p *place) dropStore(t *testing.T) {
	t.Helper()
	store := &v1alpha1.BackupStore{}
	ctx := context.WithoutCancel(t.Context())
	if err := p.client.Get(ctx, client.ObjectKey{Name: p.store}, store); err != nil {
		return
	}
	store.Finalizers = nil
	if err := errors.Join(p.client.Update(ctx, store), client.IgnoreNotFound(p.client.Delete(ctx, store))); err != nil {
		t.Error(err)
	}
}

// world is that of a new process, whose long acts run at once.
func (p *place) world(inj *operatortest.Injector) *world {
	if inj == nil {
		inj = &operatortest.Injector{}
	}
	c := inj.Client(p.client)
	return &world{Config{
		Client: c, Secrets: c, Now: func() time.Time { return p.now },
		State: func(_ context.Context, cp *v1alpha1.ControlPlane) (State, error) {
			if cp.Name != "demo" {
				return stateLines{p, inj, &p.newState, &p.newRunning}, nil
			}
			return stateLines{p, inj, &p.state, &p.running}, nil
		},
		Bucket: func(at backupstore.Place, folder string) (backupstore.Bucket, error) {
			return bucketLines{p, inj, at.Directory + "/" + folder}, nil
		},
		Look: p.look,
		Background: func(uid string, long time.Duration) {
			if p.ways = append(p.ways, long); uid == "" {
				p.wrong = append(p.wrong, "no control plane is named")
			}
		},
		Flush: func(context.Context, string) error {
			return inj.Call("Flush", func() error {
				p.flushed++
				return p.flushFails
			})
		},
	}, jobs.New(context.Background(), func(string) {}, func(f func()) { f() }, 0)}
}

func (p *place) reconcilerOf(of client.Object, inj *operatortest.Injector) reconcile.Reconciler {
	w := p.world(inj)
	switch of.(type) {
	case *v1alpha1.BackupStore:
		return (&stores{world: w}).reconciler()
	case *v1alpha1.Backup:
		return (&backups{w}).reconciler()
	}
	return (&restores{w}).reconciler()
}

// settle reconciles an object until it is ready, or many times when it does not become so, with the control plane and other backups in
// between.
func (p *place) settle(t *testing.T, of operator.Object) {
	t.Helper()
	r, key := p.reconcilerOf(of, nil), client.ObjectKeyFromObject(of)
	for range 12 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.client.Get(t.Context(), key, of); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		} else if err != nil || apimeta.IsStatusConditionTrue(of.Shared().Conditions, v1alpha1.ConditionReady) {
			return
		}
	}
}

// step takes the part of the reconciler of ControlPlane, and takes the backups of restores.
func (p *place) step(ctx context.Context) (bool, error) {
	cp := &v1alpha1.ControlPlane{}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cp); apierrors.IsNotFound(err) {
		return p.stepNew(ctx)
	} else if err != nil {
		return false, err
	}
	moved, err := p.stepNew(ctx)
	if err != nil {
		return false, err
	}
	if cp.Status.ObservedGeneration != cp.Generation {
		moved = true
		p.run(cp.Spec.StoppedFor == "")
		p.readOnly = append(p.readOnly, cp.Spec.IsReadOnly())
		cp.Status.ObservedGeneration, cp.Status.StoppedFor = cp.Generation, cp.Spec.StoppedFor
		if err := p.client.Status().Update(ctx, cp); err != nil {
			return false, err
		}
	}
	backups := &v1alpha1.BackupList{}
	if err := p.client.List(ctx, backups, client.InNamespace(p.namespace), client.HasLabels{v1alpha1.LabelRestore}); err != nil {
		return false, err
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.IsTaken() {
			continue
		}
		moved = true
		if _, err := p.reconcilerOf(b, nil).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}); err != nil {
			return false, err
		}
	}
	return moved, nil
}

// run starts or stops the API server, which starts with a whole state alone.
func (p *place) run(running bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if running && !p.running && !slices.ContainsFunc(p.whole, func(m map[string]string) bool { return maps.Equal(m, p.state) }) {
		p.wrong = append(p.wrong, fmt.Sprintf("the API server started with half a state: %v", p.state))
	}
	p.running = running
}

// stateLines lead to the keyspace.
type stateLines struct {
	*place
	inj  *operatortest.Injector
	of   *map[string]string
	runs *bool
}

func (s stateLines) Entries(_ context.Context, revision *int64) iter.Seq2[datastore.Entry, error] {
	all, err := operatortest.ReadValue(s.inj, "state.Entries", func() (map[string]string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return maps.Clone(*s.of), nil
	})
	return func(yield func(datastore.Entry, error) bool) {
		if err != nil {
			yield(datastore.Entry{}, err)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !yield(datastore.Entry{Key: key, Value: []byte(all[key])}, nil) {
				return
			}
		}
		if revision != nil {
			*revision = 7
		}
	}
}

// changes are by what the keyspace differs, in the order of keys.
func (s stateLines) changes(want map[string]string, keep func(datastore.Entry) bool) []datastore.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := maps.Clone(*s.of)
	maps.Copy(keys, want)
	var all []datastore.Change
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		have, has := (*s.of)[key]
		wanted, wants := want[key]
		has = has && !keep(datastore.Entry{Key: key, Value: []byte(have)})
		wants = wants && !keep(datastore.Entry{Key: key, Value: []byte(wanted)})
		switch {
		case !has && !wants || has && wants && have == wanted:
		case !has:
			all = append(all, datastore.Change{Verb: datastore.Added, Key: key, Bytes: len(key) + len(wanted)})
		case !wants:
			all = append(all, datastore.Change{Verb: datastore.Removed, Key: key})
		default:
			all = append(all, datastore.Change{Verb: datastore.Changed, Key: key, Bytes: len(key) + len(wanted)})
		}
	}
	return all
}

func (s stateLines) Compare(
	_ context.Context, want iter.Seq2[datastore.Entry, error], keep func(datastore.Entry) bool, tell func(datastore.Change),
) error {
	wanted, err := gather(want)
	for _, c := range s.changes(wanted, keep) {
		tell(c)
	}
	return err
}

func (s stateLines) Space(context.Context, int) (int64, error) {
	return operatortest.ReadValue(s.inj, "state.Space", func() (int64, error) { return s.space, nil })
}

// Bring writes in two halves, between which the process may die.
func (s stateLines) Bring(
	_ context.Context, _ int, want iter.Seq2[datastore.Entry, error], keep func(datastore.Entry) bool, tell func(datastore.Change),
) error {
	wanted, err := gather(want)
	if err != nil {
		return err
	}
	all := s.changes(wanted, keep)
	for i, half := range [][]datastore.Change{all[:len(all)/2], all[len(all)/2:]} {
		err := s.inj.Call(fmt.Sprintf("state.Bring%d", i), func() error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if *s.runs {
				s.wrong = append(s.wrong, "the state was written while the API server ran")
			}
			for _, c := range half {
				if value, ok := wanted[c.Key]; ok {
					(*s.of)[c.Key] = value
				} else {
					delete((*s.of), c.Key)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, c := range half {
			tell(c)
		}
	}
	return nil
}

// files is how many files there are.
func (p *place) files() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, files := range p.folders {
		n += len(files)
	}
	return n
}

// backup makes and takes a backup.
func (p *place) backup(t *testing.T, name string) *v1alpha1.Backup {
	t.Helper()
	b := p.ask(t, name)
	p.settle(t, b)
	return b
}

func (p *place) ask(t *testing.T, name string) *v1alpha1.Backup {
	t.Helper()
	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, Spec: v1alpha1.BackupSpec{ClusterName: "demo", StoreName: p.store}}
	if err := p.client.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b
}

// restore creates a Restore of the backup "then".
func (p *place) restore(t *testing.T, compareOnly bool) *v1alpha1.Restore {
	t.Helper()
	rs := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "back"}, Spec: v1alpha1.RestoreSpec{BackupName: "then", CompareOnly: compareOnly}}
	if err := p.client.Create(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	return rs
}

// change changes the cluster after the backup.
func (p *place) change() {
	p.mu.Lock()
	defer p.mu.Unlock()
	then := maps.Clone(p.state)
	then["minions/n"] = "now"
	p.state = map[string]string{"configmaps/default/a": "2", "configmaps/default/b": "1", "minions/n": "now"}
	p.whole = []map[string]string{then, maps.Clone(p.state)}
}

// end is an end state, without names and times of its own.
type end struct {
	State      map[string]string
	Running    bool
	StoppedFor string
	Backups    []string
	Files      int
	Secrets    int
	Conditions []string
	Status     any
	Finalizers []string
	Wrong      []string
	// There says whether there is a new cluster.
	There bool
}

func (p *place) snapshot(ctx context.Context, of client.Object) (any, error) {
	e := end{State: maps.Clone(p.state), Running: p.running, Files: p.files(), Wrong: p.wrong}
	cp := &v1alpha1.ControlPlane{}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cp); err != nil {
		return nil, err
	}
	e.StoppedFor = cp.Spec.StoppedFor + cp.Status.StoppedFor
	if cp.Spec.ReadOnly {
		e.StoppedFor += " read only"
	}
	backups := &v1alpha1.BackupList{}
	if err := p.client.List(ctx, backups, client.InNamespace(p.namespace)); err != nil {
		return nil, err
	}
	for i := range backups.Items {
		name, _, _ := strings.Cut(backups.Items[i].Name, "-back-")
		e.Backups = append(e.Backups, fmt.Sprint(name, " ", backups.Items[i].IsTaken()))
	}
	secrets := &corev1.SecretList{}
	if err := p.client.List(ctx, secrets, client.InNamespace(v1alpha1.SystemNamespace)); err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(of)
	if err := p.client.Get(ctx, key, of); err != nil {
		return e, client.IgnoreNotFound(err)
	}
	e.Finalizers = of.GetFinalizers()
	e.describe(of)
	return e, nil
}

// describe notes the status of an object.
func (e *end) describe(of client.Object) {
	var conditions []metav1.Condition
	switch o := of.(type) {
	case *v1alpha1.BackupStore:
		conditions, e.Status = o.Status.Conditions, o.Status.Recipient != ""
	case *v1alpha1.Backup:
		conditions = o.Status.Conditions
		e.Status = fmt.Sprint(o.Status.Version, o.Status.Revision, o.Status.Objects, o.Status.Size, o.IsTaken(), o.Status.VerifiedTime != nil, o.Status.ClusterUID != "")
	case *v1alpha1.Restore:
		conditions = o.Status.Conditions
		e.Status = fmt.Sprint(o.Status.ClusterName, o.Status.NewClusterUID != "", o.Status.WriteStartTime != nil, o.Status.WrittenTime != nil, o.Status.CompletionTime != nil)
	}
	for _, c := range conditions {
		e.Conditions = append(e.Conditions, fmt.Sprint(c.Type, "=", c.Status, " ", c.Reason))
	}
	slices.Sort(e.Conditions)
}

// gone says whether an object is not there any more.
func (p *place) gone(of client.Object) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		err := p.client.Get(ctx, client.ObjectKeyFromObject(of), of)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
}

func (p *place) deletion(of client.Object) *operatortest.Act {
	return &operatortest.Act{
		Do:   func(ctx context.Context) error { return client.IgnoreNotFound(p.client.Delete(ctx, of)) },
		Done: p.gone(of),
	}
}
