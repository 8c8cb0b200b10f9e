package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// shelf is where programs lie. A download takes until its result is sent.
type shelf struct {
	mu     sync.Mutex
	have   map[string]bool
	result chan error
}

func (s *shelf) Lookup(v release.Version) (release.Binaries, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return release.Binaries{Components: map[string]release.Component{Scheduler: {SHA256: "b"}, APIServer: {SHA256: "a"}}}, s.have[v.String()], nil
}

func (s *shelf) Ensure(ctx context.Context, v release.Version, _ release.Source, _ func(release.Step)) (release.Binaries, error) {
	select {
	case err := <-s.result:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.have[v.String()] = err == nil
		return release.Binaries{}, err
	case <-ctx.Done():
		return release.Binaries{}, ctx.Err()
	}
}

// releases is a Release with its reconciler; notified has the names for which it was notified.
type releases struct {
	*shelf
	client     client.Client
	reconciler reconcile.Reconciler
	retryNow   func() // begins a new reconciler, which knows nothing of earlier tries
	name       string
	notified   chan string
}

func newRelease(t *testing.T, name string, source v1alpha1.ReleaseSource) *releases {
	t.Helper()
	r := &releases{shelf: &shelf{have: map[string]bool{}, result: make(chan error)}, client: controlplanetest.Client(t), name: name, notified: make(chan string, 1)}
	obj := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ReleaseSpec{Source: source}}
	if err := r.client.Create(t.Context(), obj); err != nil {
		t.Fatalf("create release: %v", err)
	}
	r.retryNow = func() {
		r.reconciler = NewReleaseReconciler(t.Context(), ReleaseConfig{
			Client: r.client, Store: r.shelf, Retry: time.Hour, Notify: func(name string) { r.notified <- name }, Log: slog.New(slog.DiscardHandler),
		})
	}
	r.retryNow()
	return r
}

// says reconciles once and returns what the Release then says of its programs.
func (r *releases) says(t *testing.T) (string, *v1alpha1.Release) {
	t.Helper()
	obj := &v1alpha1.Release{}
	run(t, r.reconciler, r.client, client.ObjectKey{Name: r.name}, obj)
	return said(obj, v1alpha1.ConditionBinariesReady), obj
}

// run reconciles once and reads the object, whose status must be in order.
func run(t *testing.T, r reconcile.Reconciler, c client.Client, key client.ObjectKey, obj operator.Object) {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatalf("reconcile: %v", err)
	}
	if err := c.Get(t.Context(), key, obj); err != nil {
		t.Fatalf("read: %v", err)
	}
	operatortest.CheckStatus(t, obj)
}

func said(obj operator.Object, condition string) string {
	c := apimeta.FindStatusCondition(obj.Shared().Conditions, condition)
	if c == nil {
		return "nothing"
	}
	return fmt.Sprint(c.Status, " ", c.Reason, ": ", c.Message)
}

func expect(t *testing.T, want, got string) {
	t.Helper()
	if want != got {
		t.Errorf("want %s\ngot  %s", want, got)
	}
}

func TestReleaseBuilt(t *testing.T) {
	r := newRelease(t, "v1.33.1", v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}})
	got, obj := r.says(t)
	expect(t, "False BinariesMissing: the programs are not built on this machine; build them with: kqueen release build v1.33.1", got)
	expect(t, "v1.32.x, v1.33.0", obj.Status.UpgradeFrom)
	if !apimeta.IsStatusConditionTrue(obj.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Error("only a user can build, so it must be stalled")
	}
	r.have[r.name] = true
	got, obj = r.says(t)
	expect(t, "True BinariesPresent: the programs are on disk", got)
	expect(t, "[{kube-apiserver a} {kube-scheduler b}]", fmt.Sprint(obj.Status.Binaries))
}

