package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// withAddons is a cluster with a node pool, of which a call tells how the addons are.
func withAddons(t *testing.T, tell func(context.Context, *v1alpha1.Cluster) ([]v1alpha1.AddonStatus, error)) (*subject, operatortest.World) {
	t.Helper()
	s := newSubject(t)
	s.create(t, &v1alpha1.NodePool{ObjectMeta: s.named("demo"), Spec: v1alpha1.NodePoolSpec{ClusterName: "demo"}})
	w := s.world()
	w.Reconciler = func(inj *operatortest.Injector) reconcile.Reconciler {
		c := inj.Client(s.client)
		return New(Config{Client: c, Secrets: c, Drivers: map[string]provision.Driver{"test": driver{s.cloud, inj}}, Addons: func(ctx context.Context, c *v1alpha1.Cluster) (all []v1alpha1.AddonStatus, err error) {
			err = inj.Read("look at the addons", func() error { all, err = tell(ctx, c); return err })
			return all, err
		}})
	}
	return s, w
}

// TestAddonsUnderFaults: a cluster is ready whatever its addons say, and comes to say what they say.
func TestAddonsUnderFaults(t *testing.T) {
	operatortest.RunParallel(t, func(t *testing.T) operatortest.World {
		s, w := withAddons(t, func(context.Context, *v1alpha1.Cluster) ([]v1alpha1.AddonStatus, error) {
			return []v1alpha1.AddonStatus{{Name: "coredns", State: v1alpha1.AddonReady}}, nil
		})
		ready := w.Done
		w.Done = func(ctx context.Context) (bool, error) {
			done, err := ready(ctx)
			if !done || err != nil {
				return done, err
			}
			c, err := s.get(ctx)
			return err == nil && len(c.Status.Addons) == 1 && apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAddonsReady), err
		}
		return w
	})
}

// TestAddonsAreAside: Ready does not depend on addons, and their condition says what is wrong.
func TestAddonsAreAside(t *testing.T) {
	for name, tc := range map[string]struct {
		all  []v1alpha1.AddonStatus
		err  error
		want string // of the condition
	}{
		"Unreachable": {nil, errors.New("the cluster does not answer"), "False AddonsUnreachable the cluster does not answer"},
		"Failed": {
			[]v1alpha1.AddonStatus{{Name: "a", State: v1alpha1.AddonProgressing, Message: "soon"}, {Name: "b", State: v1alpha1.AddonFailed, Message: "no"}}, nil,
			"False AddonsFailed b: no",
		},
		"Progressing": {
			[]v1alpha1.AddonStatus{{Name: "a", State: v1alpha1.AddonReady}, {Name: "b", State: v1alpha1.AddonProgressing, Message: "soon"}}, nil,
			"False AddonsProgressing b: soon",
		},
		"UserOwned": {
			[]v1alpha1.AddonStatus{{Name: "a", State: v1alpha1.AddonReady}, {Name: "b", State: v1alpha1.AddonUserOwned, Message: "of Helm"}}, nil,
			"True AddonsReady 2 addons",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, w := withAddons(t, func(context.Context, *v1alpha1.Cluster) ([]v1alpha1.AddonStatus, error) { return tc.all, tc.err })
			operatortest.Converge(t, w)
			c, err := s.get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAddonsReady)
			if got == nil || string(got.Status)+" "+got.Reason+" "+got.Message != tc.want || !apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
				t.Errorf("got %+v, want %q and Ready", c.Status.Conditions, tc.want)
			}
		})
	}
}

// TestAddonsComeWithNodes: a cluster without node pools is not asked about addons, and loses what it said of them.
func TestAddonsComeWithNodes(t *testing.T) {
	s := newSubject(t)
	r := &reconciler{Config: Config{Client: s.client, Addons: func(context.Context, *v1alpha1.Cluster) ([]v1alpha1.AddonStatus, error) {
		t.Error("it was asked")
		return nil, nil
	}}}
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Status.Addons = []v1alpha1.AddonStatus{{Name: "coredns", State: v1alpha1.AddonReady}}
	if got := r.addons(t.Context(), c); !got.IsDone() || !strings.Contains(got.String(), "the first node pool") || c.Status.Addons != nil {
		t.Errorf("got %v and %v", got, c.Status.Addons)
	}
}

// TestAddonsAgain: addons that are never ready are not looked at every few seconds for long.
func TestAddonsAgain(t *testing.T) {
	now := time.Now()
	r := &reconciler{Config: Config{Now: func() time.Time { return now }}}
	for name, tc := range map[string]struct {
		condition []metav1.Condition
		want      time.Duration
	}{
		"Never": {nil, addonsSoon},
		"Fresh": {[]metav1.Condition{{Type: v1alpha1.ConditionAddonsReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}}, addonsSoon},
		"Old":   {[]metav1.Condition{{Type: v1alpha1.ConditionAddonsReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}, observeInterval},
	} {
		c := &v1alpha1.Cluster{}
		c.Status.Conditions = tc.condition
		if got := r.addonsAgain(c); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
