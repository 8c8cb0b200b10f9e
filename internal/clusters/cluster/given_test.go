package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// givenWorld is the Cluster of a subject, of a driver that reaches it by what a user has set.
func (s *subject) givenWorld() operatortest.World {
	w := s.world()
	w.Reconciler = func(inj *operatortest.Injector) reconcile.Reconciler {
		c := inj.Client(s.client)
		return New(Config{Client: c, Secrets: c, Drivers: map[string]provision.Driver{"test": given{driver{s.cloud, inj}}}})
	}
	return w
}

// has waits until a condition of the cluster has a reason.
func (s *subject) has(condition, reason string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		c, err := s.get(ctx)
		k := apimeta.FindStatusCondition(c.Status.Conditions, condition)
		return k != nil && k.Reason == reason, err
	}
}

// setKubeconfig sets it as the REST API does.
func (s *subject) setKubeconfig(t *testing.T, kubeconfig string, owned bool) {
	t.Helper()
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: s.named(c.CredentialsSecret()), Type: v1alpha1.SecretTypeClusterCredentials,
		Data: map[string][]byte{"kubeconfig": []byte(kubeconfig)},
	}
	if owned {
		secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind("Cluster"))}
	}
	err = s.client.Create(t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = s.client.Update(t.Context(), secret)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestClusterCredentials: a cluster says that they are missing and what to do, one that is not its own counts for nothing, others
// take their place without a gap, no kubeconfig is published, and nothing is left.
func TestClusterCredentials(t *testing.T) {
	s := newSubject(t)
	w := s.givenWorld()
	w.Done = s.has(v1alpha1.ConditionAccepted, v1alpha1.ReasonCredentialsMissing)
	operatortest.Converge(t, w)
	s.setKubeconfig(t, "first", false)
	operatortest.Converge(t, w)
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if said := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAccepted).Message; !strings.Contains(said, "kqueen cluster import demo --kubeconfig FILE") {
		t.Errorf("it says %q", said)
	}
	s.setKubeconfig(t, "first", true)
	w.Done = s.serves("v1.36.2")
	operatortest.Converge(t, w)
	s.setKubeconfig(t, "wrong", true)
	w.Done = s.has(v1alpha1.ConditionProvisioned, v1alpha1.ReasonCredentialsRefused)
	operatortest.Converge(t, w)
	s.setKubeconfig(t, "second", true)
	w.Done = s.serves("v1.36.2")
	operatortest.Converge(t, w)
	if s.clusters[s.uid].made != 1 {
		t.Errorf("the cluster was made %d times", s.clusters[s.uid].made)
	}
	secrets := func() []string {
		t.Helper()
		list := &corev1.SecretList{}
		if err := s.client.List(t.Context(), list, client.InNamespace(s.key.Namespace)); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	}
	if got := secrets(); !slices.Equal(got, []string{c.CredentialsSecret()}) {
		t.Errorf("the Secrets are %v", got)
	}
	operatortest.Converge(t, operatortest.After(t, w, *s.deletion()))
	if got := secrets(); len(got) > 0 || len(s.clusters) > 0 {
		t.Errorf("left are the Secrets %v and %d clusters", got, len(s.clusters))
	}
}

// TestLetGoWithoutCredentials: a cluster whose credentials are gone can be removed.
func TestLetGoWithoutCredentials(t *testing.T) {
	s := newSubject(t)
	s.setKubeconfig(t, "first", true)
	operatortest.Converge(t, s.givenWorld())
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: s.named(c.CredentialsSecret())}); err != nil {
		t.Fatal(err)
	}
	if err := s.deletion().Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := s.givenWorld()
	w.Done = s.deletion().Done
	operatortest.Converge(t, w)
}

// TestValidatorOfAdopted: at admission no credentials can be there yet; addons and node pools are refused.
func TestValidatorOfAdopted(t *testing.T) {
	s := newSubject(t)
	v := &Validator{Client: s.client, Drivers: map[string]provision.Driver{"test": given{driver{s.cloud, &operatortest.Injector{}}}}}
	ref := v1alpha1.ProvisionerReference{Namespace: s.key.Namespace, Name: "prov"}
	c := &v1alpha1.Cluster{ObjectMeta: s.named("more"), Spec: v1alpha1.ClusterSpec{ProvisionerRef: ref}}
	if _, err := v.ValidateCreate(t.Context(), c); err != nil {
		t.Errorf("a new one: %v", err)
	}
	c.Spec.Addons = []v1alpha1.AddonSetting{{Name: "traefik"}}
	if _, err := v.ValidateCreate(t.Context(), c); err == nil || !strings.Contains(err.Error(), "spec.addons") {
		t.Errorf("with addons: got %v", err)
	}
	c.Spec.Addons, c.Spec.Maintenance = nil, &v1alpha1.Maintenance{}
	if _, err := v.ValidateCreate(t.Context(), c); err == nil || !strings.Contains(err.Error(), "spec.maintenance") {
		t.Errorf("with maintenance: got %v", err)
	}
	bad, ok := errors.AsType[*invalid.Error](v.TakesNodes(t.Context(), s.key))
	if !ok || bad.Field != "spec.clusterName" {
		t.Errorf("a node pool: got %v", bad)
	}
	if err := v.TakesNodes(t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: "none"}); err != nil {
		t.Errorf("a node pool of no cluster: got %v", err)
	}
	v.Drivers["test"] = driver{s.cloud, &operatortest.Injector{}}
	c.Spec.Maintenance = &v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{{Schedule: "at night", DurationSeconds: 3600}}}
	if _, err := v.ValidateCreate(t.Context(), c); err == nil || !strings.Contains(err.Error(), "spec.maintenance.windows[0].schedule") {
		t.Errorf("with a window at no time: got %v", err)
	}
	if err := v.TakesNodes(t.Context(), s.key); err != nil {
		t.Errorf("a node pool of another driver: got %v", err)
	}
}

// TestCheckCredentials: what is to be set is asked of the cluster's driver, which says how it is kept.
func TestCheckCredentials(t *testing.T) {
	s := newSubject(t)
	v := &Validator{Client: s.client, Drivers: map[string]provision.Driver{"test": given{driver{s.cloud, &operatortest.Injector{}}}}}
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := func(kubeconfig string) (map[string][]byte, error) {
		return v.CheckCredentials(t.Context(), c, map[string][]byte{"kubeconfig": []byte(kubeconfig)})
	}
	if kept, err := check("first"); err != nil || string(kept["kubeconfig"]) != "first" {
		t.Errorf("right ones: got %v, %v", kept, err)
	}
	if kept, err := check("wrong"); !errors.Is(err, provision.ErrCredentials) || kept == nil {
		t.Errorf("wrong ones: got %v, %v", kept, err)
	}
	if kept, err := v.CheckCredentials(t.Context(), c, nil); !errors.As(err, new(*invalid.Error)) || kept != nil {
		t.Errorf("none: got %v, %v", kept, err)
	}
	v.Drivers["test"] = driver{s.cloud, &operatortest.Injector{}}
	if kept, err := check("first"); !errors.As(err, new(*invalid.Error)) || kept != nil {
		t.Errorf("of a driver that takes none: got %v, %v", kept, err)
	}
}
