package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/confine"
)

// What goes on beside the other tenant. The steps of a restore begin with besideRestores.
const (
	besideAlone    = "alone"
	besideBackups  = "backups"
	besideRecorded = "changes recorded, moments"
	besideBare     = "restart of a bare API server"
	besideDeletes  = "deletion of all by the cluster's user"
	besideRestores = "restores"
)

// bareWeight is the share of the processors that the programs of a control plane get together.
const bareWeight = 160

// restoreSteps are the conditions of a Restore, and what goes on until each is true.
var restoreSteps = []struct{ condition, beside string }{
	{v1alpha1.ConditionBackupWhole, besideRestores + ": backup is read"},
	{v1alpha1.ConditionControlPlaneStopped, besideRestores + ": control plane stops"},
	{v1alpha1.ConditionStateSaved, besideRestores + ": state is saved"},
	{v1alpha1.ConditionStateWritten, besideRestores + ": state is written"},
	{v1alpha1.ConditionServing, besideRestores + ": control plane starts"},
}

// bystander is the other tenant.
type bystander struct {
	maps corev1client.ConfigMapInterface
	own  *corev1.ConfigMap

	mu    sync.Mutex
	goes  string // what goes on
	times map[string]apiTimes
}

// during says what goes on from now; nothing when it is not to be measured.
func (b *bystander) during(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.goes = what
}

func (b *bystander) note(call string, begin time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.goes == "" {
		return
	}
	if b.times[b.goes] == nil {
		b.times[b.goes] = apiTimes{}
	}
	b.times[b.goes].note(call, begin)
}

// aloneFor measures the calls of the other tenant while nothing goes on.
func (b *bystander) aloneFor(ctx context.Context, long time.Duration) error {
	b.during(besideAlone)
	return b.measure(ctx, long)
}

// measure measures the calls of the other tenant for a time.
func (b *bystander) measure(ctx context.Context, long time.Duration) error {
	failed, err := bystand(ctx, b.maps, b.own, long, b.note)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d calls failed of a tenant that was alone", failed)
	}
	return err
}

// beside measures the calls of the other tenant while something goes on.
func (b *bystander) beside(ctx context.Context, what string, act func(context.Context) error) error {
	b.during(what)
	while, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- act(ctx)
	}()
	failed, err := bystand(while, b.maps, b.own, time.Hour, b.note)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil
	}
	if failed > 1 { // the last one is cut off
		err = errors.Join(err, fmt.Errorf("%d calls of the other tenant failed", failed))
	}
	return errors.Join(<-ended, err)
}

// restores measures in turn: the other tenant alone, beside the restart of a bare API server, and beside a restore.
func (b *backupBench) restores(ctx context.Context, alone time.Duration) (err error) {
	store, err := openStore(ctx, b.inst)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	keyspace, err := datastore.NewKeyspace("bbbbbbbb-0000-4000-8000-000000004000")
	if err == nil {
		err = store.Ensure(ctx, keyspace, datastore.ReadWrite)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Remove(context.WithoutCancel(ctx), keyspace)) }()
	if err := b.fillBare(ctx, store, keyspace); err != nil {
		return fmt.Errorf("fill a keyspace for a bare API server: %w", err)
	}
	for n := range backupRounds {
		if err := b.other.aloneFor(ctx, alone); err != nil {
			return err
		}
		if err := b.other.beside(ctx, besideBare, func(ctx context.Context) error { return b.restartBare(ctx, keyspace) }); err != nil {
			return err
		}
		if err := b.other.beside(ctx, "", func(ctx context.Context) error { return b.restore(ctx, n) }); err != nil {
			return err
		}
	}
	return nil
}

// fillBare has a bare API server write what it writes at first, and gives it the ConfigMaps of the cluster.
func (b *backupBench) fillBare(ctx context.Context, store *datastore.Store, into datastore.Keyspace) error {
	if _, err := bareRun(ctx, b.inst, into); err != nil {
		return err
	}
	cluster := &v1alpha1.ControlPlane{}
	if err := b.inst.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "large"}, cluster); err != nil {
		return err
	}
	from, err := datastore.NewKeyspace(string(cluster.UID))
	if err != nil {
		return err
	}
	const folder = "configmaps/"
	others := func(e datastore.Entry) bool { return !strings.HasPrefix(e.Key, folder) }
	return store.State(into).Bring(ctx, 0, store.State(from).Below(ctx, folder), others, func(datastore.Change) {})
}

