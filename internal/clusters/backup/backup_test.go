package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/platform/operator"
)

// saysOf is what the condition Ready of an object says.
func saysOf(of operator.Object) string {
	c := apimeta.FindStatusCondition(of.Shared().Conditions, v1alpha1.ConditionReady)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

func TestBackupRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, p *place, spec *v1alpha1.BackupSpec)
		want   string
	}{
		"NoCluster": {func(_ *testing.T, _ *place, spec *v1alpha1.BackupSpec) { spec.ClusterName = "other" }, "spec.clusterName: there is no cluster other"},
		"NoStore":   {func(_ *testing.T, _ *place, spec *v1alpha1.BackupSpec) { spec.StoreName = "other" }, "spec.storeName: there is no BackupStore other"},
		"NotItsStore": {func(t *testing.T, p *place, _ *v1alpha1.BackupSpec) {
			p.changeStore(t, func(s *v1alpha1.BackupStore) { s.Spec.OrganizationNames = []string{"others"} })
		}, "that this organization may use"},
		"TooMany": {func(t *testing.T, p *place, _ *v1alpha1.BackupSpec) {
			p.changeStore(t, func(s *v1alpha1.BackupStore) { s.Spec.MaxBackups = 1 })
			p.backup(t, "a-first")
		}, "has 1 backups in store"},
		"DiskFull": {func(t *testing.T, p *place, _ *v1alpha1.BackupSpec) {
			p.free = leastFree - 1
			p.settle(t, &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: p.store}})
			r := p.reconcilerOf(&v1alpha1.BackupStore{}, nil)
			if _, err := r.Reconcile(t.Context(), requestFor(&v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: p.store}})); err != nil {
				t.Fatal(err)
			}
		}, "which cannot be used now"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			b := &v1alpha1.Backup{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "then"}, Spec: v1alpha1.BackupSpec{ClusterName: "demo", StoreName: p.store},
			}
			c.before(t, p, &b.Spec)
			if err := p.client.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			files := p.files()
			p.settle(t, b)
			if got := saysOf(b); !strings.Contains(got, c.want) || b.IsTaken() || p.files() != files {
				t.Errorf("got %q, taken=%v; want %q and no file", got, b.IsTaken(), c.want)
			}
		})
	}
}

func requestFor(of client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(of)}
}

func (p *place) changeStore(t *testing.T, change func(*v1alpha1.BackupStore)) {
	t.Helper()
	store := &v1alpha1.BackupStore{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Name: p.store}, store); err != nil {
		t.Fatal(err)
	}
	change(store)
	if err := p.client.Update(t.Context(), store); err != nil {
		t.Fatal(err)
	}
}

// spoil changes a byte in each file of backups whose name begins so.
func (p *place) spoil(folder string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, files := range p.folders {
		for name, data := range files {
			if strings.HasPrefix(name, folder) {
				data[len(data)/2] ^= 1
			}
		}
	}
}

// TestDamagedBackup: what is damaged later is found by the next look, and refused before anything is touched.
func TestDamagedBackup(t *testing.T) {
	for _, folder := range []string{"backups/", "chunks/"} {
		t.Run(folder, func(t *testing.T) {
			p := newPlace(t)
			b := p.backup(t, "then")
			p.change()
			before := maps.Clone(p.state)
			p.spoil(folder)
			rs := p.restore(t, false)
			p.settle(t, rs)
			if got := saysOf(rs); !strings.Contains(got, v1alpha1.ReasonRestoreFailed) || rs.Status.WriteStartTime != nil {
				t.Errorf("the restore says %q", got)
			}
			if diff := cmp.Diff(before, p.state); diff != "" || !p.running {
				t.Errorf("the cluster was touched, or stopped: %s", diff)
			}
			p.now = p.now.Add(verifyEvery + time.Minute)
			r := p.reconcilerOf(b, nil)
			for range 3 {
				if _, err := r.Reconcile(t.Context(), requestFor(b)); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
				t.Fatal(err)
			}
			if got := saysOf(b); !strings.Contains(got, "False "+v1alpha1.ReasonBackupDamaged) {
				t.Errorf("the backup says %q", got)
			}
		})
	}
}

func TestRestoreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, p *place)
		want   string
	}{
		"NoBackup": {func(*testing.T, *place) {}, "spec.backupName: there is no backup then"},
		"OtherKey": {func(t *testing.T, p *place) {
			p.backup(t, "then")
			p.changeControlPlane(t, func(s *v1alpha1.ControlPlaneStatus) { s.Trust[0].Fingerprint = "sha256:bb" })
		}, `has another key "encryption"`},
		"Newer": {func(t *testing.T, p *place) {
			p.backup(t, "then")
			p.changeControlPlane(t, func(s *v1alpha1.ControlPlaneStatus) { s.Version = "v1.35.1" })
		}, "the backup is of v1.36.2 and the cluster runs v1.35.1"},
		"ClusterGone": {func(t *testing.T, p *place) {
			p.backup(t, "then")
			cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}}
			if err := p.client.Delete(t.Context(), cp); err != nil {
				t.Fatal(err)
			}
		}, "the cluster of backup then is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.before(t, p)
			rs := p.restore(t, false)
			p.settle(t, rs)
			if got := saysOf(rs); !strings.Contains(got, c.want) || !p.running {
				t.Errorf("got %q; want %q, and the API server to run", got, c.want)
			}
			if found := name != "NoBackup"; (rs.Status.ClusterName == "demo") != found {
				t.Errorf("it is of cluster %q, and its backup was found: %v", rs.Status.ClusterName, found)
			}
		})
	}
}

func (p *place) changeControlPlane(t *testing.T, change func(*v1alpha1.ControlPlaneStatus)) {
	t.Helper()
	cp := &v1alpha1.ControlPlane{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cp); err != nil {
		t.Fatal(err)
	}
	change(&cp.Status)
	if err := p.client.Status().Update(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
}

// TestRestore: the cluster is as it was, its nodes are as they are, and another restore undoes it.
func TestRestore(t *testing.T) {
	p := newPlace(t)
	p.backup(t, "then")
	p.change()
	changed := maps.Clone(p.state)
	rs := p.restore(t, false)
	p.settle(t, rs)
	if rs.Status.CompletionTime == nil || len(p.wrong) > 0 {
		t.Fatalf("%s; %v", saysOf(rs), p.wrong)
	}
	want := map[string]string{"configmaps/default/a": "1", "minions/n": "now"}
	if diff := cmp.Diff(want, p.state); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&v1alpha1.RestoreChanges{Changed: 1, Removed: 1, First: []string{"~ configmaps/default/a", "- configmaps/default/b"}}, rs.Status.Changes); diff != "" {
		t.Error(diff)
	}
	undo := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "undo"}, Spec: v1alpha1.RestoreSpec{BackupName: rs.Status.Saved}}
	if err := p.client.Create(t.Context(), undo); err != nil {
		t.Fatal(err)
	}
	p.settle(t, undo)
	if diff := cmp.Diff(changed, p.state); diff != "" || undo.Status.CompletionTime == nil {
		t.Errorf("%s\n%s", saysOf(undo), diff)
	}
}

// TestRestoreWithoutSpace: a restore for which the data store has no space touches nothing, and goes on when there is some. What only removes
// needs none.
func TestRestoreWithoutSpace(t *testing.T) {
	p := newPlace(t)
	p.backup(t, "then")
	p.change()
	p.space = 10
	rs := p.restore(t, false)
	p.settle(t, rs)
	if got, want := saysOf(rs), "21 bytes are to be written: the data store has no space for it"; !strings.Contains(got, want) || !p.running {
		t.Errorf("got %q, want %q, and the API server to run", got, want)
	}
	p.space = 31
	p.settle(t, rs)
	if rs.Status.CompletionTime == nil {
		t.Fatal(saysOf(rs))
	}
	p.state["configmaps/default/late"], p.space = "1", -1
	again := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "again"}, Spec: v1alpha1.RestoreSpec{BackupName: "then"}}
	if err := p.client.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	p.settle(t, again)
	if again.Status.CompletionTime == nil || p.state["configmaps/default/late"] != "" {
		t.Errorf("%s; %v", saysOf(again), p.state)
	}
}

