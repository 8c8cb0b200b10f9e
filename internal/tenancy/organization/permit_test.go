package organization

import (
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// ourProvisioner is one of an organization's own, over a data store.
func ourProvisioner(namespace, store string) *v1alpha1.Provisioner {
	p := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ours-" + store}, Spec: v1alpha1.ProvisionerSpec{Driver: "hosted"}}
	p.Spec.Parameters = &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"dataStoreName":%q}`, store)}
	return p
}

// TestOwnProvisioners: what an organization may not use it does not get by a provisioner of its own, and what an
// administrator takes back is used no further by what is there.
func TestOwnProvisioners(t *testing.T) {
	c := admitting(t)
	o := organizationOf(t, c, v1alpha1.OrganizationSpec{ProvisionerNames: []string{"hosted"}})
	namespace := o.OwnedNamespace()
	refused(t, c.Create(t.Context(), ourProvisioner(namespace, "rival")), `spec.parameters: the organization may not use the data store "rival"; it may use: default`)
	ours := ourProvisioner(namespace, "default")
	if err := c.Create(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	moved := ours.DeepCopy()
	moved.Spec.Parameters = ourProvisioner(namespace, "rival").Spec.Parameters
	refused(t, c.Update(t.Context(), moved), `may not use the data store "rival"`)
	first := aCluster(namespace, "first")
	first.Spec.ProvisionerRef = v1alpha1.ProvisionerReference{Namespace: namespace, Name: ours.Name}
	await(t, func() bool { return c.Create(t.Context(), first.DeepCopy()) == nil })

	o.Spec.DataStoreNames, o.Spec.Drivers = []string{"other"}, []string{"gke"}
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	second := first.DeepCopy()
	second.Name = "second"
	await(t, func() bool { return c.Create(t.Context(), second.DeepCopy(), client.DryRunAll) != nil })
	refused(t, c.Create(t.Context(), second), `spec.provisionerRef: the organization may not use the driver "hosted"; it may use: gke`)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(first), first); err != nil {
		t.Fatal(err)
	}
	first.Spec.Network.ExtraSANs = []string{"first.example.com"}
	if err := c.Update(t.Context(), first); err != nil {
		t.Errorf("a cluster that is there: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(ours), ours); err != nil {
		t.Fatal(err)
	}
	ours.Labels = map[string]string{"team": "blue"}
	if err := c.Update(t.Context(), ours); err != nil {
		t.Errorf("a provisioner that is there: %v", err)
	}
}

// TestPodSecurity: privileged pods are an administrator's to allow, and what was allowed goes on when that is taken back.
func TestPodSecurity(t *testing.T) {
	c := admitting(t)
	o := organizationOf(t, c, v1alpha1.OrganizationSpec{})
	namespace := o.OwnedNamespace()
	risky := aCluster(namespace, "risky")
	risky.Spec.PodSecurity = v1alpha1.PodSecurityPrivileged
	refused(t, c.Create(t.Context(), risky.DeepCopy()), `spec.podSecurity: the organization may not use the Pod Security level "privileged"; it may use: baseline, restricted; an administrator`)
	o.Spec.PodSecurity = v1alpha1.PodSecurityPrivileged
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return c.Create(t.Context(), risky.DeepCopy()) == nil })
	o.Spec.PodSecurity = v1alpha1.PodSecurityRestricted
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return c.Create(t.Context(), aCluster(namespace, "unsaid"), client.DryRunAll) != nil })
	refused(t, c.Create(t.Context(), aCluster(namespace, "unsaid")), `spec.podSecurity: the organization may not use the Pod Security level "baseline"; it may use: restricted`)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(risky), risky); err != nil {
		t.Fatal(err)
	}
	risky.Spec.Network.ExtraSANs = []string{"risky.example.com"}
	if err := c.Update(t.Context(), risky); err != nil {
		t.Errorf("a cluster that is there: %v", err)
	}
	risky.Spec.PodSecurity = v1alpha1.PodSecurityRestricted
	if err := c.Update(t.Context(), risky); err != nil {
		t.Errorf("a cluster that is hardened: %v", err)
	}
	risky.Spec.PodSecurity = v1alpha1.PodSecurityPrivileged
	refused(t, c.Update(t.Context(), risky), `may not use the Pod Security level "privileged"`)
	risky.Spec.PodSecurity = ""
	if err := c.Update(t.Context(), risky); !apierrors.IsInvalid(err) {
		t.Errorf("the level is left out: %v", err)
	}
}

// TestMachineProviders: an organization has machines of the host when an administrator says so, and as many.
func TestMachineProviders(t *testing.T) {
	c := admitting(t)
	o := organizationOf(t, c, v1alpha1.OrganizationSpec{})
	namespace := o.OwnedNamespace()
	refused(t, c.Create(t.Context(), aPool(namespace, "here", 1)), `spec.template.provider: the organization may not use the machine provider "local"; it may use: manual; an administrator`)
	joined := aPool(namespace, "joined", 3)
	joined.Spec.Template.Provider = v1alpha1.ProviderManual
	if err := c.Create(t.Context(), joined); err != nil {
		t.Errorf("machines that the user joins: %v", err)
	}
	o.Spec.MachineProviders = []string{v1alpha1.ProviderLocal, v1alpha1.ProviderManual}
	o.Spec.Quota = &v1alpha1.Quota{Machines: &v1alpha1.MachineQuota{Local: ptr.To[int32](2)}}
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var last error
	defer func() { t.Logf("the last answer: %v", last) }()
	await(t, func() bool {
		last = c.Create(t.Context(), aPool(namespace, "here", 1), client.DryRunAll)
		return last == nil
	})
	refused(t, c.Create(t.Context(), aPool(namespace, "here", 3)), "spec.replicas: the organization's quota of local machines is 2, of which 0 are used; this needs 3 more")
	if err := c.Create(t.Context(), aPool(namespace, "here", 2)); err != nil {
		t.Fatal(err)
	}
	o.Spec.MachineProviders, o.Spec.Quota = nil, nil
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return c.Create(t.Context(), aPool(namespace, "more", 1), client.DryRunAll) != nil })
	scale := func(replicas int32) error {
		body := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "here"}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		return c.SubResource("scale").Update(t.Context(), aPool(namespace, "here", 0), client.WithSubResourceBody(body))
	}
	refused(t, scale(3), `may not use the machine provider "local"`)
	if err := scale(1); err != nil {
		t.Errorf("a pool that is there becomes smaller: %v", err)
	}
}
