package controlplane

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/storegate"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestNoted(t *testing.T) {
	const kib, mib = int64(1) << 10, int64(1) << 20
	for name, tc := range map[string]struct{ before, measured, want int64 }{
		"the first":          {0, 10, 10},
		"the same":           {10, 10, 10},
		"a little more":      {mib, mib + 63*kib, mib},
		"enough more":        {mib, mib + 64*kib, mib + 64*kib},
		"enough less":        {mib, mib - 64*kib, mib - 64*kib},
		"a twentieth":        {100 * mib, 105 * mib, 105 * mib},
		"less than that":     {100 * mib, 105*mib - 1, 100 * mib},
		"small ones are all": {10, 10 + 63*kib, 10},
	} {
		if got := noted(tc.before, tc.measured); got != tc.want {
			t.Errorf("%s: noted(%d, %d) = %d, want %d", name, tc.before, tc.measured, got, tc.want)
		}
	}
}

func TestStoreExceeded(t *testing.T) {
	planes := []v1alpha1.ControlPlane{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "org-a"}, Status: v1alpha1.ControlPlaneStatus{StoreUsed: resource.NewQuantity(600, resource.BinarySI)}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "org-b"}, Status: v1alpha1.ControlPlaneStatus{StoreUsed: resource.NewQuantity(5000, resource.BinarySI)}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "org-a"}, Status: v1alpha1.ControlPlaneStatus{StoreUsed: resource.NewQuantity(400, resource.BinarySI)}},
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "org-a"}, Spec: v1alpha1.ControlPlaneSpec{CopyOf: "a copy is in no quota"},
			Status: v1alpha1.ControlPlaneStatus{StoreUsed: resource.NewQuantity(70, resource.BinarySI)},
		},
	}
	if got := held(planes, "org-a"); got != 1000 {
		t.Errorf("org-a holds %d, want 1000", got)
	}
	for limit, want := range map[string]bool{"0": true, "999": true, "1k": true, "1001": false} {
		if got := storeExceeded(ptr.To(resource.MustParse(limit)), 1000); got != want {
			t.Errorf("1000 of %s: %t, want %t", limit, got, want)
		}
	}
	if storeExceeded(nil, 1<<60) {
		t.Error("no quota is exceeded")
	}
}

// inOrganization is a plane that is made, in an organization with a quota of a mebibyte, and measured by a meter.
func inOrganization(t *testing.T) (p *plane, m *Meter, notified *[]types.UID) {
	t.Helper()
	c := controlplanetest.Client(t)
	o := &v1alpha1.Organization{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "store-"},
		Spec:       v1alpha1.OrganizationSpec{Quota: &v1alpha1.Quota{Store: ptr.To(resource.MustParse("1Mi"))}},
	}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.OwnedNamespace()}}); err != nil {
		t.Fatal(err)
	}
	p = newPlaneIn(t, o.OwnedNamespace())
	notified = &[]types.UID{}
	gates := lines{p.outside, &operatortest.Injector{}}.gates()
	m = NewMeter(inNamespace{c, o.OwnedNamespace()}, gates, func(uid types.UID) { *notified = append(*notified, uid) }, slog.New(slog.DiscardHandler), func() time.Time { return p.now })
	p.sizes = m
	operatortest.Converge(t, p.world())
	return p, m, notified
}

// inNamespace hides the control planes of other tests.
type inNamespace struct {
	client.Reader
	namespace string
}

func (r inNamespace) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.Reader.List(ctx, list, append(options, client.InNamespace(r.namespace))...)
}

// hold has the plane hold bytes, and its gate tell it.
func (p *plane) hold(t *testing.T, m *Meter, bytes int64) {
	t.Helper()
	keyspace, err := datastore.NewKeyspace(p.uid)
	if err != nil {
		t.Fatal(err)
	}
	p.bytes = map[datastore.Keyspace]int64{keyspace: bytes}
	if err := m.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// says converges until the condition about the quota is there with a reason, and returns the plane.
func (p *plane) says(t *testing.T, reason string) *v1alpha1.ControlPlane {
	t.Helper()
	return p.saysOf(t, v1alpha1.ConditionStoreQuotaExceeded, reason)
}

// measured converges until the condition about measuring is there with a reason.
func (p *plane) measured(t *testing.T, reason string) {
	t.Helper()
	p.saysOf(t, v1alpha1.ConditionStoreUnmeasured, reason)
}

func (p *plane) saysOf(t *testing.T, condition, reason string) *v1alpha1.ControlPlane {
	t.Helper()
	w := p.world()
	w.Done = func(ctx context.Context) (bool, error) {
		cp, err := p.get(ctx)
		c := apimeta.FindStatusCondition(cp.Status.Conditions, condition)
		return err == nil && ready(cp) && c != nil && c.Reason == reason, err
	}
	operatortest.Converge(t, w)
	cp, err := p.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cp
}

// TestStoreQuota: a control plane says what it holds, and that its organization holds too much; it stays ready.
func TestStoreQuota(t *testing.T) {
	p, m, notified := inOrganization(t)
	if cp, err := p.get(t.Context()); err != nil || apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionStoreQuotaExceeded) != nil {
		t.Errorf("there is a condition before there was too much (%v)", err)
	}
	p.hold(t, m, 2<<20)
	if !slices.Equal(*notified, []types.UID{types.UID(p.uid)}) {
		t.Errorf("notified are %v, want %s once", *notified, p.uid)
	}
	cp := p.says(t, v1alpha1.ReasonStoreQuotaExceeded)
	if cp.Status.StoreBytes() != 2<<20 {
		t.Errorf("it holds %d bytes, want 2 MiB", cp.Status.StoreBytes())
	}
	*notified = nil
	p.hold(t, m, 1<<19)
	if len(*notified) != 1 {
		t.Errorf("notified are %v, want one", *notified)
	}
	if cp := p.says(t, v1alpha1.ReasonStoreWithinQuota); cp.Status.StoreBytes() != 1<<19 {
		t.Errorf("it holds %d bytes, want 512 KiB", cp.Status.StoreBytes())
	}
}

