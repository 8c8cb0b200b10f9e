package machinecontroller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/workers/machine"
)

// longestVersion bounds what a node reports as its version.
const longestVersion = 32

// attend looks after the machine's node: it gives it its certificates, keeps what of it is ours in sync, notes
// what it has been given, and says whether it is ready.
func (r *reconciler) attend(ctx context.Context, m *v1alpha1.Machine) operator.Outcome {
	cluster, refused := r.target(ctx, m)
	if refused != nil {
		return *refused
	}
	limits, token, err := r.known(ctx, m, cluster)
	if err != nil {
		return operator.Unknown(v1alpha1.ReasonRetrying, err, 0)
	}
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	c, err := r.Clusters.Client(ctx, cluster)
	if err != nil {
		return operator.Unknown(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err), 0)
	}
	node, err := nodeOf(ctx, c, m.Name)
	if err != nil {
		return operator.Unknown(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err), 0)
	}
	if foreign(node, m) {
		return r.displace(ctx, c, cluster, m, node)
	}
	remark := r.note(m, node, limits)
	serves, err := r.approve(ctx, c, r.applicant(m, token, node, limits))
	if err != nil && !apierrors.IsConflict(err) {
		return operator.Unknown(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err), 0)
	}
	verdict := r.judge(m, node, remark)
	if node == nil {
		return verdict
	}
	if refused := r.sync(ctx, c, cluster, m, node); refused != nil && verdict.IsDone() {
		return *refused
	}
	if !verdict.IsDone() || m.Status.JoinTime != nil {
		return verdict
	}
	return r.join(m, verdict, serves)
}

// join notes that a node that is ready has joined, once its kubelet may serve.
func (r *reconciler) join(m *v1alpha1.Machine, verdict operator.Outcome, serves bool) operator.Outcome {
	if !serves {
		return operator.Wait(v1alpha1.ReasonNodeNotReady, "the node is ready, and its kubelet has not asked for its serving certificate yet: no logs and no exec", joiningLook)
	}
	now := metav1.NewTime(r.Now().Truncate(time.Second))
	m.Status.JoinTime = &now
	return verdict
}

// known is what the admin plane knows to hold the node's claims against, and the id of the machine's token.
func (r *reconciler) known(ctx context.Context, m *v1alpha1.Machine, cluster *v1alpha1.Cluster) (limits bounds, token string, err error) {
	others, err := r.siblings(ctx, m)
	if err != nil {
		return bounds{}, "", err
	}
	if limits, err = boundsOf(cluster, others); err != nil || m.Status.JoinTime != nil {
		return limits, "", err
	}
	have, err := r.joiningOf(ctx, m)
	if err != nil || have == nil {
		return limits, "", err
	}
	return limits, have.id, nil
}

// nodeOf reads the node; nil when there is none.
func nodeOf(ctx context.Context, c client.Reader, name string) (*corev1.Node, error) {
	node := &corev1.Node{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the node: %w", err)
	}
	return node, nil
}

// foreign says whether the node of a machine's name says that it is something else's. It is pure.
func foreign(node *corev1.Node, m *v1alpha1.Machine) bool {
	return node != nil && node.Spec.ProviderID != "" && node.Spec.ProviderID != m.Status.ProviderID &&
		node.Spec.ProviderID != machine.ProviderID(m.Spec.Provider, m.UID)
}

// displace deletes the node of an earlier machine of the same name, which was left because its cluster could
// not be reached when it went. Machines of one name never are at the same time. Any other node stays.
func (r *reconciler) displace(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, m *v1alpha1.Machine, node *corev1.Node) operator.Outcome {
	ours := false
	for name := range r.Providers {
		ours = ours || strings.HasPrefix(node.Spec.ProviderID, machine.ProviderID(name, ""))
	}
	if m.Status.JoinTime != nil || !ours {
		return operator.Wait(v1alpha1.ReasonNodeForeign, "the cluster's node of this name has another providerID: "+tidy(node.Spec.ProviderID, longestName), unreadyLook)
	}
	err := client.IgnoreNotFound(c.Delete(ctx, node, client.Preconditions{UID: &node.UID}))
	if err != nil && !apierrors.IsConflict(err) {
		return operator.Unknown(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err), 0)
	}
	return operator.Wait(v1alpha1.ReasonNodeMissing, "removed the node of an earlier machine of this name", joiningLook)
}

