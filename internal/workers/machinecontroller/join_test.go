package machinecontroller

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
	"kqueen.io/kqueen/internal/workers/addons"
	"kqueen.io/kqueen/internal/workers/machine"
)

// joinToken is what a user reads to join the machine.
func (s *subject) joinToken(t *testing.T) string {
	t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.namespace, Name: "join-" + string(s.uid)}
	if err := s.admin.Get(t.Context(), key, secret); err != nil {
		t.Fatalf("read what the machine joins with: %v", err)
	}
	if !metav1.IsControlledBy(secret, &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{UID: s.uid}}) {
		t.Error("the Secret does not belong to the machine")
	}
	return string(secret.Data["token-id"]) + "." + string(secret.Data["token-secret"])
}

// whoami asks the managed cluster who calls.
func whoami(t *testing.T, token string) (authenticationv1.UserInfo, error) {
	t.Helper()
	review := &authenticationv1.SelfSubjectReview{}
	err := withToken(t, token).Create(t.Context(), review)
	return review.Status.UserInfo, err
}

// conditionOf is the decision on a request for a certificate.
func (s *subject) decision(t *testing.T, name string) string {
	t.Helper()
	csr := &certificatesv1.CertificateSigningRequest{}
	if err := s.cluster.Get(t.Context(), client.ObjectKey{Name: name}, csr); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, c := range csr.Status.Conditions {
		said = append(said, fmt.Sprintf("%s %s: %s", c.Type, c.Reason, c.Message))
	}
	return strings.Join(said, "; ")
}

// TestTokenJoins: the token is good at the API server, for this machine's name and for no other.
func TestTokenJoins(t *testing.T) {
	s := newSubject(t)
	m := s.look(t)
	want(t, m, v1alpha1.ConditionBootstrapped, metav1.ConditionTrue, v1alpha1.ReasonBootstrapped)
	want(t, m, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonMachineCreating)
	want(t, m, v1alpha1.ConditionNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeMissing)
	token := s.joinToken(t)
	user, err := whoami(t, token)
	if err != nil {
		t.Fatalf("the API server refuses the token: %v", err)
	}
	if user.Username != "system:bootstrap:"+token[:6] || !slices.Contains(user.Groups, addons.TokenGroup) {
		t.Errorf("the token is %s of %v", user.Username, user.Groups)
	}
	kubelet, signer := withToken(t, token), certificatesv1.KubeAPIServerClientKubeletSignerName
	for name, node := range map[string]string{"own-": s.name, "foreign-": "another-node"} {
		if err := s.sign(t.Context(), kubelet, name+s.name, signer, &x509.CertificateRequest{Subject: subjectOf(node)}, certificatesv1.UsageClientAuth); err != nil {
			t.Fatalf("ask for the certificate of %s: %v", node, err)
		}
	}
	if err := s.sign(t.Context(), s.cluster, "admin-"+s.name, signer, &x509.CertificateRequest{Subject: subjectOf(s.name)}, certificatesv1.UsageClientAuth); err != nil {
		t.Fatal(err)
	}
	s.look(t)
	if got := s.decision(t, "own-"+s.name); !strings.HasPrefix(got, "Approved KQueenMachine") {
		t.Errorf("the request for the machine's own node is %q, want it approved", got)
	}
	if got := s.decision(t, "foreign-"+s.name); !strings.HasPrefix(got, "Denied KQueenMachine") || !strings.Contains(got, "another-node") {
		t.Errorf("the request for another node is %q, want it denied with the name", got)
	}
	if got := s.decision(t, "admin-"+s.name); got != "" {
		t.Errorf("the request of another user is %q, want no decision", got)
	}
}

// TestTokenOfAnotherMachine: two machines of one cluster do not get certificates for each other.
func TestTokenOfAnotherMachine(t *testing.T) {
	one, two := newSubject(t), newSubject(t)
	one.look(t)
	two.look(t)
	name := "crossed-" + one.name
	err := one.sign(t.Context(), withToken(t, two.joinToken(t)), name, certificatesv1.KubeAPIServerClientKubeletSignerName, &x509.CertificateRequest{Subject: subjectOf(one.name)}, certificatesv1.UsageClientAuth)
	if err != nil {
		t.Fatal(err)
	}
	one.look(t)
	if got := one.decision(t, name); got != "" {
		t.Errorf("the machine whose name is asked for has decided: %s", got)
	}
	two.look(t)
	if got := one.decision(t, name); !strings.HasPrefix(got, "Denied") {
		t.Errorf("the machine whose token asks has said %q, want it denied", got)
	}
}

