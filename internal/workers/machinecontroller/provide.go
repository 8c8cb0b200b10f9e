package machinecontroller

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/workers/machine"
)

// provide has the provider make the machine, and says how it is. Nothing that it finds keeps the node from
// being looked at: a kubelet waits for us to approve its certificate before it counts as running, and a machine
// of which something fails may still be a ready node.
func (r *reconciler) provide(ctx context.Context, m *v1alpha1.Machine) operator.Outcome {
	cluster, refused := r.target(ctx, m)
	if refused != nil {
		return *refused
	}
	provider, ok := r.Providers[m.Spec.Provider]
	if !ok {
		return operator.Stalled(v1alpha1.ReasonMachineFailed, "spec.provider: this installation has no provider %q; create a machine with another one", m.Spec.Provider)
	}
	want, err := r.desired(ctx, m, cluster)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonMachineFailed, err)
	}
	if err := r.remember(ctx, m, recordOf(m).with(recordFor(cluster.UID, nodeLabels(m), m.Spec.Taints))); err != nil {
		return operator.Retry(v1alpha1.ReasonMachineFailed, err)
	}
	ctx, cancel := context.WithTimeout(ctx, providerDeadline)
	defer cancel()
	observed, err := provider.Ensure(ctx, want)
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return operator.Stalled(v1alpha1.ReasonMachineFailed, "%v", bad)
	}
	if errors.Is(err, machine.ErrUnsupported) {
		return operator.Stalled(v1alpha1.ReasonMachineFailed, "%s", tidy(err.Error(), longestWords))
	}
	if errors.Is(err, machine.ErrCapacity) && m.Status.JoinTime == nil {
		return operator.RetryAfter(v1alpha1.ReasonMachineFailed, errors.New(tidy(err.Error(), longestWords)), capacityLook)
	}
	if err != nil && m.Status.JoinTime == nil {
		return operator.Retry(v1alpha1.ReasonMachineFailed, errors.New(tidy(err.Error(), longestWords)))
	}
	if err != nil {
		return operator.Warn(v1alpha1.ReasonMachineFailed, tidy(err.Error(), longestWords))
	}
	note(m, observed)
	r.heard.Store(m.UID, m.Status.LifeTransitionTime)
	if want.Asleep {
		return sleeping(observed, r.userJoins(m))
	}
	if observed.State == machine.Lost {
		return joinAgain(m, r.userJoins(m))
	}
	return judgeMachine(observed, m.Status.JoinTime != nil)
}

// note writes to the status how the provider has found a machine.
func note(m *v1alpha1.Machine, observed machine.Observed) {
	if observed.ProviderID != "" {
		m.Status.ProviderID = observed.ProviderID
	}
	if observed.Address.IsValid() {
		m.Status.Address = observed.Address.Unmap().String()
	}
	if observed.TrustHash != "" {
		m.Status.TrustHash = observed.TrustHash
	}
	m.Status.LifeTransitionTime = seconds(observed.LifeBegan)
	m.Status.Isolation = v1alpha1.MachineIsolation(observed.Isolation)
	m.Status.IsolationMessage = tidy(observed.IsolationMessage, longestWords)
}

// joinAgain has a machine of which nothing is left begin anew, under its name: it gets another token, by which its node gets certificates.
// What it had joined with is gone with it.
func joinAgain(m *v1alpha1.Machine, userJoins bool) operator.Outcome {
	if userJoins {
		return operator.Warn(v1alpha1.ReasonMachineFailed, "the provider has lost a machine that a user joined; join it again")
	}
	m.Status.JoinTime, m.Status.Address = nil, ""
	return operator.Wait(v1alpha1.ReasonMachineCreating, "nothing of the machine is left; it is created again, and joins again", joiningLook)
}

// seconds is a time as the API has it; nil for none. It is pure.
func seconds(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at.Truncate(time.Second)}
}

// sleeping says how far a machine is whose cluster sleeps. Nothing answers for its node, which stays as it was seen last. It is pure.
func sleeping(o machine.Observed, userJoins bool) operator.Outcome {
	switch {
	case userJoins:
		return operator.Wait(v1alpha1.ReasonAsleep, "the cluster sleeps; the machine, which a user has joined, runs on", asleepLook)
	case o.State == machine.Asleep:
		return operator.Wait(v1alpha1.ReasonAsleep, "the machine sleeps with its cluster", asleepLook)
	}
	return operator.Wait(v1alpha1.ReasonMachineStopping, "the machine is being stopped, because its cluster sleeps", joiningLook)
}

// asleepLook is the time between two looks at a machine that sleeps.
const asleepLook = time.Minute