// applicant says what certificates the machine may have. Only of a machine that a user joins KQueen does not know
// the address: there the node's word is taken, within bounds.
func (r *reconciler) applicant(m *v1alpha1.Machine, token string, node *corev1.Node, limits bounds) applicant {
	who := applicant{name: m.Name, token: token}
	if r.userJoins(m) {
		if node != nil {
			who.addresses, _ = claimed(m, limits.address(node))
		}
		return who
	}
	if addr := addressOf(m); addr.IsValid() {
		who.addresses = []netip.Addr{addr}
	}
	return who
}

// note copies what the node was given to the machine's status, as far as it can be true, and remarks on what
// cannot.
func (r *reconciler) note(m *v1alpha1.Machine, node *corev1.Node, limits bounds) (remark string) {
	if node == nil {
		return ""
	}
	m.Status.Version = tidy(node.Status.NodeInfo.KubeletVersion, longestVersion)
	m.Status.Unschedulable = node.Spec.Unschedulable
	cidr := limits.podCIDR(node)
	switch {
	case cidr.IsValid():
		m.Status.PodCIDR = cidr.String()
	case node.Spec.PodCIDR != "":
		remark = "; no routes lead to its pods, because its podCIDR " + tidy(node.Spec.PodCIDR, longestName) +
			" is not in the cluster's range or is another machine's"
	}
	if !r.userJoins(m) {
		return remark
	}
	if hash := node.Annotations[v1alpha1.AnnotationTrustHash]; machine.IsTrustHash(hash) {
		m.Status.TrustHash = hash
	}
	own, moved := claimed(m, limits.address(node))
	if len(own) > 0 {
		m.Status.Address = own[0].String()
	}
	return remark + moved
}

// claimed are the addresses that a machine which a user joined has, of those that its node claims, its main one first. That
// with which it joined stays the main one, whatever the node says later: the API server calls it, and an administrator of
// the cluster can write any address of the network into a Node. It is pure.
func claimed(m *v1alpha1.Machine, own []netip.Addr) (addresses []netip.Addr, remark string) {
	recorded := addressOf(m)
	if m.Status.JoinTime == nil || !recorded.IsValid() {
		return own, ""
	}
	others := slices.DeleteFunc(slices.Clone(own), func(a netip.Addr) bool { return a.Is4() == recorded.Is4() })
	addresses = append([]netip.Addr{recorded}, others...)
	if slices.Contains(own, recorded) {
		return addresses, ""
	}
	return addresses, fmt.Sprintf("; its node does not claim the address %s any more, with which it joined: a machine that has moved is deleted and joined again", recorded)
}

// sync makes what of the node is ours as wanted, or says why it cannot be.
func (r *reconciler) sync(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, m *v1alpha1.Machine, node *corev1.Node) *operator.Outcome {
	had, labels := recordOf(m), nodeLabels(m)
	keepImported(labels, node, had)
	id := m.Status.ProviderID
	if id == "" {
		id = machine.ProviderID(m.Spec.Provider, m.UID)
	}
	fail := func(o operator.Outcome) *operator.Outcome { return &o }
	want, differs := synced(node, labels, m.Spec.Taints, id, had)
	if differs {
		// The lock keeps the taints that others set meanwhile: a patch replaces the list.
		err := c.Patch(ctx, want, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{}))
		var status apierrors.APIStatus
		switch {
		case apierrors.IsConflict(err):
			return nil // another client wrote meanwhile; the next look is soon
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
			errors.As(err, &status)
			return fail(operator.Unknown(v1alpha1.ReasonNodeRefused, errors.New("set labels and taints of the node: "+tidy(status.Status().Message, longestWords)), 0))
		case err != nil:
			return fail(operator.Unknown(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err), 0))
		}
	}
	// What this run has noted already (see provide) is not read yet: the next look forgets what is gone.
	if now := recordFor(cluster.UID, labels, m.Spec.Taints); had.with(now).equal(had) {
		if err := r.remember(ctx, m, now); err != nil && !apierrors.IsConflict(err) {
			return fail(operator.Unknown(v1alpha1.ReasonRetrying, err, 0))
		}
	}
	return nil
}

