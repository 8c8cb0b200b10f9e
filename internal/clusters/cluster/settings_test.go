package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// says waits until a condition of the cluster has a reason.
func (s *subject) says(condition, reason string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		c, err := s.get(ctx)
		if err != nil {
			return false, err
		}
		k := apimeta.FindStatusCondition(c.Status.Conditions, condition)
		return k != nil && k.Reason == reason && c.Status.NextRetryTime != nil, nil
	}
}

func (s *subject) patchProvisioner(t *testing.T, patch string) {
	t.Helper()
	err := s.client.Patch(t.Context(), &v1alpha1.Provisioner{ObjectMeta: s.named("prov")}, client.RawPatch(types.MergePatchType, []byte(patch)))
	if err != nil {
		t.Fatal(err)
	}
}

// TestProvisionerLooksElsewhere: with parameters that look in the wrong place no second cluster is made, and nothing
// counts as gone.
func TestProvisionerLooksElsewhere(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world())
	s.patchProvisioner(t, `{"spec":{"parameters":{"region":"south"}}}`)
	w := s.world()
	w.Done = s.says(v1alpha1.ConditionAccepted, v1alpha1.ReasonProvisionerChanged)
	operatortest.Converge(t, w)
	if err := s.deletion().Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Done = s.says(v1alpha1.ConditionProvisioned, v1alpha1.ReasonProvisionerChanged)
	operatortest.Converge(t, w)
	if len(s.clusters) != 1 || s.clusters[s.uid].deleting {
		t.Errorf("want the one cluster as it was, got %d", len(s.clusters))
	}
	s.patchProvisioner(t, `{"spec":{"parameters":null}}`)
	w.Done = s.deletion().Done
	operatortest.Converge(t, w)
	if len(s.clusters) != 0 {
		t.Error("the Cluster is gone and the cloud still has it")
	}
}

func (s *subject) setToken(t *testing.T, token string) {
	t.Helper()
	p := &v1alpha1.Provisioner{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: "prov"}, p); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: s.named(p.CredentialsSecret()), Type: v1alpha1.SecretTypeProvisionerCredentials}
	if token == "" {
		if err := s.client.Delete(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		return
	}
	secret.Data = map[string][]byte{"token": []byte(token)}
	err := s.client.Create(t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = s.client.Update(t.Context(), secret)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCredentials: the driver gets them, also to remove a cluster; while they are missing the cluster says so and
// waits; that they are set anew loses no cluster.
func TestCredentials(t *testing.T) {
	s := newSubject(t)
	s.credentials = []provision.Credential{{Key: "token", Description: "What the cloud gave you."}}
	w := s.world()
	w.Done = s.says(v1alpha1.ConditionAccepted, v1alpha1.ReasonCredentialsMissing)
	operatortest.Converge(t, w)
	s.setToken(t, "first")
	w.Done = s.serves("v1.36.2")
	operatortest.Converge(t, w)
	if got := string(s.clusters[s.uid].want.Credentials["token"]); got != "first" {
		t.Errorf("the driver got the token %q", got)
	}
	s.setToken(t, "second")
	operatortest.Converge(t, w)
	s.setToken(t, "")
	if err := s.deletion().Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Done = s.says(v1alpha1.ConditionProvisioned, v1alpha1.ReasonCredentialsMissing)
	operatortest.Converge(t, w)
	if len(s.clusters) != 1 {
		t.Fatal("the cloud has lost the cluster")
	}
	s.setToken(t, "third")
	w.Done = s.deletion().Done
	operatortest.Converge(t, w)
	if len(s.clusters) != 0 {
		t.Error("the Cluster is gone and the cloud still has it")
	}
}

// TestSilentCloud: a driver that hangs ends with its deadline, and how the cluster is counts as unknown, not as bad.
func TestSilentCloud(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world())
	s.silent = func(provision.Target) bool { return true }
	w := s.world()
	w.Reconciler = func(inj *operatortest.Injector) reconcile.Reconciler {
		c := inj.Client(s.client)
		drivers := map[string]provision.Driver{"test": driver{s.cloud, inj}}
		return New(Config{Client: c, Secrets: c, Drivers: drivers, CallDeadline: 10 * time.Millisecond})
	}
	w.Done = func(ctx context.Context) (bool, error) {
		c, err := s.get(ctx)
		ready := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
		return ready.Status == metav1.ConditionUnknown && ready.Reason == v1alpha1.ReasonProvisionerUnreachable, err
	}
	operatortest.Converge(t, w)
	s.silent = nil
	w.Done = s.serves("v1.36.2")
	operatortest.Converge(t, w)
}

// TestMintedKubeconfig: one is kept for half of its life, and then another one is minted.
func TestMintedKubeconfig(t *testing.T) {
	s := newSubject(t)
	now := time.Now()
	m := &minting{driver: driver{s.cloud, &operatortest.Injector{}}, lifetime: 2 * time.Hour}
	w := s.world()
	w.Reconciler = func(inj *operatortest.Injector) reconcile.Reconciler {
		c := inj.Client(s.client)
		return New(Config{Client: c, Secrets: c, Drivers: map[string]provision.Driver{"test": m}, Now: func() time.Time { return now }})
	}
	kubeconfig := func(want string) {
		t.Helper()
		operatortest.Converge(t, w)
		if _, err := w.Reconciler(&operatortest.Injector{}).Reconcile(t.Context(), w.Request); err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: "demo-kubeconfig"}, secret); err != nil {
			t.Fatal(err)
		}
		if got := string(secret.Data[v1alpha1.KubeconfigKey]); got != want {
			t.Errorf("the Secret has %q, want %q", got, want)
		}
	}
	kubeconfig("kubeconfig 1 of demo")
	now = now.Add(59 * time.Minute)
	kubeconfig("kubeconfig 1 of demo")
	now, m.lifetime = now.Add(2*time.Minute), 4*time.Hour
	kubeconfig("kubeconfig 2 of demo")
}