// TestRestoreOfSome: what is named is as it was, all else as it is, and what is nowhere is refused before anything is touched.
func TestRestoreOfSome(t *testing.T) {
	object := func(kind, value string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"value":%q}`, kind, value)
	}
	for _, c := range []struct {
		include []string
		want    []string // of the keys, those that are as they were
		says    string
	}{
		{[]string{"ConfigMap/shop/a"}, []string{"configmaps/shop/a"}, "1 added, 0 changed, 0 removed"},
		{[]string{"configmap/shop/*"}, []string{"configmaps/shop/a", "configmaps/shop/late"}, "1 added, 0 changed, 1 removed"},
		{[]string{"Namespace/shop"}, []string{"configmaps/shop/a", "configmaps/shop/late", "namespaces/shop", "secrets/shop/k"}, "1 added, 2 changed, 1 removed"},
		{[]string{"Secret/shop/k", "Node/n"}, []string{"secrets/shop/k"}, "0 added, 1 changed, 0 removed"},
		{[]string{"ConfigMap/shop/a", "ConfigMap.apps/shop/a", "Secret/b"}, nil, "spec.include: neither the backup nor the cluster has ConfigMap.apps/shop/a, Secret/b"},
	} {
		t.Run(strings.Join(c.include, " "), func(t *testing.T) {
			p := newPlace(t)
			then := map[string]string{
				"configmaps/other/a": object("ConfigMap", "then"), "configmaps/shop/a": object("ConfigMap", "then"), "minions/n": object("Node", "then"),
				"namespaces/shop": object("Namespace", "then"), "secrets/shop/k": "k8s:enc:secretbox:v1:then",
			}
			p.state = maps.Clone(then)
			p.backup(t, "then")
			now := map[string]string{
				"configmaps/other/a": object("ConfigMap", "now"), "configmaps/shop/late": object("ConfigMap", "now"), "minions/n": object("Node", "now"),
				"namespaces/shop": object("Namespace", "now"), "secrets/shop/k": "k8s:enc:secretbox:v1:now",
			}
			p.state = maps.Clone(now)
			rs := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "some"}, Spec: v1alpha1.RestoreSpec{BackupName: "then", Include: c.include}}
			if err := p.client.Create(t.Context(), rs); err != nil {
				t.Fatal(err)
			}
			p.settle(t, rs)
			if got := saysOf(rs); !strings.Contains(got, c.says) || !p.running {
				t.Errorf("got %q, want %q, and the API server to run", got, c.says)
			}
			want := maps.Clone(now)
			for _, key := range c.want {
				delete(want, key)
				if value, ok := then[key]; ok {
					want[key] = value
				}
			}
			if diff := cmp.Diff(want, p.state); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestReadWhileRestored: the API server reads on while what its own minor wrote is restored, and is started anew for what another one wrote.
func TestReadWhileRestored(t *testing.T) {
	for wrote, want := range map[string][]bool{"v1.36.1": {true, false}, "v1.35.4": {false, false}} {
		t.Run(wrote, func(t *testing.T) {
			p := newPlace(t)
			p.changeControlPlane(t, func(s *v1alpha1.ControlPlaneStatus) { s.Version = wrote })
			p.backup(t, "then")
			p.change()
			p.changeControlPlane(t, func(s *v1alpha1.ControlPlaneStatus) { s.Version = "v1.36.2" })
			p.readOnly = nil
			rs := p.restore(t, false)
			p.settle(t, rs)
			if !ended(rs) || len(p.wrong) > 0 {
				t.Errorf("the restore says %q: %v", saysOf(rs), p.wrong)
			}
			if diff := cmp.Diff(want, p.readOnly); diff != "" {
				t.Errorf("whether it could only be read: -want +got:\n%s", diff)
			}
		})
	}
}

// TestRestoreMakesWay: the cluster makes way for others from the first look at a restore until shortly after its end, and for no comparison.
func TestRestoreMakesWay(t *testing.T) {
	for compareOnly, want := range map[bool][]time.Duration{true: nil, false: {unfelt, unfeltAfter}} {
		t.Run(fmt.Sprintf("CompareOnly=%t", compareOnly), func(t *testing.T) {
			p := newPlace(t)
			p.backup(t, "then")
			p.change()
			rs := p.restore(t, compareOnly)
			for range 2 { // one that has ended asks for nothing
				p.settle(t, rs)
				if diff := cmp.Diff(want, slices.Compact(slices.Clone(p.ways))); diff != "" || !ended(rs) || len(p.wrong) > 0 {
					t.Errorf("%s (-want +got):\n%s\n%v", saysOf(rs), diff, p.wrong)
				}
			}
		})
	}
}

// TestOneRestoreAtATime: the second one waits for the first, and a backup that one needs is not removed.
func TestOneRestoreAtATime(t *testing.T) {
	p := newPlace(t)
	b := p.backup(t, "then")
	p.changeControlPlaneSpec(t, "another")
	rs := p.restore(t, false)
	p.settle(t, rs)
	if got := saysOf(rs); !strings.Contains(got, v1alpha1.ReasonRestoreWaiting) {
		t.Errorf("the second one says %q", got)
	}
	if err := p.client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p.settle(t, b)
	if got := saysOf(b); b.UID == "" || !strings.Contains(got, "restore back needs it") {
		t.Errorf("the backup says %q", got)
	}
	if err := p.client.Delete(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	p.settle(t, rs)
	p.settle(t, b)
	if gone, err := p.gone(b)(t.Context()); err != nil || !gone || p.files() != 0 {
		t.Errorf("gone=%v, %d files left: %v", gone, p.files(), err)
	}
	cp := &v1alpha1.ControlPlane{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cp); err != nil || cp.Spec.StoppedFor != "another" {
		t.Errorf("the claim of the other one is %q: %v", cp.Spec.StoppedFor, err)
	}
}

func (p *place) changeControlPlaneSpec(t *testing.T, stoppedFor string) {
	t.Helper()
	cp := &v1alpha1.ControlPlane{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cp); err != nil {
		t.Fatal(err)
	}
	cp.Spec.StoppedFor = stoppedFor
	if err := p.client.Update(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
}

// TestFolderHangs: a folder that does not answer is an error, and is looked at once until it does.
func TestFolderHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, calls := make(chan struct{}), atomic.Int32{}
		s := &stores{world: &world{Config: Config{
			Look: func(context.Context, backupstore.Place, string) (int64, error) { calls.Add(1); <-answer; return 7, nil },
		}}}
		store := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: v1alpha1.BackupStoreSpec{Directory: "/mnt/nas"}}
		for range 3 {
			if _, err := s.look(t.Context(), store, backupstore.Place{}); err == nil || err.Error() != "/mnt/nas does not answer: no backup is taken" {
				t.Errorf("got %v", err)
			}
		}
		if calls.Load() != 1 {
			t.Errorf("%d looks hang", calls.Load())
		}
		close(answer)
		synctest.Wait()
		if free, err := s.look(t.Context(), store, backupstore.Place{}); err != nil || free != 7 {
			t.Errorf("got %d, %v", free, err)
		}
	})
}

// TestLostKeys: a store whose keys are gone says so and makes no others, and its backups can still be deleted.
func TestLostKeys(t *testing.T) {
	p := newPlace(t)
	b := p.backup(t, "then")
	store := &v1alpha1.BackupStore{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Name: p.store}, store); err != nil {
		t.Fatal(err)
	}
	secret := storeSecret(store.KeysSecret())
	if err := p.client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if _, err := p.reconcilerOf(store, nil).Reconcile(t.Context(), requestFor(store)); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(store), store); err != nil {
		t.Fatal(err)
	}
	if got := saysOf(store); !strings.Contains(got, "is gone") {
		t.Errorf("the store says %q", got)
	}
	if err := p.client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p.settle(t, b)
	if gone, err := p.gone(b)(t.Context()); err != nil || !gone {
		t.Errorf("the backup says %q: %v", saysOf(b), err)
	}
}

func TestFits(t *testing.T) {
	for name, c := range map[string]struct {
		wrote, runs string
		fits        bool
	}{
		"Same":       {"v1.36.3", "v1.36.3", true},
		"Patch":      {"v1.36.3", "v1.36.1", true},
		"OneNewer":   {"v1.35.1", "v1.36.3", true},
		"TwoNewer":   {"v1.34.1", "v1.36.3", false},
		"Older":      {"v1.36.3", "v1.35.9", false},
		"OtherMajor": {"v2.36.3", "v1.36.3", false},
		"Unknown":    {"", "v1.36.3", false},
	} {
		t.Run(name, func(t *testing.T) {
			if problem := fits(c.wrote, c.runs); (problem == "") != c.fits {
				t.Errorf("got %q", problem)
			}
		})
	}
}

// TestSameMinor: what another minor wrote is served by an API server that starts with it.
func TestSameMinor(t *testing.T) {
	for name, c := range map[string]struct {
		wrote, runs string
		same        bool
	}{
		"Same":       {"v1.36.3", "v1.36.3", true},
		"Patch":      {"v1.36.3", "v1.36.1", true},
		"OneNewer":   {"v1.35.1", "v1.36.3", false},
		"OtherMajor": {"v2.36.3", "v1.36.3", false},
		"Unknown":    {"v1.36.3", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sameMinor(c.wrote, c.runs); got != c.same {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestKeep(t *testing.T) {
	for key, want := range map[string]bool{
		"minions/node-1":                                   true,
		"leases/kube-node-lease/node-1":                    true,
		"leases/kube-system/kube-scheduler":                false,
		"secrets/kube-system/bootstrap-token-abc":          true,
		"secrets/default/bootstrap-token-abc":              false,
		"events/default/x":                                 true,
		"pods/default/web":                                 false,
		"apiextensions.k8s.io/customresourcedefinitions/a": false,
	} {
		if got := Stays(key); got != want {
			t.Errorf("%s: got %v", key, got)
		}
	}
}
