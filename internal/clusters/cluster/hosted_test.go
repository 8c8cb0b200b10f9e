package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// hostedSubject is a Cluster of the driver hosted. The test takes the part of the reconciler of ControlPlane.
type hostedSubject struct {
	*subject
	keys pki.Bundle
}

const holder = "kqueen.io/test"

func newHosted(t *testing.T) *hostedSubject {
	t.Helper()
	s := newSubject(t)
	namespace := catalogue(t, s.client)
	s.key = client.ObjectKey{Namespace: namespace, Name: "demo"}
	c := &v1alpha1.Cluster{ObjectMeta: s.named("demo"), Spec: v1alpha1.ClusterSpec{
		Version: "v1.36.1", ProvisionerRef: v1alpha1.ProvisionerReference{Namespace: namespace, Name: "hosted"},
	}}
	s.create(t, c)
	s.uid = c.UID
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "ca", Lifetime: 48 * time.Hour}},
		Leaves:      []pki.Leaf{{Name: "admin", Authority: "ca", CommonName: "admin", Usage: pki.Client, Lifetime: 24 * time.Hour}},
	}, nil, time.Now())
	if err != nil {
		t.Fatalf("issue keys: %v", err)
	}
	return &hostedSubject{s, keys}
}

func (s *hostedSubject) world() operatortest.World {
	w := s.subject.world()
	w.Reconciler = func(inj *operatortest.Injector) reconcile.Reconciler {
		c := inj.Client(s.client)
		drivers := map[string]provision.Driver{"hosted": hosted.New(hosted.Config{Client: c, Secrets: c})}
		return New(Config{Client: c, Secrets: c, Drivers: drivers})
	}
	w.Step, w.Done, w.Snapshot = s.host, s.serves("v1.36.1"), s.snapshot
	return w
}

// host moves the control plane by one step, as its reconciler would: keys, then all the rest; removal.
func (s *hostedSubject) host(ctx context.Context) (bool, error) {
	cp := &v1alpha1.ControlPlane{}
	if err := s.client.Get(ctx, s.key, cp); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if !cp.DeletionTimestamp.IsZero() {
		secret := &corev1.Secret{ObjectMeta: s.named(cp.KeysSecret())}
		if err := client.IgnoreNotFound(s.client.Delete(ctx, secret)); err != nil {
			return false, err
		}
		controllerutil.RemoveFinalizer(cp, holder)
		return true, s.client.Update(ctx, cp)
	}
	if controllerutil.AddFinalizer(cp, holder) {
		return true, s.client.Update(ctx, cp)
	}
	if cp.Status.ObservedGeneration == cp.Generation {
		return false, nil
	}
	secret := &corev1.Secret{ObjectMeta: s.named(cp.KeysSecret()), Data: s.keys}
	if err := client.IgnoreAlreadyExists(s.client.Create(ctx, secret)); err != nil {
		return false, err
	}
	cp.Status.ObservedGeneration, cp.Status.Version = cp.Generation, cp.Spec.Version
	cp.Status.Endpoint = &v1alpha1.ControlPlaneEndpoint{ServerName: "demo.test", Gateway: "192.0.2.1:6443", Address: "192.0.2.1", Port: 20001}
	apimeta.SetStatusCondition(&cp.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady, ObservedGeneration: cp.Generation,
	})
	return true, s.client.Status().Update(ctx, cp)
}

func (s *hostedSubject) snapshot(ctx context.Context) (any, error) {
	got, err := s.subject.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	e := got.(end)
	list := &v1alpha1.ControlPlaneList{}
	if err := s.client.List(ctx, list, client.InNamespace(s.key.Namespace)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		cp := &list.Items[i]
		spec, err := json.Marshal(cp.Spec) // printed, it would have addresses
		if err != nil {
			return nil, err
		}
		e.Cloud = append(e.Cloud, fmt.Sprint(cp.Name, string(spec), metav1.IsControlledBy(cp, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{UID: s.uid}})))
	}
	// Keys and names of objects differ from World to World; that there is a kubeconfig does not.
	for i := range e.Secrets {
		e.Secrets[i] = fmt.Sprint(len(e.Secrets[i]) > 1000)
	}
	slices.Sort(e.Secrets)
	return e, nil
}

