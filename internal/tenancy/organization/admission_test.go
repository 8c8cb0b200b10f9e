package organization

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/pki"
	hook "kqueen.io/kqueen/internal/platform/admission"
)

// admitting makes the plane ask a hook of ours.
func admitting(t *testing.T) client.Client {
	t.Helper()
	c := controlplanetest.Client(t)
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}},
		&v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "hosted"}, Spec: v1alpha1.ProvisionerSpec{Driver: "hosted"}},
		&v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "v1.36.3"}, Spec: v1alpha1.ReleaseSpec{Source: v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}}}},
	} {
		if err := c.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	cached, err := cache.New(controlplanetest.Config(t), cache.Options{Scheme: controlplanetest.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	limits := NewLimits(cached, c, time.Now)
	limits.Host = v1alpha1.MachineResources{CPU: quantity("8"), Memory: quantity("16Gi")}
	limits.DataStore = func(p *v1alpha1.Provisioner) string {
		parameters := struct{ DataStoreName string }{"default"}
		if p.Spec.Parameters != nil {
			if err := json.Unmarshal(p.Spec.Parameters.Raw, &parameters); err != nil {
				t.Error(err)
			}
		}
		return parameters.DataStoreName
	}
	limits.PodSecurity = func(*v1alpha1.Provisioner) string { return v1alpha1.PodSecurityBaseline }
	if err := limits.Follow(t.Context(), cached); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cached.Start(t.Context()) }()
	if !cached.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache is not filled")
	}
	serve(t, c, map[string]http.Handler{
		"provisioners":    admission.WithValidator(c.Scheme(), limits.Provisioners()),
		"clusters":        admission.WithValidator(c.Scheme(), hook.Chain(limits.Clusters())),
		"nodepools":       admission.WithValidator(c.Scheme(), limits.NodePools()),
		"nodepools/scale": admission.WithValidator(c.Scheme(), limits.Scales()),
	})
	return c
}

// serve makes the plane ask a hook of ours about resources.
func serve(t *testing.T, c client.Client, resources map[string]http.Handler) {
	t.Helper()
	keys, authority := localhost(t)
	asks := func(ctx context.Context, resources map[string]http.Handler) (stop func()) {
		stop, err := (&hook.Hook{
			Client: c, Certificate: keys, Authority: authority, Log: slog.New(slog.DiscardHandler),
			Resources: resources, When: map[string]string{"organizations": AskedAbout},
		}).Serve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return stop
	}
	stop := asks(t.Context(), resources)
	t.Cleanup(func() {
		stop()
		asks(context.WithoutCancel(t.Context()), nil)() // the other tests of this package have the same API server
	})
}

// localhost are keys of a server, and what has signed its certificate.
func localhost(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "test", Lifetime: time.Hour}},
		Leaves:      []pki.Leaf{{Name: "server", Authority: "ca", CommonName: "test", Usage: pki.Server, DNSNames: []string{"localhost"}, Lifetime: time.Hour}},
	}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(keys["server.crt"], keys["server.key"])
	if err != nil {
		t.Fatal(err)
	}
	return certificate, keys["ca.crt"]
}

// quotaOf makes an organization with its namespace, which may have machines of every provider.
func quotaOf(t *testing.T, c client.Client, spec v1alpha1.OrganizationSpec) string {
	t.Helper()
	spec.MachineProviders = []string{v1alpha1.ProviderLocal, v1alpha1.ProviderManual}
	return organizationOf(t, c, spec).OwnedNamespace()
}

// organizationOf makes an organization with its namespace.
func organizationOf(t *testing.T, c client.Client, spec v1alpha1.OrganizationSpec) *v1alpha1.Organization {
	t.Helper()
	o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{GenerateName: "quota-"}, Spec: spec}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.OwnedNamespace()}}); err != nil {
		t.Fatal(err)
	}
	return o
}

func aCluster(namespace, name string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
}

func aPool(namespace, name string, replicas int32) *v1alpha1.NodePool {
	return &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.NodePoolSpec{ClusterName: "demo", Replicas: replicas}}
}

// refused fails the test unless err is the quota's refusal.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("want a refusal with %q, got %v", want, err)
	}
}