// keepImported keeps the label of the images of addons, which the machine itself sets: the images stay, also when the Node is deleted and
// registers again, and the machine does not say it again. It is pure but for labels.
func keepImported(labels map[string]string, node *corev1.Node, had record) {
	if node.Labels[v1alpha1.LabelAddonImages] == v1alpha1.AddonImagesImported || slices.Contains(had.Labels, v1alpha1.LabelAddonImages) {
		labels[v1alpha1.LabelAddonImages] = v1alpha1.AddonImagesImported
	}
}

// judge says whether the node is ready, in its own words.
func (r *reconciler) judge(m *v1alpha1.Machine, node *corev1.Node, remark string) operator.Outcome {
	look := unreadyLook
	if m.Status.JoinTime == nil {
		look = joiningLook
	}
	if node == nil {
		if m.Status.JoinTime == nil && r.userJoins(m) {
			look = joinLook
		}
		return operator.Wait(v1alpha1.ReasonNodeMissing, "there is no node "+m.Name+" in the cluster", look)
	}
	life := m.Status.LifeTransitionTime
	latest, heard := r.heard.Load(m.UID)
	if heard {
		life = latest.(*metav1.Time)
	}
	ready, why := readiness(node, life)
	if !ready {
		return operator.Wait(v1alpha1.ReasonNodeNotReady, why, look)
	}
	if !heard {
		return operator.Unknown(v1alpha1.ReasonRetrying, errors.New("the node is as ready as it was; whether its machine runs is not known since KQueen was started"), look)
	}
	look = readyLook
	if m.Status.JoinTime == nil || r.Now().Sub(m.Status.JoinTime.Time) < newborn {
		look = newbornLook
	}
	return operator.DoneUntil(v1alpha1.ReasonNodeReady, "the node is ready"+remark, look)
}

// readiness says whether a node is ready in the present life of its machine and, when it is not, why. For most of a minute
// Kubernetes takes a node and its pods to be as they were before the machine ended. It is pure.
func readiness(node *corev1.Node, life *metav1.Time) (ready bool, why string) {
	c := readyCondition(node)
	switch {
	case c == nil:
		return false, "the node has not said yet that it is ready"
	// Both are in whole seconds, and a kubelet takes longer than one to say how it is.
	case c.Status == corev1.ConditionTrue && life != nil && !c.LastHeartbeatTime.After(life.Time):
		return false, "its kubelet has not said how the node is since the machine ended or began"
	case c.Status == corev1.ConditionTrue:
		return true, ""
	case c.Message == "":
		return false, "the node is not ready: " + tidy(c.Reason, longestName)
	}
	return false, "the node is not ready: " + tidy(c.Message, longestWords)
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c
		}
	}
	return nil
}

// boundsOf says what claims of a cluster's nodes are checked against.
func boundsOf(cluster *v1alpha1.Cluster, others []v1alpha1.Machine) (bounds, error) {
	to, err := machine.ClusterOf(cluster)
	if err != nil {
		return bounds{}, err
	}
	host, _, err := net.SplitHostPort(to.Server)
	if err != nil {
		return bounds{}, fmt.Errorf("status.join.server of cluster %s: %w", cluster.Name, err)
	}
	return bounds{pods: to.PodCIDR, services: to.ServiceCIDR, server: host, others: others}, nil
}