func TestHostedClusterUnderFaults(t *testing.T) {
	tests := map[string]func(t *testing.T, s *hostedSubject) operatortest.World{
		"Create": func(_ *testing.T, s *hostedSubject) operatortest.World { return s.world() },
		"Delete": func(t *testing.T, s *hostedSubject) operatortest.World {
			return operatortest.After(t, s.world(), *s.deletion())
		},
		"DeleteHalfMade": func(_ *testing.T, s *hostedSubject) operatortest.World {
			w := s.world()
			w.Then = s.deletion()
			return w
		},
	}
	for name, world := range tests {
		t.Run(name, func(t *testing.T) {
			operatortest.RunParallel(t, func(t *testing.T) operatortest.World { return world(t, newHosted(t)) })
		})
	}
}

// TestHostedUpgrade: a cluster is not ready again before its control plane runs the new version.
func TestHostedUpgrade(t *testing.T) {
	s := newHosted(t)
	operatortest.Converge(t, s.world())
	err := s.client.Patch(t.Context(), &v1alpha1.Cluster{ObjectMeta: s.named("demo")}, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"version":"v1.36.2"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	w := s.world()
	if _, err := w.Reconciler(&operatortest.Injector{}).Reconcile(t.Context(), w.Request); err != nil {
		t.Fatal(err)
	}
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	operatortest.CheckStatus(t, c)
	if apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
		t.Error("the cluster says Ready of a version that does not run yet")
	}
	w.Done = s.serves("v1.36.2")
	operatortest.Converge(t, w)
}

// TestForeignControlPlane: a ControlPlane that was made by hand is neither taken over nor deleted.
func TestForeignControlPlane(t *testing.T) {
	s := newHosted(t)
	foreign := &v1alpha1.ControlPlane{ObjectMeta: s.named("demo"), Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.2"}}
	s.create(t, foreign)
	w := s.world()
	r := w.Reconciler(&operatortest.Injector{})
	if _, err := r.Reconcile(t.Context(), w.Request); err != nil {
		t.Fatal(err)
	}
	c, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	operatortest.CheckStatus(t, c)
	if k := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); k.Reason != v1alpha1.ReasonProvisionerFailed || c.Status.NextRetryTime == nil {
		t.Errorf("want the cluster to say what is in its way and to try again, got %+v", k)
	}
	operatortest.Converge(t, operatortest.After(t, operatortest.World{
		Request: w.Request, Reconciler: w.Reconciler, Object: w.Object, Done: func(context.Context) (bool, error) { return true, nil },
	}, *s.deletion()))
	after := &v1alpha1.ControlPlane{}
	if err := s.client.Get(t.Context(), s.key, after); err != nil || after.UID != foreign.UID || after.Generation != foreign.Generation {
		t.Errorf("the foreign ControlPlane was touched: %v", err)
	}
}

// TestForeignSecret: a Secret that was made by hand is neither overwritten nor deleted.
func TestForeignSecret(t *testing.T) {
	s := newSubject(t)
	foreign := &corev1.Secret{ObjectMeta: s.named("demo-kubeconfig"), Data: map[string][]byte{"mine": []byte("kept")}}
	s.create(t, foreign)
	w := s.world()
	w.Done = func(ctx context.Context) (bool, error) {
		c, err := s.get(ctx)
		k := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionKubeconfigReady)
		return k != nil && k.Reason == v1alpha1.ReasonKubeconfigPending && c.Status.NextRetryTime != nil, err
	}
	operatortest.Converge(t, w)
	operatortest.Converge(t, operatortest.After(t, w, *s.deletion()))
	after := &corev1.Secret{}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), after); err != nil || after.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the foreign Secret was touched: %v", err)
	}
}