// TestTokenExpires: an expired token is refused by the API server, and another one takes its place.
func TestTokenExpires(t *testing.T) {
	s := newSubject(t)
	s.offset = -61 * time.Minute
	s.look(t)
	old := s.joinToken(t)
	if user, err := whoami(t, old); !apierrors.IsUnauthorized(err) {
		t.Fatalf("an expired token is %v, %v; want it refused", user.Username, err)
	}
	s.offset = 0
	s.look(t)
	renewed := s.joinToken(t)
	if renewed[:6] == old[:6] || renewed[7:] == old[7:] {
		t.Error("the new token shares a part with the old one")
	}
	if _, err := whoami(t, renewed); err != nil {
		t.Errorf("the new token is refused: %v", err)
	}
	if e, err := s.outside(t.Context()); err != nil || e.Tokens != 1 {
		t.Errorf("the cluster has %d tokens of the machine, want 1: %v", e.Tokens, err)
	}
	// What a user changed in the cluster is made again as it should be.
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + renewed[:6]}
	if err := s.cluster.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["auth-extra-groups"] = []byte("system:bootstrappers:other")
	if err := s.cluster.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.look(t)
	if user, err := whoami(t, renewed); err != nil || !slices.Contains(user.Groups, addons.TokenGroup) {
		t.Errorf("the token is of %v, %v", user.Groups, err)
	}
}

// TestTokenEndsWithJoining: what a machine joined with is good for nothing afterwards.
func TestTokenEndsWithJoining(t *testing.T) {
	s := newSubject(t)
	s.look(t)
	token := s.joinToken(t)
	operatortest.Converge(t, s.world(t))
	if user, err := whoami(t, token); !apierrors.IsUnauthorized(err) {
		t.Errorf("the token is %v, %v after joining; want it refused", user.Username, err)
	}
}

// TestClusterAway: an API server that does not answer makes no machine unhealthy.
func TestClusterAway(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	s.away = errAway
	m := s.look(t)
	c := want(t, m, v1alpha1.ConditionNodeReady, metav1.ConditionUnknown, v1alpha1.ReasonClusterUnreachable)
	if !strings.Contains(c.Message, "cluster demo cannot be asked") {
		t.Errorf("the message is %q", c.Message)
	}
	want(t, m, v1alpha1.ConditionMachineReady, metav1.ConditionTrue, v1alpha1.ReasonMachineRunning)
	want(t, m, v1alpha1.ConditionReady, metav1.ConditionUnknown, v1alpha1.ReasonClusterUnreachable)
	if m.Status.NextRetryTime == nil {
		t.Error("the status does not say when the cluster is tried again")
	}
	s.away = nil
	want(t, s.look(t), v1alpha1.ConditionNodeReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady)
}

// TestClusterHangs: a cluster that takes calls and does not answer costs no more than the deadline.
func TestClusterHangs(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	config := managedConfig(t)
	config.Host = "https://" + listener.Addr().String()
	s.cluster = connect(t, config)
	node := want(t, s.look(t), v1alpha1.ConditionNodeReady, metav1.ConditionUnknown, v1alpha1.ReasonClusterUnreachable)
	if !strings.Contains(node.Message, "no answer in time") {
		t.Errorf("the message is %q", node.Message)
	}
}

// TestPeers: a machine is told of the others of its cluster that carry pods, and of no machine of another one.
func TestPeers(t *testing.T) {
	s := newSubject(t)
	for name, cluster := range map[string]string{"peer": "demo", "stranger": "other", "new": "demo"} {
		m := &v1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
			Spec:       v1alpha1.MachineSpec{ClusterName: cluster, Version: "v1.36.2", Provider: "local"},
		}
		create(t, s.admin, m)
		if name == "new" {
			continue
		}
		m.Status.Address, m.Status.PodCIDR = "10.9.0.5", "10.244.5.0/24"
		if err := s.admin.Status().Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	s.look(t)
	got := s.machines[s.uid].want
	wanted := []machine.Peer{{Address: netip.MustParseAddr("10.9.0.5"), PodCIDR: netip.MustParsePrefix("10.244.5.0/24")}}
	if !slices.Equal(got.Peers, wanted) || got.Ref.Cluster != s.of || got.Token != s.joinToken(t) {
		t.Errorf("the provider was told %+v, want the peers %v", got, wanted)
	}
	if got.Cluster.DNS.String() != "10.96.0.10" || len(got.Taints) != 1 {
		t.Errorf("the provider was told %+v", got)
	}
}

