package machinecontroller

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
	"kqueen.io/kqueen/internal/workers/addons"
	"kqueen.io/kqueen/internal/workers/machine"
)

// factory is where the test's provider makes machines: it survives a crash of the reconciler. A machine takes
// one step to come and one to go.
type factory struct {
	mu       sync.Mutex
	machines map[types.UID]*made
	joins    bool
	state    machine.State // when a machine has come; Running when empty
	refuse   error         // of Ensure
	began    time.Time     // of the machine's life; zero when that is not known
	deleted  []machine.Target
}

type made struct {
	want     machine.Desired
	age      int
	deleting bool
}

var address = netip.MustParseAddr("10.9.0.2")

// provider leads to the factory through an injector.
type provider struct {
	*factory
	inj *operatortest.Injector
}

func (p provider) Describe() machine.Description {
	return machine.Description{Name: "local", UserJoins: p.joins}
}

func (p provider) Ensure(_ context.Context, want machine.Desired) (machine.Observed, error) {
	return operatortest.Value(p.inj, "provider.Ensure", func() (machine.Observed, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.refuse != nil {
			return machine.Observed{}, p.refuse
		}
		m := p.machines[want.UID]
		if m == nil && want.Token == "" && !p.joins {
			return machine.Observed{State: machine.Lost, Message: "nothing is left", ProviderID: machine.ProviderID("local", want.UID), LifeBegan: p.began}, nil
		}
		if m == nil {
			m = &made{}
			p.machines[want.UID] = m
		}
		if m.deleting {
			return machine.Observed{}, errors.New("the machine is being deleted")
		}
		m.want = want
		o := machine.Observed{State: machine.Creating, Message: "waiting for kubelet", ProviderID: machine.ProviderID("local", want.UID), LifeBegan: p.began}
		if !p.joins {
			o.Address = address
		}
		if m.age > 0 {
			o.State, o.Message = machine.Running, "all programs of the machine run"
		}
		if p.state != "" {
			o.State, o.Message = p.state, "kubelet has ended 3 times"
		}
		return o, nil
	})
}

func (p provider) Delete(_ context.Context, of machine.Target) (bool, error) {
	return operatortest.Value(p.inj, "provider.Delete", func() (bool, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		m := p.machines[of.UID]
		if m == nil {
			return true, nil
		}
		if !slices.ContainsFunc(p.deleted, func(d machine.Target) bool { return d.UID == of.UID }) {
			p.deleted = append(p.deleted, of)
		}
		m.deleting = true
		return false, nil
	})
}

func (p provider) List(context.Context) ([]types.UID, error) { return nil, nil }

// clusters leads to the managed cluster through an injector.
type clusters struct {
	to  client.Client
	err error
}

func (c clusters) Client(context.Context, *v1alpha1.Cluster) (client.Client, error) {
	return c.to, c.err
}

// subject is one Machine of a cluster in a namespace of its own.
type subject struct {
	*factory
	admin, cluster client.WithWatch
	away           error // of the cluster
	namespace      string
	name           string // of machine and node, unique in the managed cluster
	uid, of        types.UID
	offset         time.Duration // of the reconciler's clock
	asked          []string      // requests for certificates
}

func newSubject(t *testing.T) *subject {
	t.Helper()
	s := &subject{factory: &factory{machines: map[types.UID]*made{}}, admin: adminClient(t), cluster: connect(t, managedConfig(t))}
	// Every look lists the requests of the whole cluster, which all tests share.
	t.Cleanup(func() {
		for _, name := range s.asked {
			s.cluster.Delete(context.WithoutCancel(t.Context()), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	})
	s.namespace = controlplanetest.Namespace(t, s.admin)
	s.name = s.namespace
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "demo"}, Spec: v1alpha1.ClusterSpec{
		Version: "v1.36.2", ProvisionerRef: v1alpha1.ProvisionerReference{Namespace: s.namespace, Name: "prov"},
	}}
	create(t, s.admin, cluster)
	cluster.Status.Join = &v1alpha1.JoinEndpoint{Server: "192.0.2.1:6443", CA: []byte("ca")}
	if err := s.admin.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	m := &v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, Labels: map[string]string{v1alpha1.LabelNodePool: "pool"}},
		Spec: v1alpha1.MachineSpec{
			ClusterName: "demo", Version: "v1.36.2", Provider: "local", Labels: map[string]string{"disk": "fast", "node-role.kubernetes.io/worker": ""},
			Taints: []corev1.Taint{{Key: "only", Value: "batch", Effect: corev1.TaintEffectNoSchedule}},
			Drain:  v1alpha1.DrainPolicy{TimeoutSeconds: ptr.To[int32](600)},
		},
	}
	create(t, s.admin, m)
	s.uid, s.of = m.UID, cluster.UID
	return s
}

func create(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

func (s *subject) reconciler(inj *operatortest.Injector) reconcile.Reconciler {
	c := inj.Client(s.admin)
	return New(Config{
		Client: c, Reader: c, Clusters: clusters{inj.Client(s.cluster), s.away},
		Providers: map[string]machine.Provider{"local": provider{s.factory, inj}},
		Now:       func() time.Time { return time.Now().Add(s.offset) },
	})
}

func (s *subject) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: s.namespace, Name: s.name}}
}