// TestQuotaUnderLoad: of a hundred requests at once, one below the limit, exactly one is let through.
func TestQuotaUnderLoad(t *testing.T) {
	c := admitting(t)
	namespace := quotaOf(t, c, v1alpha1.OrganizationSpec{Quota: &v1alpha1.Quota{Clusters: ptr.To[int32](3)}})
	for _, name := range []string{"a", "b"} {
		if err := c.Create(t.Context(), aCluster(namespace, name)); err != nil {
			t.Fatal(err)
		}
	}
	var made atomic.Int32
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			err := c.Create(t.Context(), aCluster(namespace, fmt.Sprintf("many-%d", i)))
			if err == nil {
				made.Add(1)
				return
			}
			refused(t, err, "quota of clusters is 3, of which 3 are used; this needs 1 more")
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("%d of 100 were let through, want 1", made.Load())
	}
	list := &v1alpha1.ClusterList{}
	if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil || len(list.Items) != 3 {
		t.Errorf("there are %d clusters (%v), want 3", len(list.Items), err)
	}
}

// TestQuotaOfResourcesUnderLoad: of a hundred pools at once, for one of which there is room, exactly one is let through,
// whichever of processors and memory is short.
func TestQuotaOfResourcesUnderLoad(t *testing.T) {
	c := admitting(t)
	tests := map[string]struct {
		quota v1alpha1.Quota
		want  string
	}{
		"CPU":    {v1alpha1.Quota{CPU: quantity("8"), Memory: quantity("1Ti")}, "spec.template.resources.cpu: the organization's quota of cpu is 8, of which 8 are used; this needs 4 more"},
		"Memory": {v1alpha1.Quota{CPU: quantity("1k"), Memory: quantity("8Gi")}, "spec.template.resources.memory: the organization's quota of memory is 8Gi, of which 8Gi are used; this needs 4Gi more"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := quotaOf(t, c, v1alpha1.OrganizationSpec{Quota: &tc.quota})
			if err := c.Create(t.Context(), sized(aPool(namespace, "first", 2), "2", "2Gi")); err != nil {
				t.Fatal(err)
			}
			var made atomic.Int32
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					err := c.Create(t.Context(), sized(aPool(namespace, fmt.Sprintf("many-%d", i), 1), "4", "4Gi"))
					if err == nil {
						made.Add(1)
						return
					}
					refused(t, err, tc.want)
				})
			}
			all.Wait()
			if made.Load() != 1 {
				t.Errorf("%d of 100 were let through, want 1", made.Load())
			}
		})
	}
}

// sized gives the machines of a pool a size.
func sized(p *v1alpha1.NodePool, cpu, memory string) *v1alpha1.NodePool {
	p.Spec.Template.Resources = &v1alpha1.MachineResources{CPU: quantity(cpu), Memory: quantity(memory)}
	return p
}

// TestQuotaOfResources: pools count with what they may have together, however they come to it.
func TestQuotaOfResources(t *testing.T) {
	c := admitting(t)
	namespace := quotaOf(t, c, v1alpha1.OrganizationSpec{Quota: &v1alpha1.Quota{CPU: quantity("10"), Memory: quantity("20Gi")}})
	pool := sized(aPool(namespace, "first", 2), "2", "4Gi")
	pool.Spec.MaxReplicas = ptr.To[int32](3)
	if err := c.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	larger := pool.DeepCopy()
	larger.Spec.Template.Resources.CPU = quantity("3500m")
	refused(t, c.Update(t.Context(), larger), "quota of cpu is 10, of which 6 are used; this needs 4500m more")
	larger = pool.DeepCopy()
	larger.Spec.Template.Resources = nil
	refused(t, c.Update(t.Context(), larger), "quota of cpu is 10, of which 6 are used; this needs 18 more; a pool that does not say it counts with all of the host's")
	whole := sized(aPool(namespace, "whole", 1), "1", "1Gi")
	whole.Spec.Template.Resources.Memory = nil
	refused(t, c.Create(t.Context(), whole), "quota of memory is 20Gi, of which 12Gi are used; this needs 16Gi more")
	refused(t, c.Create(t.Context(), sized(aPool(namespace, "second", 1), "1", "9Gi")), "quota of memory is 20Gi, of which 12Gi are used; this needs 9Gi more")
	joined := aPool(namespace, "joined", 50)
	joined.Spec.Template.Provider = v1alpha1.ProviderManual
	if err := c.Create(t.Context(), joined); err != nil {
		t.Errorf("machines that the user joins: %v", err)
	}
	smaller := pool.DeepCopy()
	smaller.Spec.Template.Resources.CPU, smaller.Spec.MaxReplicas = quantity("1"), nil
	if err := c.Update(t.Context(), smaller); err != nil {
		t.Errorf("a smaller size: %v", err)
	}
	second := sized(aPool(namespace, "second", 1), "8", "4Gi")
	await(t, func() bool { return c.Create(t.Context(), second.DeepCopy()) == nil })
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "second"}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	refused(t, c.SubResource("scale").Update(t.Context(), second, client.WithSubResourceBody(scale)), "quota of cpu is 10, of which 10 are used; this needs 8 more")
}

