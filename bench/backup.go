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
	"text/tabwriter"
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
	// Alone, Backup, Restore and Recorded are what calls of the other tenant take meanwhile.
	Alone    apiTimes `json:"alone"`
	Recorded apiTimes `json:"recorded"`
	Backup   apiTimes `json:"backup"`
	Restore  apiTimes `json:"restore"`
}

const (
	actSnapshot, actFirst, actAgain, actMoment, actRestore = "etcd snapshot", "backup, first", "backup, again", "backup of a moment", "restore, with its restart"
	// backupObjects of backupObject bytes each, which do not compress, are in the cluster.
	backupObjects, backupObject = 300, 200 << 10
	backupRounds                = 3
	backupSchedule              = "recorded"
)

// backups measures a cluster with much in it, and another one beside it.
func backups(ctx context.Context, inst *installation, long time.Duration) (r backupResult, err error) {
	r.Seconds = map[string][]float64{}
	maps := map[string]corev1client.ConfigMapInterface{}
	for _, name := range []string{"bystander", "large"} {
		if _, err := clusterStart(ctx, inst, name); err != nil {
			return r, err
		}
		kubeconfig, err := awaitKubeconfig(ctx, inst, name+"-kubeconfig")
		if err != nil {
			return r, err
		}
		path := filepath.Join(inst.dir, name+".kubeconfig")
		if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
			return r, err
		}
		if maps[name], err = configMaps(path); err != nil {
			return r, err
		}
	}
	own, err := maps["bystander"].Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}}, metav1.CreateOptions{})
	if err != nil {
		return r, err
	}
	if err := fillLarge(ctx, maps["large"]); err != nil {
		return r, err
	}
	if r.Alone, _, err = bystand(ctx, maps["bystander"], own, long); err != nil {
		return r, err
	}
	b := &backupBench{inst: inst, result: &r, maps: maps["large"]}
	if err := b.snapshot(ctx); err != nil {
		return r, err
	}
	for _, part := range []struct {
		into *apiTimes
		act  func(context.Context) error
	}{{&r.Backup, b.backUp}, {&r.Recorded, b.record}, {&r.Restore, b.restore}} {
		if *part.into, err = beside(ctx, maps["bystander"], own, part.act); err != nil {
			return r, err
		}
	}
	return r, inst.deleteAll(ctx, []string{"bystander", "large"})
}

// beside measures the calls of the other tenant while something goes on.
func beside(ctx context.Context, maps corev1client.ConfigMapInterface, own *corev1.ConfigMap, act func(context.Context) error) (apiTimes, error) {
	while, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- act(ctx)
	}()
	times, failed, err := bystand(while, maps, own, time.Hour)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil
	}
	if failed > 1 { // the last one is cut off
		err = errors.Join(err, fmt.Errorf("%d calls of the other tenant failed", failed))
	}
	return times, errors.Join(<-ended, err)
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
	inst   *installation
	result *backupResult
	maps   corev1client.ConfigMapInterface
	n      int
}

// snapshot is what "etcdctl snapshot save" does.
func (b *backupBench) snapshot(ctx context.Context) error {
	tls, err := datastore.RootTLS(b.inst.store["ca.crt"], b.inst.store["root.crt"], b.inst.store["root.key"])
	if err != nil {
		return err
	}
	store, err := datastore.Open(ctx, datastore.Config{Endpoints: []string{b.inst.endpoint}, TLS: tls})
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
		file, err := os.Create(filepath.Join(b.inst.dir, "bench.snapshot"))
		if err != nil {
			return err
		}
		size, err := io.Copy(file, stream)
		if err := errors.Join(err, file.Sync(), file.Close(), stream.Close()); err != nil {
			return err
		}
		b.took(actSnapshot, begin)
		b.result.SnapshotBytes = size
	}
	return nil
}

func (b *backupBench) took(act string, begin time.Time) {
	b.result.Seconds[act] = append(b.result.Seconds[act], time.Since(begin).Seconds())
}

// made creates an object and waits until it is ready.
func (b *backupBench) made(ctx context.Context, act string, o operator.Object) error {
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

func (b *backupBench) backup(at *metav1.Time) *v1alpha1.Backup {
	b.n++
	return &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%d", b.n)}, Spec: v1alpha1.BackupSpec{ClusterName: "large", AsOfTime: at}}
}

func (b *backupBench) backUp(ctx context.Context) error {
	first := b.backup(nil)
	if err := b.made(ctx, actFirst, first); err != nil {
		return err
	}
	b.result.Bytes = first.Status.Size.Value()
	for range backupRounds {
		if err := b.made(ctx, actAgain, b.backup(nil)); err != nil {
			return err
		}
	}
	return nil
}

// record has changes recorded while each object is written once, and makes backups of moments then.
func (b *backupBench) record(ctx context.Context) error {
	s := &v1alpha1.BackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: backupSchedule},
		Spec:       v1alpha1.BackupScheduleSpec{ClusterName: "large", Schedule: "@yearly", RecoveryWindowHours: 1},
	}
	if err := b.made(ctx, "schedule", s); err != nil {
		return err
	}
	for s.Status.EarliestRecoveryTime == nil || s.Status.EarliestRecoveryTime.After(time.Now()) {
		if err := b.inst.admin.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
	}
	for n := range backupObjects {
		patch := []byte(fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n))
		if _, err := b.maps.Patch(ctx, fmt.Sprintf("large-%03d", n), "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	for range backupRounds {
		at := metav1.NewTime(time.Now().Truncate(time.Second))
		if err := b.made(ctx, actMoment, b.backup(&at)); err != nil {
			return err
		}
	}
	return nil
}

// restore removes all that was filled in, and restores it.
func (b *backupBench) restore(ctx context.Context) error {
	for n := range backupRounds {
		if err := b.maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
		rs := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("r%d", n)}, Spec: v1alpha1.RestoreSpec{BackupName: "b1"}}
		if err := b.made(ctx, actRestore, rs); err != nil {
			return err
		}
	}
	return nil
}

func (r backupResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	const mega = 1e6
	base := float64(r.SnapshotBytes) / mega / median(r.Seconds[actSnapshot])
	fmt.Fprintf(w, "\nBACKUPS\tMB\ttook p50\tMB/s\tRATIO to the snapshot\n%s\t%.0f\t%.2fs\t%.0f\t1\n", actSnapshot, float64(r.SnapshotBytes)/mega, median(r.Seconds[actSnapshot]), base)
	for _, act := range []string{actFirst, actAgain, actMoment, actRestore} {
		rate := float64(r.Bytes) / mega / median(r.Seconds[act])
		fmt.Fprintf(w, "%s\t%.0f\t%.2fs\t%.0f\t%.2f\n", act, float64(r.Bytes)/mega, median(r.Seconds[act]), rate, rate/base)
	}
	fmt.Fprint(w, "\nANOTHER TENANT MEANWHILE\tp50\tp99\tRATIO to alone p50\tp99\n")
	for _, part := range []struct {
		name string
		of   apiTimes
	}{{"alone", r.Alone}, {"backups", r.Backup}, {"changes recorded, moments", r.Recorded}, {"restores", r.Restore}} {
		for _, call := range []string{neighbourGet, neighbourUpdate} {
			fmt.Fprintf(w, "%s: %s\t%.1fms\t%.1fms\t%.2f\t%.2f\n", part.name, call, 1000*median(part.of[call]), 1000*p99(part.of[call]),
				median(part.of[call])/median(r.Alone[call]), p99(part.of[call])/p99(r.Alone[call]))
		}
	}
	_ = w.Flush()
}
