package policies

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// settle is how long changes are collected. Compiling waits four times as long as it last took, if that is more: a cluster in which
	// very much changes costs a node a fifth of a processor at most.
	settle = 100 * time.Millisecond
	share  = 4
	// repeat is after how long the same rules are put in place again: a program of the node may have removed them.
	repeat = 2 * time.Minute
	// The delays after errors.
	firstDelay, longestDelay = 200 * time.Millisecond, time.Minute
	// shown is how many names of a list are logged.
	shown = 10
)

// filter is a packet filter.
type filter interface {
	Replace(Ruleset) error
	Remove() error
}

// enforcer keeps the packet filter of a node as the objects of the cluster say.
type enforcer struct {
	node    string
	filter  filter
	bridges fs.FS
	up      func()

	watched watched
	took    atomic.Int64 // nanoseconds of the last compilation and replacement
	applied [sha256.Size]byte
	at      time.Time // when it was applied; zero if it never was
	leftOut []string  // as logged
}

// run returns when the context ends. Errors of the API server and the packet filter are logged, and tried again.
func (e *enforcer) run(ctx context.Context, client kubernetes.Interface) error {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstDelay, longestDelay)
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()
	watched, err := watch(client, func() { queue.AddAfter(e.node, max(settle, share*time.Duration(e.took.Load()))) })
	if err != nil {
		return err
	}
	e.watched = watched
	var running sync.WaitGroup
	defer running.Wait()
	for _, informer := range watched.all() {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	defer context.AfterFunc(ctx, queue.ShutDown)()
	if !cache.WaitForCacheSync(ctx.Done(), watched.synced()...) {
		return nil
	}
	queue.Add(e.node)
	for {
		item, shutdown := queue.Get()
		if shutdown {
			return nil
		}
		if err := e.sync(time.Now()); err != nil {
			klog.ErrorS(err, "NetworkPolicies are not enforced as they are now", "node", e.node)
			queue.AddRateLimited(item)
		} else {
			queue.Forget(item)
			queue.AddAfter(item, repeat)
		}
		queue.Done(item)
	}
}

// sync puts the rules in place, unless the same ones were lately.
func (e *enforcer) sync(now time.Time) error {
	defer func() { e.took.Store(int64(time.Since(now))) }()
	rules := Compile(e.node, listOf[corev1.Pod](e.watched.pods), listOf[corev1.Namespace](e.watched.namespaces), listOf[networkingv1.NetworkPolicy](e.watched.policies))
	if !slices.Equal(rules.LeftOut, e.leftOut) && len(rules.LeftOut) > 0 {
		klog.InfoS("The NetworkPolicies of this node are too many; what is left out of them allows nothing", "count", len(rules.LeftOut), "first", rules.LeftOut[:min(shown, len(rules.LeftOut))])
	}
	e.leftOut = rules.LeftOut
	digest := sha256.Sum256([]byte(rules.String()))
	if e.at.IsZero() || digest != e.applied || now.Sub(e.at) >= repeat {
		e.at = time.Time{} // until it is done, nothing is known
		if err := e.filter.Replace(rules); err != nil {
			return err
		}
		klog.V(1).InfoS("Rules are in place", "chains", len(rules.Chains), "sets", len(rules.Sets), "addresses", len(rules.Own()))
		e.applied, e.at = digest, now
	}
	if err := checkBridges(e.bridges, rules.Own()); err != nil {
		return err
	}
	e.up()
	return nil
}

// checkBridges says whether packets between pods of the node pass the packet filter. They are on a bridge, and the kernel shows its
// packets to the filter of IP only where it is told to.
func checkBridges(settings fs.FS, isolated []netip.Addr) error {
	needed := []string{"bridge-nf-call-iptables"}
	if slices.ContainsFunc(isolated, netip.Addr.Is6) {
		needed = append(needed, "bridge-nf-call-ip6tables")
	}
	for _, name := range needed {
		value, err := fs.ReadFile(settings, name)
		if err != nil {
			return fmt.Errorf("packets between pods of this node pass no policy (load the kernel module br_netfilter): read the setting net.bridge.%s: %w", name, err)
		}
		if value = bytes.TrimSpace(value); string(value) != "1" {
			return fmt.Errorf("packets between pods of this node pass no policy: net.bridge.%s is %q; set it to 1", name, value)
		}
	}
	return nil
}
