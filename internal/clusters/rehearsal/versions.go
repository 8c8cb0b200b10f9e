package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

const (
	// startWithin is how long an API server may take to start over the copy: others may start before it.
	startWithin = 10 * time.Minute
	// startCheck is the time between two looks at one that starts.
	startCheck = 2 * time.Second
	// servedWithin is how long a ready API server may take until it serves all custom resources.
	servedWithin = 2 * time.Minute
)

// rehearse runs the versions over the copy, one after the other.
func (r *reconciler) rehearse(ctx context.Context, o *v1alpha1.Rehearsal) operator.Outcome {
	i := slices.IndexFunc(o.Status.Versions, func(v v1alpha1.RehearsedVersion) bool { return v.FinishedTime == nil })
	if i < 0 {
		return operator.Done(v1alpha1.ReasonRehearsalDone, "all versions were tried")
	}
	v := &o.Status.Versions[i]
	if v.StartedTime == nil {
		v.StartedTime = r.now()
		return operator.Wait(v1alpha1.ReasonRehearsalStarting, "the API server "+v.Version+" is being started", atOnce)
	}
	cluster, _, err := r.source(ctx, o)
	if err != nil {
		return r.failed(ctx, o, err)
	}
	cp, err := r.copyOf(ctx, o)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, err)
	}
	if cp == nil || !cp.DeletionTimestamp.IsZero() {
		return operator.Stalled(v1alpha1.ReasonRehearsalFailed, "the copy was removed meanwhile; delete this rehearsal, and create another one")
	}
	if err := r.start(ctx, cp, v.Version); err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, err)
	}
	if waits, failed := lacks(cp, v.Version); waits != "" {
		if failed || r.Now().Sub(v.StartedTime.Time) > startWithin {
			r.giveUp(o, i, waits)
			return operator.Wait(v1alpha1.ReasonRehearsalStarting, "the API server "+v.Version+" does not start", atOnce)
		}
		return operator.Wait(v1alpha1.ReasonRehearsalStarting, "the API server "+v.Version+" is being started: "+waits, startCheck)
	}
	version := v.Version // of o, to which is written while the job goes on
	job := r.job(o, "read "+version, v1alpha1.ReasonRehearsalReading, "each object is being read and written by "+v.Version)
	told, pending := jobs.Run(r.jobs, job, cp, func(ctx context.Context, cp *v1alpha1.ControlPlane) (report, error) {
		return r.look(ctx, cluster, cp, version, i == 0)
	})
	if pending != nil {
		return *pending
	}
	v.Kinds, v.Objects, v.Written, v.FinishedTime = told.kinds, told.objects, told.written, r.now()
	found(o, told.findings)
	return operator.Wait(v1alpha1.ReasonRehearsalReading, v.Version+" has looked at all objects", atOnce)
}

// giveUp notes that a version does not start. None after it is tried: it would begin from what that one should have written.
func (r *reconciler) giveUp(o *v1alpha1.Rehearsal, i int, why string) {
	v := &o.Status.Versions[i]
	v.FinishedTime = r.now()
	o.Status.Versions = o.Status.Versions[:i+1]
	found(o, []v1alpha1.UpgradeFinding{finding(v1alpha1.SeverityBlocks, v1alpha1.CheckServerStarts, "kube-apiserver "+v.Version,
		"it does not get ready over what the cluster stores: "+listing.Clean(why, maxMessage), "tell the administrators of KQueen, who find its log in the folder of control plane "+copyName(o))})
}

// start has an API server of a version run over the copy.
func (r *reconciler) start(ctx context.Context, cp *v1alpha1.ControlPlane, version string) error {
	if cp.Spec.Version == version && cp.Spec.StoppedFor == "" {
		return nil
	}
	base := cp.DeepCopy()
	cp.Spec.Version, cp.Spec.StoppedFor = version, ""
	if err := r.Client.Patch(ctx, cp, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("start %s over the copy: %w", version, err)
	}
	return nil
}

// lacks says what a control plane lacks until it runs a version, and whether that is for good. It is pure.
func lacks(cp *v1alpha1.ControlPlane, version string) (waits string, failed bool) {
	ready := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case cp.Status.ObservedGeneration != cp.Generation || ready == nil:
		return "it was not looked at yet", false
	case ready.Status != "True":
		return cmp.Or(ready.Message, ready.Reason), apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionStalled)
	case cp.Status.Version != version:
		return "it still runs " + cp.Status.Version, false
	}
	return "", false
}

// look has a version read and write again all that is stored.
func (r *reconciler) look(ctx context.Context, cluster *v1alpha1.Cluster, cp *v1alpha1.ControlPlane, version string, first bool) (report, error) {
	state, err := r.State(ctx, cp)
	if err != nil {
		return report{}, err
	}
	kubeconfig, err := r.kubeconfig(ctx, cp)
	if err != nil {
		return report{}, err
	}
	server, err := r.Connect(kubeconfig)
	if err != nil {
		return report{}, fmt.Errorf("connect to the API server over the copy: %w", err)
	}
	defer server.Close()
	live, err := r.Live(ctx, cluster)
	if err != nil {
		return report{}, fmt.Errorf("connect to cluster %s: %w", cluster.Name, err)
	}
	defer live.Close()
	t := &trial{server: server, version: version, stale: map[writer]*example{}}
	t.again = func() (inventory, error) { return take(state.Entries(ctx, nil)) }
	if t.before, err = live.Discover(ctx); err != nil {
		return report{}, err
	}
	have, err := t.again()
	if err != nil {
		return report{}, err
	}
	definitions, err := t.settle(ctx, have)
	if err != nil {
		return report{}, err
	}
	if err := t.run(ctx, have, definitions); err != nil {
		return report{}, err
	}
	if first { // what webhooks of the cluster do is the same for all versions
		unconverted, err := converted(ctx, live, definitions, have)
		if err != nil {
			return report{}, err
		}
		t.report.findings = append(t.report.findings, unconverted...)
	}
	return t.report, nil
}

// settle waits until the API server serves all custom resources, which it does some time after it is ready, and returns what defines them.
// One that it does not serve in time is found as not served.
func (t *trial) settle(ctx context.Context, have inventory) ([]definition, error) {
	var definitions []definition
	var failed error
	err := wait.PollUntilContextTimeout(ctx, time.Second/2, servedWithin, true, func(ctx context.Context) (bool, error) {
		t.served, failed = t.server.Discover(ctx)
		if failed == nil {
			definitions, failed = definitionsOf(ctx, t.server)
		}
		return failed == nil && len(absent(definitions, t.served, have)) == 0, nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if wait.Interrupted(err) {
		err = nil
	}
	return definitions, cmp.Or(failed, err)
}

func addressOf(at *v1alpha1.ControlPlaneEndpoint) string {
	return net.JoinHostPort(at.Address, strconv.Itoa(int(at.Port)))
}
