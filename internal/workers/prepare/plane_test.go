package prepare

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/workers/addons"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// plane is a real API server, as a cluster's.
type plane struct {
	t       *testing.T
	client  client.Client
	cluster *v1alpha1.Cluster
	*Preparer
}

func (p *plane) Client(context.Context, *v1alpha1.Cluster) (client.Client, error) {
	return p.client, nil
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{t: t, client: controlplanetest.Client(t), cluster: wanted("u1")}
	p.cluster.Spec.Network.ServiceCIDR = "10.0.0.0/24" // that of the test plane
	p.Preparer = New(Config{Clusters: p, Settings: &server{}, Releases: release.NewStore(t.TempDir()), Images: Upstream})
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		namespaces := &corev1.NamespaceList{}
		err := p.client.List(ctx, namespaces)
		return len(namespaces.Items) > 3, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// set switches addons of the cluster, and says how all are then. The kinds of the Gateway API, which stay, are off by default here.
func (p *plane) set(settings ...v1alpha1.AddonSetting) []v1alpha1.AddonStatus {
	p.t.Helper()
	p.cluster.Spec.Addons = append([]v1alpha1.AddonSetting{addonOff(addons.NameGatewayAPI)}, settings...)
	all, err := p.Addons(p.t.Context(), p.cluster)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// has says which of some objects of metrics-server are there.
func (p *plane) has(all ...client.Object) int {
	p.t.Helper()
	count := 0
	for _, o := range all {
		err := p.client.Get(p.t.Context(), client.ObjectKeyFromObject(o), o)
		if err == nil {
			count++
		} else if !apierrors.IsNotFound(err) {
			p.t.Fatal(err)
		}
	}
	return count
}

func metrics() []client.Object {
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	service.SetName("v1beta1.metrics.k8s.io")
	in := metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "metrics-server"}
	return []client.Object{
		service, &appsv1.Deployment{ObjectMeta: in}, &corev1.Service{ObjectMeta: in}, &corev1.ServiceAccount{ObjectMeta: in},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:metrics-server"}},
	}
}

func addonOff(name string) v1alpha1.AddonSetting {
	return v1alpha1.AddonSetting{Name: name, Enabled: new(bool)}
}

// TestAddonsInACluster: addons come, say how they are, leave nothing when they are switched off, and what is a user's stays.
func TestAddonsInACluster(t *testing.T) {
	p, ignored := newPlane(t), cmpopts.IgnoreFields(v1alpha1.AddonStatus{}, "Version", "Message")
	proxy := v1alpha1.AddonStatus{Name: "kube-proxy", State: v1alpha1.AddonProgressing} // no controller looks at it here
	if got := p.set(); p.has(metrics()...) != len(metrics()) {
		t.Fatalf("objects of metrics-server are missing; the addons are %v", got)
	}
	p.run(2, "coredns")
	want := []v1alpha1.AddonStatus{proxy, {Name: "coredns", State: v1alpha1.AddonReady}, {Name: "metrics-server", State: v1alpha1.AddonProgressing}}
	if diff := cmp.Diff(want, p.set(), ignored); diff != "" {
		t.Errorf("coredns alone runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], p.set(addonOff("metrics-server")), ignored); diff != "" || p.has(metrics()...) > 0 {
		t.Errorf("metrics-server is off, and has %d objects (-want +got):\n%s", p.has(metrics()...), diff)
	}

	theirs := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "metrics-server", Labels: map[string]string{addons.LabelManagedBy: "Helm"}}}
	if err := p.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	got := p.set()
	if len(got) != 3 || got[2].State != v1alpha1.AddonUserOwned || got[2].Message != "ServiceAccount metrics-server is managed by Helm: it is left as it is" || p.has(metrics()...) != 1 {
		t.Errorf("a user installed metrics-server: got %v, and %d of its objects", got, p.has(metrics()...))
	}
	if err := p.client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}

	dns := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "coredns"}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"alice"}},"spec":{"replicas":5}}`))
	if err := p.client.Patch(t.Context(), dns, patch); err != nil {
		t.Fatal(err)
	}
	if got := p.set(addonOff("metrics-server"), addonOff("kube-proxy")); len(got) != 1 || got[0].State != v1alpha1.AddonUserOwned {
		t.Errorf("a user has taken coredns over: got %v", got)
	}
	p.set(addonOff("coredns"), addonOff("metrics-server"))
	if p.has(dns) != 1 || *dns.Spec.Replicas != 5 {
		t.Errorf("coredns is a user's, and its Deployment has become %v", dns.Spec)
	}
}

// TestAddressesAreTakenBack: without the addon load-balancer no node answers for the addresses that it gave. Those of others stay.
func TestAddressesAreTakenBack(t *testing.T) {
	p := newPlane(t)
	mode := corev1.LoadBalancerIPModeVIP
	for name, condition := range map[string]string{"ours": addons.ConditionAddress, "theirs": "example.com/Address"} {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		if err := p.client.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1", IPMode: &mode}}
		s.Status.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: "Assigned", LastTransitionTime: metav1.Now()}}
		if err := p.client.Status().Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	p.set()
	for name, want := range map[string]int{"ours": 0, "theirs": 1} {
		s := &corev1.Service{}
		if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, s); err != nil {
			t.Fatal(err)
		}
		if len(s.Status.LoadBalancer.Ingress) != want || len(s.Status.Conditions) != want {
			t.Errorf("the status of %s is %v", name, s.Status)
		}
	}
}

// run has a Deployment say that it runs.
func (p *plane) run(replicas int32, name string) {
	p.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}}
	if p.has(d) != 1 {
		p.t.Fatalf("there is no Deployment %s", name)
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	if err := p.client.Status().Update(p.t.Context(), d); err != nil {
		p.t.Fatal(err)
	}
}

// TestSettings: what the provisioner and the organization say counts, and what cannot be read ends it.
func TestSettings(t *testing.T) {
	c := wanted("u1")
	c.Namespace, c.Spec.ProvisionerRef = "org-blue", v1alpha1.ProvisionerReference{Namespace: "kqueen-system", Name: "hosted"}
	c.Spec.Addons = []v1alpha1.AddonSetting{addonOff("coredns")}
	from := settingsOf{
		"kqueen-system/hosted": {addonOff("kube-proxy")},
		"/blue":                {addonOff("metrics-server")},
	}
	got, err := New(Config{Settings: from}).settings(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]v1alpha1.AddonSetting{{addonOff("kube-proxy")}, {addonOff("metrics-server")}, {addonOff("coredns")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	delete(from, "/blue")
	if _, err := New(Config{Settings: from}).settings(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), "read the addons of organization blue: ") {
		t.Errorf("got %v", err)
	}
}

// settingsOf are what an admin plane has, by namespace and name; it cannot be asked for others.
type settingsOf map[string][]v1alpha1.AddonSetting

func (s settingsOf) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	settings, ok := s[key.String()]
	switch o := o.(type) {
	case *v1alpha1.Provisioner:
		o.Spec.Addons = settings
	case *v1alpha1.Organization:
		o.Spec.Addons = settings
	}
	if !ok {
		return errors.New("no answer")
	}
	return nil
}

func (settingsOf) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