func TestReleaseDownloaded(t *testing.T) {
	r := newRelease(t, "v1.33.2", v1alpha1.ReleaseSource{Download: &v1alpha1.ReleaseDownload{BaseURL: "https://example.com/release"}})
	const loading = "False Progressing: the programs are being downloaded from https://example.com/release"
	for range 2 { // one download, however often it is looked at
		got, _ := r.says(t)
		expect(t, loading, got)
	}
	r.result <- errors.New("the other side is down")
	expect(t, r.name, <-r.notified)
	for range 2 { // a look before its time begins no other download and forgets no cause
		got, obj := r.says(t)
		expect(t, "False FetchFailed: the other side is down", got)
		if obj.Status.NextRetryTime == nil {
			t.Error("a failed download must say when it is tried again")
		}
	}
	r.retryNow()
	got, _ := r.says(t)
	expect(t, loading, got)
	r.result <- nil
	expect(t, r.name, <-r.notified)
	got, obj := r.says(t)
	expect(t, "True BinariesPresent: the programs are on disk", got)
	if obj.Status.NextRetryTime != nil {
		t.Error("nextRetryTime is still set")
	}
}

func TestReleaseInUse(t *testing.T) {
	r := newRelease(t, "v1.33.3", v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}})
	namespace := controlplanetest.Namespace(t, r.client)
	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "user"}, Spec: v1alpha1.ControlPlaneSpec{Version: r.name}}
	if err := r.client.Create(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	_, obj := r.says(t)
	if err := r.client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	got, _ := r.says(t)
	expect(t, "False InUse: still run by "+namespace+"/user", got)
	if err := r.client.Delete(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	if _, err := r.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: r.name}}); err != nil {
		t.Fatal(err)
	}
	if err := r.client.Get(t.Context(), client.ObjectKey{Name: r.name}, obj); !apierrors.IsNotFound(err) {
		t.Errorf("nothing runs it and it is still there: %v", err)
	}
}

func TestDataStore(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := controlplanetest.Namespace(t, c)
	ds := &v1alpha1.DataStore{ObjectMeta: metav1.ObjectMeta{Name: "store-" + namespace}, Spec: v1alpha1.DataStoreSpec{
		Endpoints: []string{"https://127.0.0.1:1"}, CredentialsRef: v1alpha1.SecretReference{Namespace: namespace, Name: "root"},
	}}
	if err := c.Create(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	stores := NewDataStores(c, c)
	// Through a cache that has not heard of the control plane yet.
	r := NewDataStoreReconciler(operatortest.Stale(c, &v1alpha1.ControlPlane{}), stores, FixedGates{}, nil)
	key := client.ObjectKeyFromObject(ds)
	run(t, r, c, key, ds)
	expect(t, "False CredentialsInvalid: spec.credentialsRef: there is no Secret "+namespace+"/root", said(ds, v1alpha1.ConditionConnected))

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "root"}, Data: map[string][]byte{"root.crt": []byte("x")}}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	run(t, r, c, key, ds)
	if c := apimeta.FindStatusCondition(ds.Status.Conditions, v1alpha1.ConditionConnected); c.Reason != v1alpha1.ReasonCredentialsInvalid {
		t.Errorf("want the credentials to be named, got %v", c)
	}

	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "user"}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.3", DataStoreName: ds.Name}}
	if err := c.Create(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	run(t, r, c, key, ds)
	expect(t, "False KeyspacesRemain: control planes that still have a keyspace here: 1; delete them first", said(ds, v1alpha1.ConditionConnected))
	if err := c.Delete(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, ds); !apierrors.IsNotFound(err) {
		t.Errorf("no control plane uses it and it is still there: %v", err)
	}
	stores.client = lateCache{c, ds.DeepCopy()}
	if _, err := stores.Open(t.Context(), ds.Name); !errors.Is(err, ErrStoreNotFound) {
		t.Errorf("a look at it from before it went: %v", err)
	}
}

// lateCache has not heard that a DataStore is gone.
type lateCache struct {
	client.Client
	gone *v1alpha1.DataStore
}

func (l lateCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if into, ok := o.(*v1alpha1.DataStore); ok && key.Name == l.gone.Name {
		l.gone.DeepCopyInto(into)
		return nil
	}
	return l.Client.Get(ctx, key, o, opts...)
}