// TestDeadMachine: until the kubelet of the next life has said how the node is, the node is not ready, whatever Kubernetes
// still takes it to be.
func TestDeadMachine(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	s.began = time.Now()
	s.state = machine.Creating
	m := s.look(t)
	want(t, m, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonMachineCreating)
	c := want(t, m, v1alpha1.ConditionNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeNotReady)
	if !strings.Contains(c.Message, "since the machine ended or began") {
		t.Errorf("the message does not say why: %s", c.Message)
	}
	s.state = ""
	want(t, s.look(t), v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNodeNotReady)
	node, err := s.node(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(s.began.Add(3 * time.Second))
	if err := s.cluster.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	want(t, s.look(t), v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady)
}

// TestLostMachine: a machine of which nothing is left joins again under its name, with another token, and is not taken for ready by what
// its node said before.
func TestLostMachine(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	delete(s.machines, s.uid)
	s.began = time.Now()
	m := s.look(t)
	c := want(t, m, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonMachineCreating)
	if m.Status.JoinTime != nil || m.Status.Address != "" || !strings.Contains(c.Message, "joins again") {
		t.Errorf("it has joined at %v, is at %q, and says %q", m.Status.JoinTime, m.Status.Address, c.Message)
	}
	m = s.look(t)
	want(t, m, v1alpha1.ConditionBootstrapped, metav1.ConditionTrue, v1alpha1.ReasonBootstrapped)
	want(t, m, v1alpha1.ConditionNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeNotReady)
	if made := s.machines[s.uid]; made == nil || made.want.Token != s.joinToken(t) {
		t.Fatalf("it was made as %+v, want with its token", made)
	}
	if _, err := whoami(t, s.joinToken(t)); err != nil {
		t.Errorf("the API server refuses the token: %v", err)
	}
}

// TestUnheardMachine: while the provider cannot say, since KQueen was started, how the machine is, nothing is known of its node, whatever Kubernetes
// still takes it to be. A provider that has said it once may fail.
func TestUnheardMachine(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	for _, s.refuse = range []error{errors.New("the disk is full"), invalid.New("spec.version", "is not on this machine")} {
		c := want(t, s.look(t), v1alpha1.ConditionNodeReady, metav1.ConditionUnknown, v1alpha1.ReasonRetrying)
		if !strings.Contains(c.Message, "since KQueen was started") {
			t.Errorf("after %q it says %q", s.refuse, c.Message)
		}
	}
	r := s.reconciler(&operatortest.Injector{})
	for _, s.refuse = range []error{nil, errors.New("the disk is full")} {
		want(t, s.lookBy(t, r), v1alpha1.ConditionNodeReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady)
	}
}

// TestUnwrittenLook: a node is not ready by the word of an earlier life of its machine, also when the status does not say when the present
// one began, because that could not be written, and the provider fails since.
func TestUnwrittenLook(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	before, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := s.reconciler(&operatortest.Injector{})
	s.began = time.Now()
	for _, s.refuse = range []error{nil, errors.New("the disk is slow")} {
		m := s.lookBy(t, r)
		want(t, m, v1alpha1.ConditionNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeNotReady)
		m.Status = before.Status
		if err := s.admin.Status().Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailingMachine: what the provider says does not hide whether the node is ready.
func TestFailingMachine(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	s.state = machine.Failing
	m := s.look(t)
	want(t, m, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonMachineFailed)
	want(t, m, v1alpha1.ConditionNodeReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady)
	want(t, m, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonMachineFailed)
	want(t, m, v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonIdle)
	if err := s.report(t.Context(), corev1.ConditionFalse, time.Now()); err != nil {
		t.Fatal(err)
	}
	m = s.look(t)
	if c := want(t, m, v1alpha1.ConditionNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeNotReady); !strings.Contains(c.Message, "kubelet says False") {
		t.Errorf("the message has not the node's own words: %s", c.Message)
	}
	want(t, m, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonMachineFailed)
}

func TestRefusedMachine(t *testing.T) {
	s := newSubject(t)
	s.refuse = invalid.New("spec.template.parameters", "is not known; remove it")
	m := s.look(t)
	want(t, m, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonMachineFailed)
	want(t, m, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonMachineFailed)
}

// TestForeignNode: a node that belongs to something else is neither changed nor deleted; that of an earlier
// machine of the same name is.
func TestForeignNode(t *testing.T) {
	s := newSubject(t)
	create(t, s.cluster, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Spec: corev1.NodeSpec{ProviderID: "aws:///i-1"}})
	want(t, s.look(t), v1alpha1.ConditionNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeForeign)
	if err := s.deletion().Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := s.world(t)
	w.Done = s.deletion().Done
	operatortest.Converge(t, w)
	node, err := s.node(t.Context())
	if err != nil || node.Spec.Unschedulable || len(node.Labels) > 0 {
		t.Errorf("the foreign node was touched: %v, %v", node, err)
	}

	s = newSubject(t)
	create(t, s.cluster, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Spec: corev1.NodeSpec{ProviderID: machine.ProviderID("local", "earlier")}})
	want(t, s.look(t), v1alpha1.ConditionNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeMissing)
	if _, err := s.node(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("the node of the earlier machine is still there: %v", err)
	}
}

// TestForgedRecord: a node cannot have us take labels and taints of others from it.
func TestForgedRecord(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	node, err := s.node(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node.Labels["node-restriction.kubernetes.io/tenant"] = "a"
	node.Annotations = map[string]string{annotationRecord: `{"labels":["node-restriction.kubernetes.io/tenant"],"taints":["node.kubernetes.io/not-ready:NoSchedule"]}`}
	if err := s.cluster.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	operatortest.Converge(t, operatortest.After(t, s.world(t), s.relabel()))
	if node, err = s.node(t.Context()); err != nil || node.Labels["node-restriction.kubernetes.io/tenant"] != "a" || len(node.Spec.Taints) != 2 {
		t.Errorf("labels %v, taints %v: %v", node.Labels, node.Spec.Taints, err)
	}
}

// TestJoinedMachine: the address of a machine that a user joins is its node's word, within bounds.
func TestJoinedMachine(t *testing.T) {
	s := newSubject(t)
	s.joins = true
	s.look(t)
	secret := &corev1.Secret{}
	if err := s.admin.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "join-" + string(s.uid)}, secret); err != nil {
		t.Fatal(err)
	}
	expires, err := time.Parse(time.RFC3339, string(secret.Data["expiration"]))
	if err != nil || time.Until(expires) < 23*time.Hour {
		t.Errorf("the token expires at %v, want a day: %v", expires, err)
	}
	create(t, s.cluster, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Spec: corev1.NodeSpec{PodCIDR: "10.244.9.0/24"}})
	node, err := s.node(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	say := func(addr string) *v1alpha1.Machine {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: addr}}
		if err := s.cluster.Status().Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		m := s.look(t)
		if node, err = s.node(t.Context()); err != nil {
			t.Fatal(err)
		}
		return m
	}
	serving, signer := as(t, nodeUser+s.name, nodeGroup), certificatesv1.KubeletServingSignerName
	ask := func(name, addr string) {
		template := &x509.CertificateRequest{Subject: subjectOf(s.name), IPAddresses: []net.IP{net.ParseIP(addr)}}
		if err := s.sign(t.Context(), serving, name+s.name, signer, template, certificatesv1.UsageServerAuth); err != nil {
			t.Fatal(err)
		}
	}
	ask("api-", "192.0.2.1")
	if m := say("192.0.2.1"); m.Status.Address != "" {
		t.Errorf("the node took the API server's address %s", m.Status.Address)
	}
	if got := s.decision(t, "api-"+s.name); got != "" {
		t.Errorf("while no address is known the request is %q, want no decision", got)
	}
	ask("own-", "10.9.0.7")
	if m := say("10.9.0.7"); m.Status.Address != "10.9.0.7" || m.Status.PodCIDR != "10.244.9.0/24" {
		t.Errorf("the status has %s and %s", m.Status.Address, m.Status.PodCIDR)
	}
	if got := s.decision(t, "api-"+s.name); !strings.HasPrefix(got, "Denied") {
		t.Errorf("the request for the API server's address is %q, want it denied", got)
	}
	if got := s.decision(t, "own-"+s.name); !strings.HasPrefix(got, "Approved") {
		t.Errorf("the request for its own address is %q, want it approved", got)
	}
}
