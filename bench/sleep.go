package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// sleepResult is how long a client waits that wakes a cluster, beside the start of the same API server by hand over a keyspace that has its
// first objects.
type sleepResult struct {
	Wake []float64 `json:"wake"` // seconds until the first answer
	Bare []times   `json:"bare"`
}

// sleeps measures in turn.
func sleeps(ctx context.Context, inst *installation, runs int) (r sleepResult, err error) {
	const name = "sleeps"
	if _, err := clusterStart(ctx, inst, name); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, inst.deleteAll(context.WithoutCancel(ctx), []string{name})) }()
	for n := range runs {
		bare, err := bareRestart(ctx, inst, 2000+n)
		if err != nil {
			return r, fmt.Errorf("start a bare API server: %w", err)
		}
		wake, err := wakeOnce(ctx, inst, name)
		if err != nil {
			return r, fmt.Errorf("wake cluster %s: %w", name, err)
		}
		r.Bare, r.Wake = append(r.Bare, bare), append(r.Wake, wake)
	}
	return r, nil
}

// bareRestart is bareStart over a keyspace in which an API server has written what it writes when it starts for the first time.
func bareRestart(ctx context.Context, inst *installation, n int) (times, error) {
	store, err := openStore(ctx, inst)
	if err != nil {
		return times{}, err
	}
	keyspace, err := datastore.NewKeyspace(fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", n))
	if err == nil {
		err = store.Ensure(ctx, keyspace, datastore.ReadWrite)
	}
	if err != nil {
		return times{}, errors.Join(err, store.Close())
	}
	took, err := bareRun(ctx, inst, keyspace)
	if err == nil {
		took, err = bareRun(ctx, inst, keyspace)
	}
	return took, errors.Join(err, store.Remove(context.WithoutCancel(ctx), keyspace), store.Close())
}

// wakeOnce puts a cluster to sleep, and asks for its namespaces once nothing of it runs.
func wakeOnce(ctx context.Context, inst *installation, name string) (float64, error) {
	now := time.Now().UTC().Format(time.RFC3339)
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"hibernation":{"asleep":true,"sleepRequestTime":%q}}}`, now))
	cluster := &v1alpha1.Cluster{}
	cluster.Namespace, cluster.Name = namespace, name
	if err := inst.admin.Patch(ctx, cluster, patch); err != nil {
		return 0, err
	}
	if err := awaitAsleep(ctx, inst, name); err != nil {
		return 0, err
	}
	kubeconfig, err := awaitKubeconfig(ctx, inst, name+"-kubeconfig")
	if err != nil {
		return 0, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return 0, err
	}
	keys, err := rest.TLSConfigFor(config)
	if err != nil {
		return 0, err
	}
	caller := &http.Client{Transport: &http.Transport{TLSClientConfig: keys, DisableKeepAlives: true}}
	begin := time.Now()
	if err := awaitOK(ctx, caller, config.Host+namespacesPath); err != nil {
		return 0, err
	}
	took := time.Since(begin).Seconds()
	return took, awaitReady(ctx, inst, name)
}

func awaitAsleep(ctx context.Context, inst *installation, name string) error {
	w, err := inst.admin.Watch(ctx, &v1alpha1.ControlPlaneList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if cp, ok := event.Object.(*v1alpha1.ControlPlane); ok && cp.Status.Asleep {
			return nil
		}
	}
	return fmt.Errorf("wait until control plane %s sleeps: the watch ended", name)
}

func (r *sleepResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprint(w, "\nFIRST ANSWER OF A CLUSTER THAT SLEPT\tWOKEN p50\tp100\tBARE START p50\tp100\tRATIO p50\n")
	for _, row := range []struct {
		name string
		of   func(times) float64
	}{{"bare first answer", func(t times) float64 { return t.Answer }}, {"bare /readyz", func(t times) float64 { return t.Ready }}} {
		bare := pick(r.Bare, row.of)
		fmt.Fprintf(w, "%d in turn, %s\t%.2fs\t%.2fs\t%.2fs\t%.2fs\t%.2f\n", len(r.Wake), row.name,
			median(r.Wake), slices.Max(r.Wake), median(bare), slices.Max(bare), median(r.Wake)/median(bare))
	}
	_ = w.Flush()
}