// provisionerWorld is the Provisioner of a subject.
func (s *subject) provisionerWorld() operatortest.World {
	get := func(ctx context.Context) (*v1alpha1.Provisioner, error) {
		p := &v1alpha1.Provisioner{}
		return p, s.client.Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: "prov"}, p)
	}
	return operatortest.World{
		Request: reconcile.Request{NamespacedName: client.ObjectKey{Namespace: s.key.Namespace, Name: "prov"}},
		Reconciler: func(inj *operatortest.Injector) reconcile.Reconciler {
			c := inj.Client(s.client)
			return NewProvisionerReconciler(Config{Client: c, Secrets: c, Drivers: map[string]provision.Driver{"test": driver{s.cloud, inj}}})
		},
		Object: func(ctx context.Context) (operator.Object, error) { return get(ctx) },
		Done: func(ctx context.Context) (bool, error) {
			p, err := get(ctx)
			return err == nil && apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady), err
		},
	}
}

// TestProvisionerStaysWhileInUse: it goes when its last cluster has gone, makes no new ones meanwhile, and those that
// it made go on.
func TestProvisionerStaysWhileInUse(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.provisionerWorld())
	operatortest.Converge(t, s.world())
	if err := s.client.Delete(t.Context(), &v1alpha1.Provisioner{ObjectMeta: s.named("prov")}); err != nil {
		t.Fatal(err)
	}
	w := s.provisionerWorld()
	w.Done = func(ctx context.Context) (bool, error) {
		o, err := w.Object(ctx)
		if err != nil {
			return false, err
		}
		k := apimeta.FindStatusCondition(o.Shared().Conditions, v1alpha1.ConditionClustersGone)
		return k != nil && k.Reason == v1alpha1.ReasonProvisionerInUse && strings.HasSuffix(k.Message, ": demo"), nil
	}
	operatortest.Converge(t, w)
	if s.reconcile(t); !s.isReady(t) {
		t.Error("a cluster is not ready any more because its provisioner is being deleted")
	}
	validator := &Validator{Client: s.client, Drivers: map[string]provision.Driver{"test": driver{s.cloud, &operatortest.Injector{}}}}
	more := &v1alpha1.Cluster{ObjectMeta: s.named("more"), Spec: v1alpha1.ClusterSpec{
		Version: "v1.36.2", ProvisionerRef: v1alpha1.ProvisionerReference{Namespace: s.key.Namespace, Name: "prov"},
	}}
	if _, err := validator.ValidateCreate(t.Context(), more); err == nil || !strings.Contains(err.Error(), "is being deleted") {
		t.Errorf("a new cluster of a provisioner that is being deleted: got %v", err)
	}
	operatortest.Converge(t, operatortest.After(t, s.world(), *s.deletion()))
	gone := s.provisionerWorld()
	gone.Done = func(ctx context.Context) (bool, error) {
		_, err := gone.Object(ctx)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	operatortest.Converge(t, gone)
}

func (s *subject) reconcile(t *testing.T) {
	t.Helper()
	w := s.world()
	if _, err := w.Reconciler(&operatortest.Injector{}).Reconcile(t.Context(), w.Request); err != nil {
		t.Fatal(err)
	}
}

func (s *subject) isReady(t *testing.T) bool {
	t.Helper()
	c, err := s.get(t.Context())
	return err == nil && apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady)
}

func TestClustersOf(t *testing.T) {
	p := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "gke"}}
	cluster := func(namespace, name string, of v1alpha1.ProvisionerReference) v1alpha1.Cluster {
		return v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ClusterSpec{ProvisionerRef: of}}
	}
	its := v1alpha1.ProvisionerReference{Namespace: p.Namespace, Name: p.Name}
	all := []v1alpha1.Cluster{
		cluster("org-b", "two", its), cluster("org-a", "one", its), cluster(p.Namespace, "own", its),
		cluster("org-a", "other", v1alpha1.ProvisionerReference{Namespace: "org-a", Name: "gke"}),
	}
	if got := naming(clustersOf(all, p)); got != "org-a/one, org-b/two, own" {
		t.Errorf("got %s", got)
	}
	if got := naming(make([]string, namedClusters+2)); !strings.HasSuffix(got, " and 2 more") {
		t.Errorf("got %s", got)
	}
}