// preparingAgain is the time between two looks at what a machine is made of while it is being made.
const preparingAgain = 5 * time.Second

// judgeMachine says what a provider's observation of a machine means whose node has joined, or not yet. It is pure.
func judgeMachine(o machine.Observed, joined bool) operator.Outcome {
	message := tidy(o.Message, longestWords)
	switch o.State {
	case machine.Preparing:
		if joined { // its node is looked at, whatever happens to its programs
			return operator.Warn(v1alpha1.ReasonMachineCreating, message)
		}
		return operator.Wait(v1alpha1.ReasonMachineCreating, message, preparingAgain)
	case machine.Running:
		return operator.Done(v1alpha1.ReasonMachineRunning, message)
	case machine.Creating:
		return operator.Warn(v1alpha1.ReasonMachineCreating, message)
	case machine.Awaiting:
		return operator.Warn(v1alpha1.ReasonAwaitingJoin, message)
	case machine.Failing:
		return operator.Warn(v1alpha1.ReasonMachineFailed, message)
	}
	return operator.Stalled(v1alpha1.ReasonMachineFailed, "the provider reports the state %q, which is none", o.State)
}

// desired is the machine that the provider is to make.
func (r *reconciler) desired(ctx context.Context, m *v1alpha1.Machine, cluster *v1alpha1.Cluster) (machine.Desired, error) {
	to, err := machine.ClusterOf(cluster)
	if err != nil {
		return machine.Desired{}, err
	}
	others, err := r.siblings(ctx, m)
	if err != nil {
		return machine.Desired{}, err
	}
	want := machine.Desired{
		Target:  machineOf(m, cluster.UID),
		Version: m.Spec.Version,
		Taints:  m.Spec.Taints,
		Cluster: to,
		Peers:   peers(others),
		Size:    machine.SizeOf(m.Spec.Resources),
		Asleep:  cluster.Status.Sleeps(),
	}
	if m.Status.JoinTime != nil {
		return want, nil
	}
	have, err := r.joiningOf(ctx, m)
	if err != nil {
		return machine.Desired{}, err
	}
	if have == nil || have.id == "" {
		return machine.Desired{}, errors.New("the machine has nothing to join with yet")
	}
	want.Token = have.token()
	return want, nil
}

// machineOf is what a provider finds the machine of a cluster by. It is pure.
func machineOf(m *v1alpha1.Machine, cluster types.UID) machine.Target {
	of := machine.Target{Ref: machine.Ref{UID: m.UID, Cluster: cluster, Name: m.Name}, ProviderID: m.Status.ProviderID}
	if m.Spec.Parameters != nil {
		of.Parameters = json.RawMessage(m.Spec.Parameters.Raw)
	}
	return of
}

// peers are the machines that carry pods. It is pure.
func peers(others []v1alpha1.Machine) []machine.Peer {
	var out []machine.Peer
	for i := range others {
		addr := addressOf(&others[i])
		if cidr, err := netip.ParsePrefix(others[i].Status.PodCIDR); err == nil && addr.IsValid() {
			out = append(out, machine.Peer{Address: addr, PodCIDR: cidr})
		}
	}
	return out
}

// nodeLabels are the labels that the node is to have. It is pure.
func nodeLabels(m *v1alpha1.Machine) map[string]string {
	labels := maps.Clone(m.Spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelProvider] = m.Spec.Provider
	if c := m.Spec.VolumeCapacity; c != nil {
		labels[v1alpha1.LabelVolumeCapacity] = c.String()
	}
	if pool := m.Labels[v1alpha1.LabelNodePool]; pool != "" {
		labels[v1alpha1.LabelNodePool] = pool
	}
	return labels
}

// unprovide has the provider remove the machine.
func (r *reconciler) unprovide(ctx context.Context, m *v1alpha1.Machine) operator.Outcome {
	provider, ok := r.Providers[m.Spec.Provider]
	if !ok {
		return operator.Stalled(v1alpha1.ReasonMachineRemaining, "spec.provider: this installation has no provider %q, so it cannot remove the machine", m.Spec.Provider)
	}
	ctx, cancel := context.WithTimeout(ctx, providerDeadline)
	defer cancel()
	gone, err := provider.Delete(ctx, machineOf(m, recordOf(m).Cluster))
	if err != nil {
		return operator.Retry(v1alpha1.ReasonMachineRemaining, errors.New(tidy(err.Error(), longestWords)))
	}
	if !gone {
		return operator.Wait(v1alpha1.ReasonMachineRemaining, "the machine is being removed", removeLook)
	}
	r.heard.Delete(m.UID)
	return operator.Done(v1alpha1.ReasonIdle, "nothing of the machine is left")
}
