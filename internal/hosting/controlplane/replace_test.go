package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/kube"
)

// TestAPIServerIsReplacedWhileItRuns: while one API server takes the place of another one, twice, no read and no write of any client fails,
// be its connections old or new, no change is missing in what is watched, and pods find an API server at every moment.
func TestAPIServerIsReplacedWhileItRuns(t *testing.T) {
	n := newTenant(t, *description(t).Issuer)
	n.Issuer, n.Cluster = nil, ""
	before := n.apply(t)
	admin, observer := n.watcher(t), n.watcher(t)
	eventually(t, "the Service kubernetes has an endpoint", func() bool { return endpoints(t.Context(), admin) == nil })
	counter := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "counter"}, Data: map[string]string{"n": "0"}}
	if err := admin.Create(t.Context(), counter); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	followed := counter.DeepCopy()
	var clients errgroup.Group
	var writes, reads atomic.Int64
	write := func(ctx context.Context) error {
		counter.Data["n"] = strconv.FormatInt(writes.Load()+1, 10)
		if err := admin.Update(ctx, counter); err != nil {
			return err
		}
		writes.Add(1)
		return nil
	}
	clients.Go(each(ctx, "write", func() error { return write(t.Context()) })) // one that was begun is ended
	clients.Go(each(ctx, "read the endpoints", func() error { return endpoints(ctx, admin) }))
	clients.Go(each(ctx, "read by a new connection", func() error { defer reads.Add(1); return n.read(ctx) }))
	var watching errgroup.Group
	var last atomic.Int64
	watching.Go(func() error { return follow(t.Context(), observer, followed, &last) })

	for _, level := range []string{"baseline", "restricted"} {
		n.PodSecurity = level
		after := n.apply(t)
		if after == before {
			t.Fatalf("process %d serves on, want another one", before)
		}
		eventually(t, "the one before has ended", func() bool { return unix.Kill(before, 0) != nil })
		before = after
	}
	stop()
	if err := clients.Wait(); err != nil {
		t.Error(err)
	}
	last.Store(writes.Load() + 1)
	if err := write(t.Context()); err != nil {
		t.Error(err)
	}
	if err := watching.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d writes, %d new connections", writes.Load(), reads.Load())
}

// each calls do some ten times a second until ctx ends, and returns the first error.
func each(ctx context.Context, what string, do func() error) func() error {
	return func() error {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			if err := do(); err != nil && ctx.Err() == nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
	}
}

// endpoints is an error when pods find no API server at the Service kubernetes.
func endpoints(ctx context.Context, c client.Client) error {
	slice := &discoveryv1.EndpointSlice{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, slice); err != nil {
		return err
	}
	if len(slice.Endpoints) != 1 || len(slice.Ports) != 1 {
		return fmt.Errorf("the Service kubernetes has %d endpoints and %d ports, want one", len(slice.Endpoints), len(slice.Ports))
	}
	return nil
}

// read asks by a connection that was not there before.
func (n *tenant) read(ctx context.Context) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(n.Keys["ca.crt"])
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, LocalServer(n.place)+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// follow watches a counter until it has the last value, again from where it was when a watch ends, and is an error when a value is left out.
func follow(ctx context.Context, c client.WithWatch, counter *corev1.ConfigMap, last *atomic.Int64) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	seen, at := int64(0), counter.ResourceVersion
	for {
		w, err := c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(counter.Namespace), client.MatchingFields{"metadata.name": counter.Name},
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: at}})
		if err != nil {
			return fmt.Errorf("watch from %s: %w", at, err)
		}
		for event := range w.ResultChan() {
			if event.Type == watch.Error {
				return fmt.Errorf("watch from %s: %w", at, apierrors.FromObject(event.Object))
			}
			object := event.Object.(*corev1.ConfigMap)
			value, err := strconv.ParseInt(object.Data["n"], 10, 64)
			if at = object.ResourceVersion; err != nil || value > seen+1 {
				return fmt.Errorf("after %d came %d: %w", seen, value, err)
			}
			if seen = value; seen == last.Load() {
				w.Stop()
				return nil
			}
		}
	}
}

// watcher is the administrator, with connections of its own.
func (n *tenant) watcher(t *testing.T) client.WithWatch {
	t.Helper()
	kubeconfig, err := pki.Kubeconfig(pki.KubeconfigParams{
		Cluster: "demo", Context: "demo", User: "admin", Server: LocalServer(n.place),
		CA: n.Keys["ca.crt"], ClientCert: n.Keys["admin.crt"], ClientKey: n.Keys["admin.key"],
	})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	c, err := kube.Connect(config, controlplanetest.Scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
