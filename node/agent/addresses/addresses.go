// Package addresses gives Services of type LoadBalancer addresses, and answers for them in the network of the nodes.
//
// One agent of the cluster, the holder of a Lease, gives addresses: [Plan] says which. Each agent answers ARP requests for those that
// [Answering] leaves to its node. kube-proxy carries the packets from there to pods, so this is in nobody's data path: while it is
// being replaced, connections go on. What it knows is in the Services' status and nowhere else.
package addresses

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// again is when everything is looked at although nothing has changed, and addresses are announced again: a switch may have
	// forgotten where they are.
	again = 5 * time.Minute
	// together is how long changes are collected, which come in groups.
	together = 100 * time.Millisecond
	// callTimeout is for a call of the API server.
	callTimeout = 15 * time.Second
)

// Config is what an agent is told.
type Config struct {
	// Node is the name of the Node that it runs on.
	Node string
	// Ranges are the addresses that Services may get. Without any, those of OwnLast are.
	Ranges []Range
	// OwnLast is how many addresses at the end of the node's own network belong to Services, where the Node has the label
	// OwnLabel=OwnValue: its network is then KQueen's.
	OwnLast            int
	OwnLabel, OwnValue string
	Client             kubernetes.Interface
}

// agent is a running one.
type agent struct {
	Config

	services  corelisters.ServiceLister
	nodes     corelisters.NodeLister
	endpoints discoverylisters.EndpointSliceLister
	responder *responder
	leader    leadership
	queue     workqueue.TypedRateLimitingInterface[struct{}]
}

// Run works until the context ends. It calls up once it answers for addresses.
func Run(ctx context.Context, c Config, up func()) error {
	node, err := self(ctx, c)
	if err != nil {
		return err
	}
	own, err := addressOfNode(node)
	if err != nil { // in a cluster of IPv6, where Services are told that there are no addresses
		klog.InfoS("This node answers for no addresses", "reason", err.Error())
		c.Ranges = nil
		return run(ctx, c, nil, up)
	}
	answers, network, err := listen(own)
	if err != nil {
		return err
	}
	if len(c.Ranges) == 0 && c.OwnLast > 0 && node.Labels[c.OwnLabel] == c.OwnValue {
		c.Ranges = []Range{LastOf(network, c.OwnLast)}
	}
	klog.InfoS("Giving Services addresses", "ranges", join(c.Ranges), "node", own)
	return run(ctx, c, answers, up)
}

func run(ctx context.Context, c Config, answers *responder, up func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &agent{Config: c, responder: answers, queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[struct{}]())}
	if err := a.watch(ctx); err != nil {
		return err
	}
	if answers != nil {
		go func() { cancel(answers.run(ctx)) }()
	}
	led := make(chan struct{})
	go func() {
		defer close(led)
		a.lead(ctx)
	}()
	defer context.AfterFunc(ctx, a.queue.ShutDown)()
	a.queue.Add(struct{}{})
	for a.next(ctx, up) {
	}
	<-led // the Lease is given back, or the next agent would wait until it ends
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func self(ctx context.Context, c Config) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	node, err := c.Client.CoreV1().Nodes().Get(ctx, c.Node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read Node %s: %w", c.Node, err)
	}
	return node, nil
}

// addressOfNode is the IPv4 address at which other nodes reach it.
func addressOfNode(n *corev1.Node) (netip.Addr, error) {
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil && ip.Is4() {
			return ip, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("the Node %s has no InternalIP of IPv4", n.Name)
}

// watch begins to watch what plans are made of, and returns when all of it is known.
func (a *agent) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(a.Client, 0, informers.WithTransform(strip))
	core := factory.Core().V1()
	slices := factory.Discovery().V1().EndpointSlices()
	a.services, a.nodes, a.endpoints = core.Services().Lister(), core.Nodes().Lister(), slices.Lister()
	changed := func() { a.queue.AddAfter(struct{}{}, together) }
	for _, informer := range []cache.SharedIndexInformer{core.Services().Informer(), core.Nodes().Informer(), slices.Informer()} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
		})
		if err != nil {
			return fmt.Errorf("watch Services, Nodes and EndpointSlices: %w", err)
		}
	}
	factory.Start(ctx.Done())
	for kind, known := range factory.WaitForCacheSync(ctx.Done()) {
		if !known {
			return fmt.Errorf("list %s: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// strip leaves away what is not looked at: most of a Node and of an object's metadata.
func strip(o any) (any, error) {
	switch o := o.(type) {
	case *corev1.Service:
		o.ManagedFields = nil
	case *corev1.Node:
		o.ManagedFields, o.Annotations, o.Spec = nil, nil, corev1.NodeSpec{}
		o.Status = corev1.NodeStatus{Conditions: o.Status.Conditions, Addresses: o.Status.Addresses}
	case *discoveryv1.EndpointSlice:
		o.ManagedFields, o.Annotations, o.Ports = nil, nil, nil
	}
	return o, nil
}

// next waits for something to do and does it. It returns false once the context has ended.
func (a *agent) next(ctx context.Context, up func()) bool {
	key, down := a.queue.Get()
	if down {
		return false
	}
	defer a.queue.Done(key)
	if err := a.sync(ctx); err != nil {
		klog.ErrorS(err, "Services do not all have what they should; this is tried again")
		a.queue.AddRateLimited(key)
		return true
	}
	a.queue.Forget(key)
	up()
	a.queue.AddAfter(key, again)
	return true
}

func (a *agent) sync(ctx context.Context) error {
	services, err := a.services.List(labels.Everything())
	if err != nil {
		return err
	}
	nodes, err := a.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	if a.responder != nil {
		err = a.responder.set(Answering(a.Node, services, a.slicesOf, nodes))
	}
	if !a.leader.held() {
		return err
	}
	return errors.Join(err, a.give(ctx, services, nodes))
}

// give writes the status of the Services whose addresses have to be others.
func (a *agent) give(ctx context.Context, services []*corev1.Service, nodes []*corev1.Node) error {
	var taken []netip.Addr
	for _, n := range nodes {
		if ip, err := addressOfNode(n); err == nil {
			taken = append(taken, ip)
		}
	}
	var all []error
	for _, change := range Plan(services, a.Ranges, taken) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		next := change.Service.DeepCopy()
		next.Status = change.Status(metav1.Now())
		_, err := a.Client.CoreV1().Services(next.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
		cancel()
		if err != nil {
			all = append(all, fmt.Errorf("give Service %s/%s an address: %w", next.Namespace, next.Name, err))
			continue
		}
		klog.InfoS("Service", "namespace", next.Namespace, "name", next.Name, "address", change.Address, "reason", change.Reason, "message", change.Message)
	}
	return errors.Join(all...)
}

func (a *agent) slicesOf(s *corev1.Service) []*discoveryv1.EndpointSlice {
	of := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.Name})
	all, _ := a.endpoints.EndpointSlices(s.Namespace).List(of) // a cache gives no error
	return all
}
