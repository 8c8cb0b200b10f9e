package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// askInterval is the time between two questions whether something answers; it bounds the error of a measurement.
const askInterval = 10 * time.Millisecond

// pair is KQueen's time beside the bare program's, in seconds.
type pair struct {
	KQueen []float64 `json:"kqueen"`
	Bare   []float64 `json:"bare"`
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
		took, err := firstAnswer(ctx, inst, name)
		if err != nil {
			return p, fmt.Errorf("create cluster %s: %w", name, err)
		}
		if err := inst.deleteAll(ctx, []string{name}); err != nil {
			return p, err
		}
		p.Bare, p.KQueen = append(p.Bare, bare.Seconds()), append(p.KQueen, took.Seconds())
	}
	return p, nil
}

// atOnce leaves the clusters running: their cost is measured next.
func atOnce(ctx context.Context, inst *installation, count int) (pair, error) {
	bare, err := together(count, func(n int) (time.Duration, error) { return bareStart(ctx, inst, 1000+n) })
	if err != nil {
		return pair{}, fmt.Errorf("start %d bare API servers: %w", count, err)
	}
	kqueen, err := together(count, func(n int) (time.Duration, error) {
		return firstAnswer(ctx, inst, fmt.Sprintf("together-%d", n))
	})
	if err != nil {
		return pair{}, fmt.Errorf("create %d clusters: %w", count, err)
	}
	return pair{KQueen: kqueen, Bare: bare}, nil
}

func together(count int, measure func(n int) (time.Duration, error)) ([]float64, error) {
	type one struct {
		took time.Duration
		err  error
	}
	results := make(chan one)
	for n := range count {
		go func() {
			took, err := measure(n)
			results <- one{took, err}
		}()
	}
	var seconds []float64
	var failed error
	for range count {
		r := <-results
		if r.err != nil {
			failed = r.err
		}
		seconds = append(seconds, r.took.Seconds())
	}
	return seconds, failed
}

// firstAnswer creates a cluster and measures until its namespaces can be listed through the gateway,
// with the kubeconfig that KQueen gives.
func firstAnswer(ctx context.Context, inst *installation, name string) (time.Duration, error) {
	begin := time.Now()
	if err := inst.create(ctx, name); err != nil {
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
	caller, err := rest.HTTPClientFor(config)
	if err != nil {
		return 0, err
	}
	err = awaitOK(ctx, caller, config.Host+"/api/v1/namespaces")
	return time.Since(begin), err
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