func (s *subject) get(ctx context.Context) (*v1alpha1.Machine, error) {
	m := &v1alpha1.Machine{}
	return m, s.admin.Get(ctx, s.request().NamespacedName, m)
}

// look runs the reconciler once, in a process of its own.
func (s *subject) look(t *testing.T) *v1alpha1.Machine {
	t.Helper()
	return s.lookBy(t, s.reconciler(&operatortest.Injector{}))
}

// lookBy runs a reconciler once.
func (s *subject) lookBy(t *testing.T, r reconcile.Reconciler) *v1alpha1.Machine {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), s.request()); err != nil {
		t.Fatalf("reconcile: %v", err)
	}
	m, err := s.get(t.Context())
	if err != nil {
		t.Fatalf("read the machine: %v", err)
	}
	operatortest.CheckStatus(t, m)
	return m
}

// want checks a condition of the machine.
func want(t *testing.T, m *v1alpha1.Machine, kind string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	t.Helper()
	c := apimeta.FindStatusCondition(m.Status.Conditions, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		t.Fatalf("condition %s is %+v, want %s %s; all: %+v", kind, c, status, reason, m.Status.Conditions)
	}
	return c
}

func (s *subject) node(ctx context.Context) (*corev1.Node, error) {
	n := &corev1.Node{}
	return n, s.cluster.Get(ctx, client.ObjectKey{Name: s.name}, n)
}

// sign is a request of a kubelet, made in the name of a user.
func (s *subject) sign(ctx context.Context, c client.Client, name, signer string, template *x509.CertificateRequest, purpose certificatesv1.KeyUsage) error {
	pem, err := requestPEM(template)
	if err != nil {
		return err
	}
	s.asked = append(s.asked, name)
	return client.IgnoreAlreadyExists(c.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem, SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, purpose},
		},
	}))
}

func subjectOf(node string) pkix.Name {
	return pkix.Name{CommonName: nodeUser + node, Organization: []string{nodeGroup}}
}

func (s *subject) approved(ctx context.Context, name string) (bool, error) {
	csr := &certificatesv1.CertificateSigningRequest{}
	if err := s.cluster.Get(ctx, client.ObjectKey{Name: name}, csr); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved
	}), nil
}

// step moves the factory and the kubelet of the machine by one step: it asks for a client certificate with its
// token, registers, asks for a serving certificate, and is ready when it has both.
func (s *subject) step(t *testing.T) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		m := s.machines[s.uid]
		if m == nil {
			return false, nil
		}
		if m.deleting {
			delete(s.machines, s.uid)
			return false, nil
		}
		m.age++
		node, err := s.node(ctx)
		if apierrors.IsNotFound(err) {
			return false, s.register(ctx, t, m)
		}
		if err != nil || node.Spec.PodCIDR == "" {
			return false, err
		}
		serving := as(t, nodeUser+s.name, nodeGroup)
		template := &x509.CertificateRequest{Subject: subjectOf(s.name), DNSNames: []string{s.name}, IPAddresses: []net.IP{address.AsSlice()}}
		if err := s.sign(ctx, serving, "serving-"+s.name, certificatesv1.KubeletServingSignerName, template, certificatesv1.UsageServerAuth); err != nil {
			return false, err
		}
		ok, err := s.approved(ctx, "serving-"+s.name)
		if err != nil || !ok {
			return false, err
		}
		return false, s.report(ctx, corev1.ConditionTrue, time.Now())
	}
}

// register asks for a client certificate and makes the node once it is approved.
func (s *subject) register(ctx context.Context, t *testing.T, m *made) error {
	if m.want.Token == "" {
		return nil
	}
	id := m.want.Token[:6]
	kubelet := as(t, "system:bootstrap:"+id, "system:bootstrappers", addons.TokenGroup)
	template := &x509.CertificateRequest{Subject: subjectOf(s.name)}
	name := "client-" + id
	if err := s.sign(ctx, kubelet, name, certificatesv1.KubeAPIServerClientKubeletSignerName, template, certificatesv1.UsageClientAuth); err != nil {
		return err
	}
	ok, err := s.approved(ctx, name)
	if err != nil || !ok {
		return err
	}
	return s.cluster.Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: s.name, Labels: map[string]string{v1alpha1.LabelProvider: "local"}},
		Spec: corev1.NodeSpec{PodCIDR: "10.244.7.0/24", Taints: append(slices.Clone(m.want.Taints),
			corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule})},
	})
}

// report is what a kubelet says of its node; it writes nothing when that was said.
func (s *subject) report(ctx context.Context, ready corev1.ConditionStatus, since time.Time) error {
	node, err := s.node(ctx)
	if err != nil {
		return err
	}
	if c := readyCondition(node); c != nil && c.Status == ready && since.Sub(c.LastTransitionTime.Time) < time.Minute {
		return nil
	}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, Reason: "KubeletReady", Message: "kubelet says " + string(ready), LastTransitionTime: metav1.NewTime(since),
	}}
	node.Status.NodeInfo.KubeletVersion = "v1.36.2"
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.String()}}
	return s.cluster.Status().Update(ctx, node)
}
