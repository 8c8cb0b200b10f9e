package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// askInterval is the time between two questions whether something answers; it bounds the error of a measurement.
const askInterval = 10 * time.Millisecond

// times are what one start took, in seconds.
type times struct {
	// Answer is until an administrator's request for the list of namespaces was answered.
	Answer float64 `json:"answer"`
	// Ready is until the API server's /readyz, or the Cluster, said so.
	Ready float64 `json:"ready"`
}

// pair is KQueen's times beside the bare program's.
type pair struct {
	KQueen []times `json:"kqueen"`
	Bare   []times `json:"bare"`
}

// oneByOne measures in turn, so that a machine whose speed drifts treats both alike.
func oneByOne(ctx context.Context, inst *installation, runs int) (pair, error) {
	var p pair
	for n := range runs {
		bare, err := bareStart(ctx, inst, n)
		if err != nil {
			return p, fmt.Errorf("start a bare API server: %w", err)
		}
		name := fmt.Sprintf("one-%d", n)
		took, err := clusterStart(ctx, inst, name)
		if err != nil {
			return p, fmt.Errorf("create cluster %s: %w", name, err)
		}
		if err := inst.deleteAll(ctx, []string{name}); err != nil {
			return p, err
		}
		p.Bare, p.KQueen = append(p.Bare, bare), append(p.KQueen, took)
	}
	return p, nil
}

// atOnce leaves the clusters running: their cost is measured next.
func atOnce(ctx context.Context, inst *installation, count int) (pair, error) {
	bare, err := together(count, func(n int) (times, error) { return bareStart(ctx, inst, 1000+n) })
	if err != nil {
		return pair{}, fmt.Errorf("start %d bare API servers: %w", count, err)
	}
	kqueen, err := together(count, func(n int) (times, error) {
		return clusterStart(ctx, inst, fmt.Sprintf("together-%d", n))
	})
	if err != nil {
		return pair{}, fmt.Errorf("create %d clusters: %w", count, err)
	}
	return pair{KQueen: kqueen, Bare: bare}, nil
}

func together(count int, measure func(n int) (times, error)) ([]times, error) {
	results := make([]times, count)
	var group errgroup.Group
	for n := range count {
		group.Go(func() error {
			var err error
			results[n], err = measure(n)
			return err
		})
	}
	return results, group.Wait()
}

// clusterStart creates a cluster and asks it through the gateway, with the kubeconfig that KQueen gives.
func clusterStart(ctx context.Context, inst *installation, name string) (times, error) {
	begin := time.Now()
	if err := inst.create(ctx, name); err != nil {
		return times{}, err
	}
	kubeconfig, err := awaitKubeconfig(ctx, inst, name+"-kubeconfig")
	if err != nil {
		return times{}, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return times{}, err
	}
	caller, err := rest.HTTPClientFor(config)
	if err != nil {
		return times{}, err
	}
	if err := awaitOK(ctx, caller, config.Host+namespacesPath); err != nil {
		return times{}, err
	}
	answer := time.Since(begin)
	if err := awaitReady(ctx, inst, name); err != nil {
		return times{}, err
	}
	return times{Answer: answer.Seconds(), Ready: time.Since(begin).Seconds()}, nil
}

// namespacesPath is what "kubectl get namespaces" asks for.
const namespacesPath = "/api/v1/namespaces"

func awaitReady(ctx context.Context, inst *installation, name string) error {
	w, err := inst.admin.Watch(ctx, &v1alpha1.ClusterList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if c, ok := event.Object.(*v1alpha1.Cluster); ok && apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
			return nil
		}
	}
	return fmt.Errorf("wait for cluster %s: the watch ended", name)
}

func awaitKubeconfig(ctx context.Context, inst *installation, name string) ([]byte, error) {
	w, err := inst.admin.Watch(ctx, &corev1.SecretList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if secret, ok := event.Object.(*corev1.Secret); ok && event.Type != watch.Deleted {
			return secret.Data[v1alpha1.KubeconfigKey], nil
		}
	}
	return nil, fmt.Errorf("wait for secret %s: the watch ended", name)
}

// awaitOK asks until the answer is 200.
func awaitOK(ctx context.Context, caller *http.Client, url string) error {
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := caller.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