// TestStoreQuotaChanges: who changes the quota need not wait until something is held.
func TestStoreQuotaChanges(t *testing.T) {
	p, m, notified := inOrganization(t)
	p.hold(t, m, 1<<19)
	*notified = nil
	o := &v1alpha1.Organization{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Name: p.key.Namespace[len(v1alpha1.NamespacePrefix):]}, o); err != nil {
		t.Fatal(err)
	}
	operatortest.Converge(t, p.world())
	o.Spec.Quota.Store = ptr.To(resource.MustParse("100Ki"))
	if err := p.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := m.Step(t.Context()); err != nil || len(*notified) != 1 {
		t.Errorf("notified are %v (%v), want one", *notified, err)
	}
	p.says(t, v1alpha1.ReasonStoreQuotaExceeded)
}

// TestStoreUnmeasured: what was not known for an hour counts for nothing: the control plane says so, and Limits refuse
// the organization a further cluster. Until then it is what it was.
func TestStoreUnmeasured(t *testing.T) {
	for name, silent := range map[string]FixedGates{
		"a gate that tells nothing": {"default": {Usage: func() (storegate.Usage, error) { return storegate.Usage{}, errors.New("no file") }}},
		"no gate":                   {},
	} {
		t.Run(name, func(t *testing.T) {
			p, m, notified := inOrganization(t)
			p.hold(t, m, 700)
			gates := m.gates
			m.gates = silent
			p.now = p.now.Add(unmeasuredAfter)
			_ = m.Step(t.Context())
			if bytes, ok := m.StoreBytes(types.UID(p.uid)); bytes != 700 || !ok || m.Unmeasured(types.UID(p.uid)) {
				t.Fatalf("%d bytes, %t; want what was known within the hour", bytes, ok)
			}
			*notified = nil
			p.now = p.now.Add(time.Second)
			if err := m.Step(t.Context()); err == nil {
				t.Fatal("it is known")
			}
			if !slices.Equal(*notified, []types.UID{types.UID(p.uid)}) {
				t.Errorf("notified are %v, want %s once", *notified, p.uid)
			}
			p.says(t, v1alpha1.ReasonStoreUnmeasured)
			m.gates = gates
			p.hold(t, m, 700)
			p.says(t, v1alpha1.ReasonStoreWithinQuota)
		})
	}
}

// TestStoreUnmeasuredBesideExceeded: what was too much before it was not known any more is no reason not to say that, and
// the organization gets no further cluster for either.
func TestStoreUnmeasuredBesideExceeded(t *testing.T) {
	p, m, notified := inOrganization(t)
	p.hold(t, m, 2<<20)
	p.says(t, v1alpha1.ReasonStoreQuotaExceeded)
	gates := m.gates
	m.gates = FixedGates{}
	p.now = p.now.Add(unmeasuredAfter + meterInterval)
	*notified = nil
	if err := m.Step(t.Context()); err == nil {
		t.Fatal("it is known")
	}
	if err := m.Step(t.Context()); err == nil || len(*notified) != 1 {
		t.Errorf("notified are %v (%v), want one", *notified, err)
	}
	p.measured(t, v1alpha1.ReasonStoreUnmeasured)
	p.says(t, v1alpha1.ReasonStoreQuotaExceeded)
	m.gates = gates
	p.hold(t, m, 2<<20)
	p.measured(t, v1alpha1.ReasonStoreMeasured)
	p.says(t, v1alpha1.ReasonStoreQuotaExceeded)
}

// TestStoreQuotaByGate: what a gate has counted is known at once, and counts for nothing when the gate
// has told nothing for an hour.
func TestStoreQuotaByGate(t *testing.T) {
	p, m, notified := inOrganization(t)
	for _, step := range []struct {
		bytes  int64
		reason string
	}{{2 << 20, v1alpha1.ReasonStoreQuotaExceeded}, {1 << 10, v1alpha1.ReasonStoreWithinQuota}} {
		*notified = nil
		p.hold(t, m, step.bytes)
		if !slices.Equal(*notified, []types.UID{types.UID(p.uid)}) {
			t.Errorf("notified are %v, want %s once", *notified, p.uid)
		}
		if cp := p.says(t, step.reason); cp.Status.StoreBytes() != step.bytes {
			t.Errorf("it holds %d bytes, want %d", cp.Status.StoreBytes(), step.bytes)
		}
	}
	p.bytes = nil
	if err := m.Step(t.Context()); err != nil {
		t.Errorf("a gate that has just begun: %v", err)
	}
	p.now = p.now.Add(unmeasuredAfter + time.Second)
	if err := m.Step(t.Context()); err == nil || !m.Unmeasured(types.UID(p.uid)) {
		t.Errorf("a gate that tells nothing: %v", err)
	}
	p.says(t, v1alpha1.ReasonStoreUnmeasured)
	p.hold(t, m, 1<<10)
	p.says(t, v1alpha1.ReasonStoreWithinQuota)
}
