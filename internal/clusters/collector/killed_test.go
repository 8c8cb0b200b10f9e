package collector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/collector"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/platform/database"
)

// collectFrom is the variable with which this test binary does nothing but collect, until it is killed: the address of a simulator, that of the
// database of the store, and how many clusters there are.
const collectFrom = "KQUEEN_TEST_COLLECT_FROM"

// gathering is for how long a process that is killed gathers changes.
const gathering = 100 * time.Millisecond

// connected is a Cluster that has a kubeconfig.
func connected(namespace, name, uid string) *v1alpha1.Cluster {
	cluster := &v1alpha1.Cluster{}
	cluster.Namespace, cluster.Name, cluster.UID = namespace, name, types.UID(uid)
	apimeta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionKubeconfigReady, Status: metav1.ConditionTrue, Reason: "Test"})
	return cluster
}

// simulatedCluster is the n-th Cluster of a simulated fleet, in one of four organizations.
func simulatedCluster(n int, name string) *v1alpha1.Cluster {
	return connected(fmt.Sprintf("%so-%d", v1alpha1.NamespacePrefix, n%4), name, name)
}

// collectForever watches simulated clusters and tells a real store, until its standard input ends: with the test that started it, or not before
// it is killed.
func collectForever(where string) (err error) {
	var simulated, address string
	var count int
	if _, err := fmt.Sscan(where, &simulated, &address, &count); err != nil {
		return fmt.Errorf("read %s: %w", collectFrom, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	db, err := database.Open(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store := inventory.New(db, time.Now)
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	all := &clusters{all: map[types.NamespacedName]*v1alpha1.Cluster{}}
	c := collector.New(collector.Config{
		Client: all, Store: store, Now: time.Now,
		Limits: collector.Limits{Gather: gathering, Pause: 50 * time.Millisecond, Probe: 2 * time.Second},
		Connect: func(_ context.Context, cluster *v1alpha1.Cluster) (*rest.Config, error) {
			return &rest.Config{Host: simulated + "/clusters/" + cluster.Name}, nil
		},
		Credential: func(context.Context, *v1alpha1.Cluster) (string, error) { return "", nil },
	})
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	for n := range count {
		cluster := simulatedCluster(n, fmt.Sprintf("sim-%03d", n))
		key := client.ObjectKeyFromObject(cluster)
		all.mu.Lock()
		all.all[key] = cluster
		all.mu.Unlock()
		if _, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: key}); err != nil {
			return err
		}
	}
	return <-ended
}

// process is a collector in a process of its own.
type process struct {
	t     testing.TB
	where string
	cmd   *exec.Cmd
	input io.Closer
}

// start starts one, where none runs.
func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.CommandContext(p.t.Context(), os.Args[0])
	p.cmd.Env = append(os.Environ(), collectFrom+"="+p.where)
	p.cmd.Stdout, p.cmd.Stderr = os.Stderr, os.Stderr
	input, err := p.cmd.StdinPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.input = input
}

// kill kills it where it is, as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatalf("kill the collector: %v", err)
	}
	_ = p.cmd.Wait() // it was killed
}

// end has it end in order.
func (p *process) end() {
	p.t.Helper()
	if err := errors.Join(p.input.Close(), p.cmd.Wait()); err != nil {
		p.t.Errorf("the collector ended with %v", err)
	}
}
