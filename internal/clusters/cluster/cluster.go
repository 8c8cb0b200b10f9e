// Package cluster has the reconcilers of Cluster and Provisioner: it takes a cluster through its life by the driver
// interface, and knows no driver. It also answers, at admission, whether a cluster can be had.
//
//	spec ──► driver.Check ──► Ensure ──► Observe ──► kubeconfig in a Secret ──► status
//	gone ◄── node pools and machines removed ◄── Delete ◄── the Cluster is deleted
//
// It hides where the parameters and credentials of a driver come from, how long a call may take, and how a cluster is
// told from one that is only looked for in the wrong place. Package app imports it: Setup, Rules, WaitAgreed and
// Validator.
package cluster

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/hibernation"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/operator"
)

// observeInterval is the longest time between two looks at a cluster of which no watch says anything.
const observeInterval = time.Minute

// healthy is what a cluster's status says while its API server is.
const healthy = "the API server is healthy"

// Config is what the reconcilers of Cluster and Provisioner are made of. All fields but Addons, Applications,
// Look (without which no cluster is seen to be idle), Recorder, Now and CallDeadline are required.
type Config struct {
	// Client of the admin plane.
	Client client.Client
	// Secrets reads the admin plane without a cache: Secrets, and what a deletion depends on.
	Secrets client.Reader
	// Drivers by name.
	Drivers map[string]provision.Driver
	// Addons brings the addons of a cluster that has node pools to what is wanted, and says how they are. Nil for none.
	Addons func(context.Context, *v1alpha1.Cluster) ([]v1alpha1.AddonStatus, error)
	// Applications says where those in clusters are reached.
	Applications Applications
	// Look reads from a cluster that is awake what decides whether it sleeps.
	Look     func(context.Context, *v1alpha1.Cluster) (hibernation.Seen, error)
	Recorder events.EventRecorder
	// Now tells the time by which kubeconfigs are renewed; nil for time.Now.
	Now func() time.Time
	// CallDeadline bounds one call of a driver; 0 for 20 seconds.
	CallDeadline time.Duration
}

// Applications says where applications in clusters are reached.
type Applications struct {
	// Domains are those of the cluster of that name; nil for none.
	Domains func(types.NamespacedName) []string
	// Address is where a cluster's Ingresses answer on KQueen's host, the zero Addr for nowhere; with an error it is the
	// last one that it still may be. Nil where there is no such host.
	Address func(context.Context, *v1alpha1.Cluster) (netip.Addr, error)
	// Port of the host leads there.
	Port int32
}

// reconciler holds the phases.
type reconciler struct {
	Config
	calls calls
}

// New returns the reconciler of Cluster.
func New(c Config) *operator.Reconciler[*v1alpha1.Cluster] {
	if c.Now == nil {
		c.Now = time.Now
	}
	r := &reconciler{Config: c, calls: calls{deadline: c.CallDeadline}}
	return operator.New(operator.Config[*v1alpha1.Cluster]{
		Client:    c.Client,
		Recorder:  c.Recorder,
		New:       func() *v1alpha1.Cluster { return &v1alpha1.Cluster{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/cluster",
		Ready:     healthy,
		Phases: []operator.Phase[*v1alpha1.Cluster]{
			{Condition: v1alpha1.ConditionAccepted, Ensure: r.accept},
			{Condition: v1alpha1.ConditionKubeconfigReady, Ensure: r.publish, Remove: r.unpublish},
			{Condition: v1alpha1.ConditionProvisioned, Ensure: r.provision, Remove: r.deprovision},
			// They go with the cluster.
			{Condition: v1alpha1.ConditionAddonsReady, Ensure: r.addons, Remove: r.removeIngress},
			// Removed first: a machine whose control plane is gone would not know what to leave.
			{Condition: v1alpha1.ConditionWorkersGone, Remove: r.removeWorkers, Leaving: true},
		},
	})
}

// accept begins the work, after asking whether the driver takes the cluster.
func (r *reconciler) accept(ctx context.Context, c *v1alpha1.Cluster) operator.Outcome {
	t, refused := r.resolve(ctx, c)
	if refused != nil {
		return *refused
	}
	if elsewhere := locate(ctx, c, t); elsewhere != nil {
		return *elsewhere
	}
	var have *provision.Desired
	if c.Status.Version != "" {
		running := t.want
		running.Version, running.EmulatedVersion = c.Status.Version, c.Status.EmulatedVersion
		have = &running
	}
	err := t.checkParameters()
	if err == nil {
		err = t.check(ctx, have)
	}
	if err != nil {
		return refusal(err, v1alpha1.ReasonRefused)
	}
	if t.want.Asleep, err = r.mayStop(ctx, c); err != nil {
		return operator.Retry(v1alpha1.ReasonProvisionerFailed, err)
	}
	if err := t.ensure(ctx); err != nil {
		return refusal(err, v1alpha1.ReasonProvisionerFailed)
	}
	// Not before: settings with which nothing could be made are corrected, and were never those of a cluster.
	c.Status.FoundWith = t.settings
	// After Ensure: a status that says that the cluster sleeps, and when it has to wake, is written before anything of it ends.
	after, err := r.hibernate(ctx, c, t)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonProvisionerFailed, err)
	}
	return operator.DoneUntil(v1alpha1.ReasonAccepted, "provisioner "+c.Spec.ProvisionerRef.Name+" has taken the cluster", after)
}

