package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/operator"
)

// backupResult is what backups and restores of a cluster take, and what they do to another tenant.
type backupResult struct {
	// Bytes of the cluster's objects, and SnapshotBytes of the snapshot of the whole etcd.
	Bytes         int64 `json:"bytes"`
	SnapshotBytes int64 `json:"snapshotBytes"`
	// Seconds of each act, by its name.
	Seconds map[string][]float64 `json:"seconds"`
	// Meanwhile are the calls of the other tenant, by what goes on.
	Meanwhile map[string]apiTimes `json:"meanwhile"`
}

const (
	actSnapshot, actSnapshotRestore = "etcdctl snapshot save", "etcdutl snapshot restore"
	actFirst, actAgain, actMoment   = "backup, first", "backup, again", "backup of a moment"
	actRestore, actRestoreWrite     = "restore, until all is ready", "restore, its writes alone"
	// backupObjects of backupObject bytes each, which do not compress, are in the cluster.
	backupObjects, backupObject = 300, 200 << 10
	backupRounds                = 5
	backupSchedule              = "recorded"
)

// backups measures a cluster with much in it, and another one beside it.
func backups(ctx context.Context, inst *installation, long time.Duration) (r backupResult, err error) {
	b, err := newBackupBench(ctx, inst, "large")
	if err != nil {
		return r, err
	}
	if err := fillLarge(ctx, b.maps); err != nil {
		return r, err
	}
	if err := b.snapshot(ctx); err != nil {
		return r, err
	}
	for _, part := range []struct {
		what string
		act  func(context.Context) error
	}{{besideBackups, b.backUp}, {besideRecorded, b.record}} {
		if err := b.other.aloneFor(ctx, long/backupRounds); err != nil {
			return r, err
		}
		if err := b.other.beside(ctx, part.what, part.act); err != nil {
			return r, err
		}
	}
	err = b.restores(ctx, long/backupRounds)
	r = backupResult{Bytes: b.bytes, SnapshotBytes: b.snapshotBytes, Seconds: b.seconds, Meanwhile: b.other.times}
	return r, errors.Join(err, inst.deleteAll(ctx, []string{"bystander", "large"}))
}

func fillLarge(ctx context.Context, maps corev1client.ConfigMapInterface) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for n := range backupObjects {
		group.Go(func() error {
			data := make([]byte, backupObject/2)
			_, _ = rand.Read(data)
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%03d", n)}, Data: map[string]string{"data": hex.EncodeToString(data)}}
			_, err := maps.Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

// backupBench measures one act after the other.
type backupBench struct {
	inst                 *installation
	maps                 corev1client.ConfigMapInterface
	other                *bystander
	seconds              map[string][]float64
	bytes, snapshotBytes int64
	n                    int
}

// newBackupBench creates the other tenant's cluster, and one that is backed up and restored.
func newBackupBench(ctx context.Context, inst *installation, cluster string) (*backupBench, error) {
	b := &backupBench{inst: inst, seconds: map[string][]float64{}, other: &bystander{times: map[string]apiTimes{}}}
	for name, maps := range map[string]*corev1client.ConfigMapInterface{"bystander": &b.other.maps, cluster: &b.maps} {
		path, err := tenantCluster(ctx, inst, name)
		if err != nil {
			return nil, err
		}
		if *maps, err = configMaps(path); err != nil {
			return nil, err
		}
	}
	var err error
	b.other.own, err = b.other.maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}}, metav1.CreateOptions{})
	return b, err
}

// snapshot is what "etcdctl snapshot save" and "etcdutl snapshot restore" do, by the packages that these are made of.
func (b *backupBench) snapshot(ctx context.Context) error {
	store, err := openStore(ctx, b.inst)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	snapshots := datastore.SnapshotsOf(store)
	for range backupRounds {
		begin := time.Now()
		stream, err := snapshots.Snapshot(ctx)
		if err != nil {
			return err
		}
		path, dir := filepath.Join(b.inst.dir, "bench.snapshot"), filepath.Join(b.inst.dir, "bench.restored")
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		size, err := io.Copy(file, stream)
		if err := errors.Join(err, file.Sync(), file.Close(), stream.Close()); err != nil {
			return err
		}
		b.took(actSnapshot, begin)
		b.snapshotBytes = size
		begin = time.Now()
		if err := datastore.Restore("bench", path, dir); err != nil {
			return err
		}
		b.took(actSnapshotRestore, begin)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

func (b *backupBench) took(act string, begin time.Time) {
	b.seconds[act] = append(b.seconds[act], time.Since(begin).Seconds())
}

// made creates an object and waits until it is ready. seen is called with each look at it.
func (b *backupBench) made(ctx context.Context, act string, o operator.Object, seen func()) error {
	o.SetNamespace(namespace)
	begin := time.Now()
	if err := b.inst.admin.Create(ctx, o); err != nil {
		return err
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if err := b.inst.admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		seen()
		if apimeta.IsStatusConditionTrue(o.Shared().Conditions, v1alpha1.ConditionReady) {
			b.took(act, begin)
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", act, ctx.Err())
		}
	}
}

func unseen() {}

func (b *backupBench) backup(at *metav1.Time) *v1alpha1.Backup {
	b.n++
	return &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%d", b.n)}, Spec: v1alpha1.BackupSpec{ClusterName: "large", AsOfTime: at}}
}

func (b *backupBench) backUp(ctx context.Context) error {
	first := b.backup(nil)
	if err := b.made(ctx, actFirst, first, unseen); err != nil {
		return err
	}
	b.bytes = first.Status.Size.Value()
	for range backupRounds {
		if err := b.made(ctx, actAgain, b.backup(nil), unseen); err != nil {
			return err
		}
	}
	return nil
}

// recordOf has the changes of a cluster recorded from now on.
func (b *backupBench) recordOf(ctx context.Context, cluster string) error {
	s := &v1alpha1.BackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: backupSchedule + "-" + cluster},
		Spec:       v1alpha1.BackupScheduleSpec{ClusterName: cluster, Schedule: "@yearly", RecoveryWindowHours: 1},
	}
	if err := b.made(ctx, "schedule", s, unseen); err != nil {
		return err
	}
	for s.Status.EarliestRecoveryTime == nil || s.Status.EarliestRecoveryTime.After(time.Now()) {
		if err := b.inst.admin.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
	}
	return nil
}

// record has changes recorded while each object is written once, and makes backups of moments then.
func (b *backupBench) record(ctx context.Context) error {
	if err := b.recordOf(ctx, "large"); err != nil {
		return err
	}
	for n := range backupObjects {
		patch := []byte(fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n))
		if _, err := b.maps.Patch(ctx, fmt.Sprintf("large-%03d", n), "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	for range backupRounds {
		at := metav1.NewTime(time.Now().Truncate(time.Second))
		if err := b.made(ctx, actMoment, b.backup(&at), unseen); err != nil {
			return err
		}
	}
	return nil
}