// TestProvisionerIsGone: a cluster cannot be removed without its provisioner; it says so, and goes on when it is back.
func TestProvisionerIsGone(t *testing.T) {
	s := newSubject(t)
	waiting := operatortest.After(t, s.world(), operatortest.Act{Do: func(ctx context.Context) error {
		if err := s.client.Delete(ctx, &v1alpha1.Provisioner{ObjectMeta: s.named("prov")}); err != nil {
			return err
		}
		return s.deletion().Do(ctx)
	}})
	waiting.Done = func(ctx context.Context) (bool, error) {
		c, err := s.get(ctx)
		k := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionProvisioned)
		return k != nil && k.Reason == v1alpha1.ReasonProvisionerNotFound && c.Status.NextRetryTime != nil, err
	}
	operatortest.Converge(t, waiting)
	s.create(t, &v1alpha1.Provisioner{ObjectMeta: s.named("prov"), Spec: v1alpha1.ProvisionerSpec{Driver: "test"}})
	waiting.Done = s.deletion().Done
	operatortest.Converge(t, waiting)
	if len(s.clusters) != 0 {
		t.Error("the cluster is gone and the cloud still has it")
	}
	if err := s.client.Get(t.Context(), s.key, &v1alpha1.Cluster{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Cluster is still there: %v", err)
	}
}

func TestJudgeDriver(t *testing.T) {
	drivers := map[string]provision.Driver{"test": driver{&cloud{}, &operatortest.Injector{}}}
	tests := map[string]struct {
		spec v1alpha1.ProvisionerSpec
		want string
	}{
		"Accepted":       {v1alpha1.ProvisionerSpec{Driver: "test", Parameters: raw(`{"region":"north"}`)}, "done DriverAccepted: Clusters of the test."},
		"NoParameters":   {v1alpha1.ProvisionerSpec{Driver: "test"}, "done DriverAccepted: Clusters of the test."},
		"UnknownDriver":  {v1alpha1.ProvisionerSpec{Driver: "warp"}, `stalled DriverUnknown: spec.driver: there is no driver "warp"; known: test`},
		"UnknownRegion":  {v1alpha1.ProvisionerSpec{Driver: "test", Parameters: raw(`{"region":"up"}`)}, "stalled ParametersInvalid: spec.parameters.region: value must be one of 'north', 'south'"},
		"UnknownSetting": {v1alpha1.ProvisionerSpec{Driver: "test", Parameters: raw(`{"zone":"up"}`)}, "stalled ParametersInvalid: spec.parameters: additional properties 'zone' not allowed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := (&provisioners{Config{Drivers: drivers}}).judge(t.Context(), &v1alpha1.Provisioner{Spec: tc.spec})
			if got.String() != tc.want {
				t.Errorf("want %s\ngot  %s", tc.want, got)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		observed provision.Observed
		want     string
	}{
		"Healthy":  {provision.Observed{State: provision.Healthy, Message: "unused"}, "done Provisioned: the API server is healthy"},
		"Creating": {provision.Observed{State: provision.Creating, Message: "keys"}, "wait Provisioning: keys"},
		"Degraded": {provision.Observed{State: provision.Degraded, Message: "down"}, "wait Degraded: down"},
		"Failed":   {provision.Observed{State: provision.Failed, Message: "no 100% quota"}, "stalled ProvisionerFailed: no 100% quota"},
		"Nonsense": {provision.Observed{State: "Odd"}, `stalled ProvisionerFailed: the driver reports the state "Odd", which is none`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judge(tc.observed); got.String() != tc.want {
				t.Errorf("want %s\ngot  %s", tc.want, got)
			}
		})
	}
}

// TestRestoreOf: only a cluster whose Restore has not written all stands still for it, whatever the cluster's label says.
func TestRestoreOf(t *testing.T) {
	rs := v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{UID: "r1"}, Spec: v1alpha1.RestoreSpec{NewClusterName: "new"}}
	written := rs
	written.Status.WrittenTime = &metav1.Time{Time: time.Unix(1, 0)}
	for name, tc := range map[string]struct {
		restores               []v1alpha1.Restore
		cluster, version, want string
	}{
		"BeingWritten":    {[]v1alpha1.Restore{rs}, "new", "", "r1"},
		"Written":         {[]v1alpha1.Restore{written}, "new", "", ""},
		"HasRun":          {[]v1alpha1.Restore{rs}, "new", "v1.36.3", ""},
		"LabelWasCopied":  {[]v1alpha1.Restore{rs}, "copy", "", ""},
		"RestoreIsNoMore": {nil, "new", "", ""},
	} {
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: tc.cluster, Labels: map[string]string{v1alpha1.LabelRestore: "r1"}}}
		c.Status.Version = tc.version
		if got := restoreOf(c, tc.restores); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
