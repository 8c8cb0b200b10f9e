// Package volumes creates and deletes the volumes of one node: a volume is a folder on its disk, and a PersistentVolume of
// type local that leads the pods of its claim to this node.
//
// It hides the library for provisioners, what the node has left, and what becomes of folders that the cluster no longer knows. It
// trusts neither claims nor volumes, which users of the cluster write: a folder is found by the UID of its claim alone, and below
// one directory.
package volumes

import (
	"context"
	"flag"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Provisioner is the name in StorageClasses, and of the CSIDriver object by which the scheduler compares claims with what nodes have
// left. No CSI driver runs: that name has to be a DNS name, therefore it has no slash.
const Provisioner = "local-volumes.kqueen.io"

const (
	defaultDir   = "/var/lib/kqueen-volumes"
	defaultGrace = 7 * 24 * time.Hour

	// workers is how many claims, and how many volumes, are worked on at a time: all of them use one disk.
	workers = 2
	// callTimeout is for what one step asks of the API server.
	callTimeout = time.Minute
	// sweepEvery is how often folders are compared with the cluster, and claims that wait for nodes that are gone are looked for.
	sweepEvery = 10 * time.Minute
)

// Options are what the operator says of a node.
type Options struct {
	// Dir has the volumes. It is the same path on the node and here, because PersistentVolumes name it.
	Dir string
	// CapacityLabel is the label of the Node that says what its volumes may have together, as 50Gi; without it, they may have what the
	// file system of Dir has.
	CapacityLabel string
	// Grace is how long a folder is kept of which the cluster no longer has a claim or volume; 0: without limit.
	Grace time.Duration
}

// Command registers the flags of "agent local-volumes" and returns what runs until the context ends.
func Command(flags *flag.FlagSet) func(ctx context.Context, node string, client kubernetes.Interface, up func()) error {
	var options Options
	flags.StringVar(&options.Dir, "dir", defaultDir, "directory for the volumes; the same path on the node and in the container")
	flags.DurationVar(&options.Grace, "grace", defaultGrace, "how long a volume is kept that was not deleted through its claim; 0: without limit")
	flags.StringVar(&options.CapacityLabel, "capacity-label", "", "label of the Node that says what its volumes may have together, as 50Gi; without it, what the file system has")
	return func(ctx context.Context, node string, client kubernetes.Interface, up func()) error {
		return Run(ctx, node, client, options, up)
	}
}

// agent has the volumes of one node.
type agent struct {
	client  kubernetes.Interface
	node    place
	folders *folders
	ledger  *ledger
	watched watched
	grace   time.Duration
	bound   bound
}

// place is a node: its name, its UID and its value of the label kubernetes.io/hostname, which the node affinity of volumes has.
type place struct {
	name, host string
	uid        types.UID
}

// Run has the volumes of a node until the context ends. It calls up once it answers claims.
func Run(ctx context.Context, node string, client kubernetes.Interface, options Options, up func()) error {
	found, err := get(ctx, client, node)
	if err != nil {
		return err
	}
	here, err := placeOf(found)
	if err != nil {
		return err
	}
	folders, err := openFolders(options.Dir)
	if err != nil {
		return fmt.Errorf("open the directory for volumes: %w", err)
	}
	defer folders.close()
	a := &agent{client: client, node: here, folders: folders, watched: watch(client), grace: options.Grace}
	a.bound.label = options.CapacityLabel
	a.bound.read(found)
	a.ledger = &ledger{host: here.host, volumes: a.watched.volumes.GetStore(), granted: map[string]int64{}, capacity: func() (int64, error) {
		if bytes := a.bound.bytes.Load(); bytes != unbounded {
			return bytes, nil
		}
		return folders.size()
	}}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[task]())
	defer queue.ShutDown()
	if err := a.watched.notify(func() { queue.AddAfter(announce, time.Second) }, a.ledger.drop); err != nil {
		return err
	}
	provisioner := a.controller(ctx) // before anything is watched: it registers types with client-go, which decoders read
	if !a.watched.start(ctx) {
		return nil // the context ended
	}
	// Before claims are answered: what an earlier process left half done is of no claim.
	if err := folders.clear(); err != nil {
		return fmt.Errorf("remove what was left half done: %w", err)
	}
	go provisioner.Run(ctx)
	queue.Add(announce)
	queue.Add(sweep)
	go a.bound.follow(ctx, client, node, func() { queue.Add(announce) })
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	up()
	a.work(ctx, queue)
	return nil
}

func placeOf(node *corev1.Node) (place, error) {
	host := node.Labels[corev1.LabelHostname]
	if host == "" {
		return place{}, fmt.Errorf("node %s has no label %s, by which pods find their volumes; the kubelet sets it", node.Name, corev1.LabelHostname)
	}
	return place{name: node.Name, host: host, uid: node.UID}, nil
}

// controller is the library's: it watches claims and volumes, retries, and reports by events.
func (a *agent) controller(ctx context.Context) *controller.ProvisionController {
	return controller.NewProvisionController(ctx, a.client, Provisioner, &provisioner{agent: a},
		controller.LeaderElection(false),
		controller.Threadiness(workers),
		controller.FailedProvisionThreshold(0),
		controller.FailedDeleteThreshold(0),
		controller.ProvisionTimeout(callTimeout),
		// By default the library gives up after some tries and deletes the folder, of which the API server may have the volume.
		controller.CreateProvisionedPVLimiter(workqueue.DefaultTypedControllerRateLimiter[string]()),
		controller.ClaimsInformer(a.watched.claims),
		controller.VolumesInformer(a.watched.volumes),
		controller.ClassesInformer(a.watched.classes),
	)
}