// restartBare starts an API server by hand over as much as the cluster has, with the share of the processors that a control plane gets.
func (b *backupBench) restartBare(ctx context.Context, keyspace datastore.Keyspace) (err error) {
	s, err := prepareBare(ctx, b.inst, keyspace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	if err := s.cmd.Start(); err != nil {
		return err
	}
	group := confine.NewGroup(fmt.Sprintf("bench-%d", s.cmd.Process.Pid))
	err = group.Hold(s.cmd.Process.Pid, confine.Limits{Weight: bareWeight})
	if err == nil {
		err = awaitOK(ctx, s.caller, s.url+"/readyz")
	}
	return errors.Join(err, s.kill(), group.Release(ctx))
}

// restore removes all that was filled in, and restores it.
func (b *backupBench) restore(ctx context.Context, n int) error {
	b.other.during(besideDeletes)
	if err := b.maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	rs := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("r%d", n)}, Spec: v1alpha1.RestoreSpec{BackupName: "b1"}}
	step, entered := 0, time.Now()
	b.other.during(restoreSteps[step].beside)
	return b.made(ctx, actRestore, rs, func() {
		for step < len(restoreSteps)-1 && apimeta.IsStatusConditionTrue(rs.Status.Conditions, restoreSteps[step].condition) {
			if restoreSteps[step].condition == v1alpha1.ConditionStateWritten {
				b.took(actRestoreWrite, entered)
			}
			step, entered = step+1, time.Now()
			b.other.during(restoreSteps[step].beside)
		}
	})
}

// together are the calls beside all steps of restores.
func (r *backupResult) together() apiTimes {
	all := apiTimes{}
	for _, step := range restoreSteps {
		for call, took := range r.Meanwhile[step.beside] {
			all[call] = append(all[call], took...)
		}
	}
	return all
}

func (r *backupResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	const mega = 1e6
	rate := func(act string, bytes int64) float64 { return float64(bytes) / mega / median(r.Seconds[act]) }
	fmt.Fprint(w, "\nBACKUPS AND RESTORES\tMB\ttook p50\tMB/s\tRATIO to etcd's\n")
	for _, row := range []struct {
		act, beside string
		bytes       int64
	}{
		{actSnapshot, actSnapshot, r.SnapshotBytes}, {actFirst, actSnapshot, r.Bytes}, {actAgain, actSnapshot, r.Bytes}, {actMoment, actSnapshot, r.Bytes},
		{actSnapshotRestore, actSnapshotRestore, r.SnapshotBytes}, {actRestoreWrite, actSnapshotRestore, r.Bytes}, {actRestore, actSnapshotRestore, r.Bytes},
	} {
		fmt.Fprintf(w, "%s\t%.0f\t%.2fs\t%.0f\t%.2f\n", row.act, float64(row.bytes)/mega, median(r.Seconds[row.act]), rate(row.act, row.bytes),
			rate(row.act, row.bytes)/rate(row.beside, r.SnapshotBytes))
	}
	fmt.Fprint(w, "\nANOTHER TENANT MEANWHILE\tcalls\tp50\tp99\tRATIO to alone p50\tp99\tto the bare restart p99\n")
	alone, bare := r.Meanwhile[besideAlone], r.Meanwhile[besideBare]
	row := func(name string, of apiTimes) {
		for _, call := range []string{neighbourGet, neighbourUpdate} {
			if len(of[call]) == 0 {
				continue
			}
			fmt.Fprintf(w, "%s: %s\t%d\t%.1fms\t%.1fms\t%.2f\t%.2f\t%.2f\n", name, call, len(of[call]), 1000*median(of[call]), 1000*p99(of[call]),
				median(of[call])/median(alone[call]), p99(of[call])/p99(alone[call]), p99(of[call])/p99(bare[call]))
		}
	}
	for _, what := range []string{besideAlone, besideBackups, besideRecorded, besideDeletes, besideBare} {
		row(what, r.Meanwhile[what])
	}
	row(besideRestores, r.together())
	for _, step := range restoreSteps {
		row(step.beside, r.Meanwhile[step.beside])
	}
	_ = w.Flush()
}