// look asks the driver how the cluster is, and notes what a status shows of it. The outcome says why there is nothing
// to go on with: for the reason waiting when the driver has not begun, and failed when an error has no reason of its
// own.
func look(ctx context.Context, c *v1alpha1.Cluster, t target, waiting, failed string) (provision.Observed, *operator.Outcome) {
	observed, err := t.observe(ctx)
	if err != nil {
		outcome := refusal(err, failed)
		if errors.Is(err, provision.ErrNotFound) {
			outcome = operator.Wait(waiting, "the provisioner has not begun yet", time.Second)
		}
		return provision.Observed{}, &outcome
	}
	c.Status.Steps, c.Status.Endpoint, c.Status.Join = observed.Steps, observed.Endpoint, observed.Join
	return observed, nil
}

// provision says how far the driver is.
func (r *reconciler) provision(ctx context.Context, c *v1alpha1.Cluster) operator.Outcome {
	t, refused := r.resolve(ctx, c)
	if refused != nil {
		return *refused
	}
	observed, refused := look(ctx, c, t, v1alpha1.ReasonProvisioning, v1alpha1.ReasonProvisionerFailed)
	if refused != nil {
		return *refused
	}
	if observed.Version != "" {
		c.Status.Version, c.Status.EmulatedVersion = observed.Version, observed.EmulatedVersion
	}
	// A driver that reads through a cache may still see the cluster as it was before Ensure.
	if observed.State == provision.Healthy && observed.Version != "" && c.Spec.Version != "" && observed.Version != c.Spec.Version {
		return operator.Wait(v1alpha1.ReasonProvisioning, "the cluster still runs "+observed.Version, observeInterval)
	}
	if observed.State == provision.Asleep && c.Status.Sleeps() {
		return operator.Wait(v1alpha1.ReasonAsleep, "asleep: "+c.Status.Hibernation.Message, observeInterval)
	}
	return judge(observed)
}

// judge says what a driver's observation means. It is pure.
func judge(o provision.Observed) operator.Outcome {
	switch o.State {
	case provision.Healthy:
		return operator.DoneUntil(v1alpha1.ReasonProvisioned, healthy, observeInterval)
	case provision.Failed:
		return operator.Stalled(v1alpha1.ReasonProvisionerFailed, "%s", o.Message)
	case provision.Degraded:
		return operator.Wait(v1alpha1.ReasonDegraded, o.Message, observeInterval)
	case provision.Creating, provision.Asleep: // which is told to wake
		return operator.Wait(v1alpha1.ReasonProvisioning, o.Message, observeInterval)
	}
	return operator.Stalled(v1alpha1.ReasonProvisionerFailed, "the driver reports the state %q, which is none", o.State)
}

// deprovision removes what the driver made. It needs the provisioner with its parameters and credentials: while one of
// them is missing it says so and waits, because a Cluster that is gone would leave what is outside to no owner.
func (r *reconciler) deprovision(ctx context.Context, c *v1alpha1.Cluster) operator.Outcome {
	t, err := r.find(ctx, c)
	if gone, ok := errors.AsType[*missingError](err); ok && gone.never {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	if err != nil {
		return refusal(err, v1alpha1.ReasonProvisionerNotReady)
	}
	if elsewhere := locate(ctx, c, t); elsewhere != nil {
		return *elsewhere
	}
	gone, err := t.remove(ctx)
	if err != nil {
		return refusal(err, v1alpha1.ReasonDeprovisioning)
	}
	if !gone {
		message := "the provisioner is removing the cluster"
		if o, err := t.observe(ctx); err == nil && o.Message != "" {
			message += ": " + o.Message
		}
		return operator.Wait(v1alpha1.ReasonDeprovisioning, message, observeInterval)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}