// TestQuotaOfScaleAndSize: of a larger size and more nodes, at once and for the same pool, no more is let through than
// there is room for, whatever the cache shows meanwhile.
func TestQuotaOfScaleAndSize(t *testing.T) {
	c := admitting(t)
	for i := range 20 {
		namespace := quotaOf(t, c, v1alpha1.OrganizationSpec{Quota: &v1alpha1.Quota{CPU: quantity("4")}})
		if err := c.Create(t.Context(), sized(aPool(namespace, "pool", 1), "1", "1Gi")); err != nil {
			t.Fatal(err)
		}
		larger := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"template":{"resources":{"cpu":"4"}}}}`))
		more := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool"}, Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
		var both sync.WaitGroup
		both.Go(func() { _ = c.Patch(t.Context(), aPool(namespace, "pool", 0), larger) })
		both.Go(func() {
			_ = c.SubResource("scale").Update(t.Context(), aPool(namespace, "pool", 0), client.WithSubResourceBody(more))
		})
		both.Wait()
		got := aPool(namespace, "pool", 0)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(got), got); err != nil {
			t.Fatal(err)
		}
		if cpu := int64(got.Spec.Replicas) * got.Spec.Template.Resources.CPU.MilliValue(); cpu > 4000 {
			t.Fatalf("round %d: %d nodes of %s: %dm of a quota of 4", i, got.Spec.Replicas, got.Spec.Template.Resources.CPU, cpu)
		}
	}
}

// TestQuotaOfStore: what control planes hold keeps further clusters away, and nothing else.
func TestQuotaOfStore(t *testing.T) {
	c := admitting(t)
	namespace := quotaOf(t, c, v1alpha1.OrganizationSpec{Quota: &v1alpha1.Quota{Store: quantity("1Mi")}})
	if err := c.Create(t.Context(), aCluster(namespace, "first")); err != nil {
		t.Fatal(err)
	}
	plane := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "first"}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.3"}}
	if err := c.Create(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	hold := func(bytes int64) {
		t.Helper()
		plane.Status.StoreUsed = resource.NewQuantity(bytes, resource.BinarySI)
		if err := c.Status().Update(t.Context(), plane); err != nil {
			t.Fatal(err)
		}
	}
	next := func() error { return c.Create(t.Context(), aCluster(namespace, "second"), client.DryRunAll) }
	hold(1<<20 + 1024)
	await(t, func() bool { return next() != nil })
	refused(t, next(), "the organization's quota of store is 1Mi, of which 1025Ki are used; delete objects in its clusters, or clusters")
	if err := c.Create(t.Context(), aPool(namespace, "pool", 1)); err != nil {
		t.Errorf("a pool: %v", err)
	}
	hold(1<<20 - 1024)
	await(t, func() bool { return next() == nil })
}

// TestQuotaComesBack: what is deleted makes room at once, and a dry run takes none.
func TestQuotaComesBack(t *testing.T) {
	c := admitting(t)
	namespace := quotaOf(t, c, v1alpha1.OrganizationSpec{Quota: &v1alpha1.Quota{Clusters: ptr.To[int32](1)}})
	for i := range 20 {
		name := fmt.Sprintf("c-%d", i%2)
		if err := c.Create(t.Context(), aCluster(namespace, name), client.DryRunAll); err != nil {
			t.Fatalf("dry run %d: %v", i, err)
		}
		if err := c.Create(t.Context(), aCluster(namespace, name)); err != nil {
			t.Fatalf("create %d: %v", i, err)
		}
		refused(t, c.Create(t.Context(), aCluster(namespace, "more")), "quota of clusters is 1")
		if err := c.Delete(t.Context(), aCluster(namespace, name)); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool {
			return c.Create(t.Context(), aCluster(namespace, "probe"), client.DryRunAll) == nil
		})
	}
}

// await waits until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatal("it did not become so")
		}
	}
}

// TestQuotaOfNodes: pools count with the most they may have, whichever way they are scaled.
func TestQuotaOfNodes(t *testing.T) {
	c := admitting(t)
	namespace := quotaOf(t, c, v1alpha1.OrganizationSpec{Quota: &v1alpha1.Quota{Nodes: ptr.To[int32](10)}})
	if err := c.Create(t.Context(), aPool(namespace, "first", 4)); err != nil {
		t.Fatal(err)
	}
	wide := aPool(namespace, "wide", 1)
	wide.Spec.MaxReplicas = ptr.To[int32](7)
	refused(t, c.Create(t.Context(), wide), "quota of nodes is 10, of which 4 are used; this needs 7 more")
	wide.Spec.MaxReplicas = ptr.To[int32](6)
	if err := c.Create(t.Context(), wide); err != nil {
		t.Fatal(err)
	}
	scale := func(name string, replicas int32) error {
		return c.SubResource("scale").Update(t.Context(), aPool(namespace, name, 0),
			client.WithSubResourceBody(&autoscalingv1.Scale{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
			}))
	}
	refused(t, scale("first", 5), "quota of nodes is 10, of which 10 are used; this needs 1 more")
	if err := scale("first", 3); err != nil {
		t.Errorf("scale down: %v", err)
	}
	if err := scale("wide", 6); err != nil {
		t.Errorf("scale within its own bounds: %v", err)
	}
	first := aPool(namespace, "first", 0)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(first), first); err != nil {
		t.Fatal(err)
	}
	first.Spec.Replicas = 5
	refused(t, c.Update(t.Context(), first), "quota of nodes")
}

// TestAllowed: an organization uses what it may, and keeps what it had.
func TestAllowed(t *testing.T) {
	c := admitting(t)
	none := quotaOf(t, c, v1alpha1.OrganizationSpec{ProvisionerNames: []string{"gke"}})
	refused(t, c.Create(t.Context(), aCluster(none, "demo")), `may not use the shared provisioner "hosted"; it may use: gke`)
	older := quotaOf(t, c, v1alpha1.OrganizationSpec{Releases: []string{"v1.35", "v1.36.2"}})
	refused(t, c.Create(t.Context(), aCluster(older, "demo")), `may not use the release "v1.36.3"; it may use: v1.35, v1.36.2`)
	minor := quotaOf(t, c, v1alpha1.OrganizationSpec{Releases: []string{"v1.36"}, ProvisionerNames: []string{"hosted"}})
	if err := c.Create(t.Context(), aCluster(minor, "demo")); err != nil {
		t.Error(err)
	}
}

// blind is a cache that has not seen any object yet.
type blind struct{ client.Reader }

func (blind) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// TestNotSeenYet: what the cache does not show limits an organization all the same, and the namespace of no organization
// takes nothing.
func TestNotSeenYet(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := quotaOf(t, c, v1alpha1.OrganizationSpec{Releases: []string{"v1.35"}, Drivers: []string{"gke"}})
	limits := NewLimits(blind{c}, c, time.Now)
	own := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"}, Spec: v1alpha1.ProvisionerSpec{Driver: "hosted"}}
	refused(t, limits.Provisioner(t.Context(), nil, own), `may not use the driver "hosted"; it may use: gke`)
	if err := c.Create(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	cluster := aCluster(namespace, "demo")
	cluster.Spec.ProvisionerRef = v1alpha1.ProvisionerReference{Namespace: namespace, Name: "missing"}
	refused(t, limits.Cluster(t.Context(), nil, cluster, false), `may not use the release "v1.36.3"; it may use: v1.35`)
	cluster.Spec.ProvisionerRef.Name = "own"
	refused(t, limits.Cluster(t.Context(), nil, cluster, false), `may not use the driver "hosted"; it may use: gke`)
	refused(t, limits.NodePool(t.Context(), nil, aPool("org-nobody", "first", 1), false), `is that of the organization "nobody", which does not exist`)
}
