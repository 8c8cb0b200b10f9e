package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/release"
)

// upgradeResult is how long the upgrade of a control plane takes, beside one by hand: the API server of the older version is ended, and
// that of the newer one started over the same keyspace.
type upgradeResult struct {
	From    string    `json:"from"`
	To      string    `json:"to"`
	Upgrade []float64 `json:"upgrade"` // seconds until the Upgrade says that all has the new version
	Bare    []float64 `json:"bare"`    // seconds from the signal until /readyz
}

// upgrades measures in turn, each time with a new cluster without nodes.
func upgrades(ctx context.Context, inst *installation, runs int) (r upgradeResult, err error) {
	all, err := release.NewStore(inst.releases).List()
	if err != nil {
		return r, err
	}
	if len(all) < 2 {
		return r, errors.New("an upgrade needs two releases; run: make kubernetes")
	}
	older := *inst
	older.binaries = all[len(all)-2]
	r.From, r.To = older.version(), inst.version()
	for n := range runs {
		bare, err := bareUpgrade(ctx, &older, inst, 3000+n)
		if err != nil {
			return r, fmt.Errorf("upgrade a bare API server: %w", err)
		}
		took, err := upgradeOnce(ctx, &older, inst, fmt.Sprintf("upgrades-%d", n))
		if err != nil {
			return r, err
		}
		r.Bare, r.Upgrade = append(r.Bare, bare), append(r.Upgrade, took)
	}
	return r, nil
}

func upgradeOnce(ctx context.Context, older, newer *installation, name string) (took float64, err error) {
	if _, err := clusterStart(ctx, older, name); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, newer.deleteAll(context.WithoutCancel(ctx), []string{name})) }()
	u := &v1alpha1.Upgrade{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	u.Spec.ClusterName, u.Spec.Version, u.Spec.Backup = name, newer.version(), ptr.To(false)
	begin := time.Now()
	if err := newer.admin.Create(ctx, u); err != nil {
		return 0, err
	}
	w, err := newer.admin.Watch(ctx, &v1alpha1.UpgradeList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if now, ok := event.Object.(*v1alpha1.Upgrade); ok && apimeta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionReady) {
			return time.Since(begin).Seconds(), nil
		}
	}
	return 0, fmt.Errorf("wait for the upgrade of cluster %s: the watch ended", name)
}

// bareUpgrade has the API server of the older version write what it writes at first, ends it, and starts that of the newer one.
func bareUpgrade(ctx context.Context, older, newer *installation, n int) (took float64, err error) {
	store, err := openStore(ctx, newer)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	keyspace, err := datastore.NewKeyspace(fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", n))
	if err == nil {
		err = store.Ensure(ctx, keyspace, datastore.ReadWrite)
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Remove(context.WithoutCancel(ctx), keyspace)) }()
	first, err := prepareBare(ctx, older, keyspace)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, first.remove()) }()
	second, err := prepareBare(ctx, newer, keyspace)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, second.remove()) }()
	if err := first.cmd.Start(); err != nil {
		return 0, err
	}
	if err := awaitOK(ctx, first.caller, first.url+"/readyz"); err != nil {
		return 0, errors.Join(err, first.kill())
	}
	first.caller.CloseIdleConnections()
	begin := time.Now()
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, errors.Join(err, first.kill())
	}
	late := time.AfterFunc(first.grace, func() { _ = first.cmd.Process.Kill() }) // it may have ended
	_ = first.cmd.Wait()                                                         // it was told to end
	late.Stop()
	if err := second.cmd.Start(); err != nil {
		return 0, err
	}
	err = awaitOK(ctx, second.caller, second.url+"/readyz")
	return time.Since(begin).Seconds(), errors.Join(err, second.kill())
}

func (r *upgradeResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprint(w, "\nUPGRADE OF A CONTROL PLANE\tUPGRADED p50\tp100\tBARE p50\tp100\tRATIO p50\n")
	fmt.Fprintf(w, "%d in turn, %s to %s\t%.2fs\t%.2fs\t%.2fs\t%.2fs\t%.2f\n", len(r.Upgrade), r.From, r.To,
		median(r.Upgrade), slices.Max(r.Upgrade), median(r.Bare), slices.Max(r.Bare), median(r.Upgrade)/median(r.Bare))
	_ = w.Flush()
}
