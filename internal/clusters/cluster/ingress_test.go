package cluster

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func noAddons(context.Context, *v1alpha1.Cluster) ([]v1alpha1.AddonStatus, error) { return nil, nil }

// withIngress is a cluster with a node pool and domains for its applications.
func withIngress(t *testing.T) (*subject, operatortest.World) {
	t.Helper()
	s, w := withAddons(t, noAddons)
	w.Reconciler = func(inj *operatortest.Injector) reconcile.Reconciler {
		c := inj.Client(s.client)
		return New(Config{
			Client: c, Secrets: c, Drivers: map[string]provision.Driver{"test": driver{s.cloud, inj}}, Addons: noAddons,
			Applications: applications(inj),
		})
	}
	return s, w
}

// applications are reached at an address of their cluster's.
func applications(inj *operatortest.Injector) Applications {
	return Applications{
		Domains: func(of types.NamespacedName) []string {
			return []string{of.Name + ".example.org", of.Name + ".localhost"}
		},
		Address: func(context.Context, *v1alpha1.Cluster) (address netip.Addr, err error) {
			err = inj.Read("look where Ingresses answer", func() error { address = netip.MustParseAddr("192.0.2.224"); return nil })
			return address, err
		},
		Port: 7443,
	}
}

func (s *subject) ingressKeys(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	err := s.client.Get(t.Context(), client.ObjectKey{Namespace: s.named("demo").Namespace, Name: "demo-ingress"}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestIngressUnderFaults: the keys are issued once, and the status has their authority and the domains.
func TestIngressUnderFaults(t *testing.T) {
	operatortest.RunParallel(t, func(t *testing.T) operatortest.World {
		s, w := withIngress(t)
		ready := w.Done
		w.Done = func(ctx context.Context) (bool, error) {
			done, err := ready(ctx)
			if !done || err != nil {
				return done, err
			}
			c, err := s.get(ctx)
			if err != nil || c.Status.Ingress == nil {
				return false, err
			}
			keys := s.ingressKeys(t)
			return keys != nil && c.Status.Ingress.Address == "192.0.2.224" && c.Status.Ingress.Port == 7443 && bytes.Equal(keys.Data["ca.crt"], c.Status.Ingress.CA) && apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAddonsReady), nil
		}
		return w
	})
}

// TestIngress: the keys stay as they are, and go with the cluster.
func TestIngress(t *testing.T) {
	s, w := withIngress(t)
	operatortest.Converge(t, w)
	first := s.ingressKeys(t)
	if first == nil {
		t.Fatal("there are no keys")
	}
	if diff := cmp.Diff([]string{"ca.crt", "ca.key", "tls.crt", "tls.key"}, slices.Sorted(maps.Keys(first.Data))); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"demo.example.org", "demo.localhost"}, c.Status.Ingress.Domains); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	operatortest.Converge(t, w)
	if again := s.ingressKeys(t); again.ResourceVersion != first.ResourceVersion {
		t.Error("the keys were written again")
	}
	if err := s.client.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.Done = func(context.Context) (bool, error) { return s.ingressKeys(t) == nil, nil }
	operatortest.Converge(t, w)
}

// TestIngressIsLocated: the address is what is told, also with an error.
func TestIngressIsLocated(t *testing.T) {
	address, problem := netip.MustParseAddr("192.0.2.224"), error(nil)
	r := &reconciler{Config: Config{Applications: Applications{Port: 7443, Address: func(context.Context, *v1alpha1.Cluster) (netip.Addr, error) { return address, problem }}}}
	c := &v1alpha1.Cluster{}
	look := func(what string, want *v1alpha1.ClusterIngress, fails error) {
		t.Helper()
		if err := r.locateIngress(t.Context(), c); !errors.Is(err, fails) {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, c.Status.Ingress); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	look("no domains", nil, nil)
	c.Status.Ingress = &v1alpha1.ClusterIngress{}
	there := &v1alpha1.ClusterIngress{Address: "192.0.2.224", Port: 7443}
	look("there", there, nil)
	problem = errors.New("the cluster does not answer")
	look("as last told", there, problem)
	address = netip.Addr{}
	look("another one's by now", &v1alpha1.ClusterIngress{}, problem)
	address, problem = netip.Addr{}, nil
	look("gone", &v1alpha1.ClusterIngress{}, nil)
}

// TestIngressKeysAreDamaged: the condition says what helps; addons and the cluster go on.
func TestIngressKeysAreDamaged(t *testing.T) {
	s, w := withIngress(t)
	operatortest.Converge(t, w)
	keys := s.ingressKeys(t)
	keys.Data["ca.crt"] = []byte("rubbish")
	if err := s.client.Update(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	r := &reconciler{Config: Config{
		Client: s.client, Secrets: s.client, Now: time.Now, Addons: noAddons,
		Applications: Applications{Domains: func(types.NamespacedName) []string { return []string{"demo.example.org"} }},
	}}
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.addons(t.Context(), c).String(); !strings.Contains(got, v1alpha1.ReasonIngressKeysUnusable) || !strings.Contains(got, "demo-ingress, which is issued again when you delete it: ") {
		t.Errorf("got %s", got)
	}
	if err := s.client.Delete(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	if got := r.addons(t.Context(), c); !got.IsDone() || s.ingressKeys(t) == nil {
		t.Errorf("without them: got %v", got)
	}
}
