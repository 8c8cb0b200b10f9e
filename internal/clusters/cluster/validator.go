package cluster

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/hibernation"
	"kqueen.io/kqueen/internal/clusters/maintenance"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/schema"
)

// Validator answers at admission whether a cluster can be had, so that a user who asks for what cannot be is told at
// once and nothing half-done stays. What the schema can say is said there, and what addons may be set to by package addons. The
// zero value of what is not exported is ready.
type Validator struct {
	// Client of the admin plane. It reads Secrets without a cache.
	Client client.Reader
	// Drivers by name.
	Drivers map[string]provision.Driver

	once  sync.Once
	calls calls
}

// ValidateCreate refuses a cluster whose provisioner is missing or does not take it.
func (v *Validator) ValidateCreate(ctx context.Context, c *v1alpha1.Cluster) (admission.Warnings, error) {
	return nil, v.validate(ctx, nil, c)
}

// ValidateUpdate refuses a change that the provisioner does not take. What is being deleted may lose
// its finalizer whatever its spec says.
func (v *Validator) ValidateUpdate(ctx context.Context, old, c *v1alpha1.Cluster) (admission.Warnings, error) {
	if !c.DeletionTimestamp.IsZero() || old.Generation == c.Generation {
		return nil, nil
	}
	return nil, v.validate(ctx, old, c)
}

// ValidateDelete allows every deletion.
func (v *Validator) ValidateDelete(context.Context, *v1alpha1.Cluster) (admission.Warnings, error) {
	return nil, nil
}

func (v *Validator) validate(ctx context.Context, old, c *v1alpha1.Cluster) error {
	err := v.check(ctx, old, c)
	bad, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		return err
	}
	kind := v1alpha1.GroupVersion.WithKind("Cluster").GroupKind()
	return apierrors.NewInvalid(kind, c.Name, field.ErrorList{
		{Type: field.ErrorTypeForbidden, Field: bad.Field, Detail: bad.Detail()},
	})
}

func (v *Validator) bound() { v.calls.deadline = admissionDeadline }

func (v *Validator) check(ctx context.Context, old, c *v1alpha1.Cluster) error {
	v.once.Do(v.bound)
	if err := checkTimes(old, c); err != nil {
		return err
	}
	t, err := finder{provisioners: v.Client, secrets: v.Client, drivers: v.Drivers, calls: &v.calls}.find(ctx, c)
	if err != nil {
		return err
	}
	// Parameters that the cluster has already it keeps: a driver that does not know one any more says so in the condition
	// Accepted, and keeps no user from changing the rest.
	if old == nil || !schema.Same(rawOf(old.Spec.Parameters), rawOf(c.Spec.Parameters)) {
		if err := t.checkParameters(); err != nil {
			return err
		}
	}
	if _, ok := t.Driver.(provision.CredentialChecker); ok {
		if err := checkAdopted(c); err != nil {
			return err
		}
	}
	if old == nil {
		return t.check(ctx, nil)
	}
	before := t.want
	// What the cluster runs it may go on to run: an upgrade that has not come true is taken back so.
	from := old.Spec.Version
	if c.Spec.Version != "" && c.Spec.Version == old.Status.Version {
		from = c.Spec.Version
	}
	before.EmulatedVersion = old.Status.EmulatedVersion
	before.Version, before.Network, before.PodSecurity, before.ClusterParameters = from, old.Spec.Network, old.Spec.PodSecurity, rawOf(old.Spec.Parameters)
	return t.check(ctx, &before)
}

// checkTimes says what is wrong with schedules, where they are others than before. It is pure.
func checkTimes(old, c *v1alpha1.Cluster) error {
	if old == nil || !equality.Semantic.DeepEqual(old.Spec.Maintenance, c.Spec.Maintenance) {
		if _, err := maintenance.Parse(c.Spec.Maintenance); err != nil {
			return err
		}
	}
	if old == nil || !equality.Semantic.DeepEqual(old.Spec.Hibernation, c.Spec.Hibernation) {
		return hibernation.Check(c.Spec.Hibernation)
	}
	return nil
}

// checkAdopted refuses what KQueen does for clusters alone that it has created. It is pure.
func checkAdopted(c *v1alpha1.Cluster) error {
	switch {
	case len(c.Spec.Addons) > 0:
		return invalid.New("spec.addons", "KQueen runs no addons in a cluster that it has adopted; leave them out")
	case c.Spec.Maintenance != nil:
		return invalid.New("spec.maintenance", "KQueen does not upgrade a cluster that it has adopted; leave it out")
	case c.Spec.Hibernation != nil:
		return invalid.New("spec.hibernation", "KQueen does not run the control plane of a cluster that it has adopted; leave it out")
	case c.Spec.EmulatedVersion != "":
		return invalid.New("spec.emulatedVersion", "KQueen does not run the control plane of a cluster that it has adopted; leave it out")
	}
	return nil
}

// TakesNodes says whether a cluster can have node pools: those that KQueen has adopted keep the nodes that they have. What is said of a
// cluster that cannot be looked at is for its reconciler to say.
func (v *Validator) TakesNodes(ctx context.Context, cluster client.ObjectKey) error {
	c := &v1alpha1.Cluster{}
	if err := v.Client.Get(ctx, cluster, c); err != nil {
		return client.IgnoreNotFound(err)
	}
	adopted, err := v.Adopted(ctx, c)
	if adopted {
		return invalid.New("spec.clusterName", "cluster %s was adopted: its nodes are managed where it was created, and KQueen adds none", c.Name)
	}
	return err
}

// Adopted says whether a cluster is one that others run, which KQueen reaches by what a user has set.
func (v *Validator) Adopted(ctx context.Context, c *v1alpha1.Cluster) (bool, error) {
	p := &v1alpha1.Provisioner{}
	if err := v.Client.Get(ctx, client.ObjectKey{Namespace: c.Spec.ProvisionerRef.Namespace, Name: c.Spec.ProvisionerRef.Name}, p); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	_, ok := v.Drivers[p.Spec.Driver].(provision.CredentialChecker)
	return ok, nil
}

// CheckCredentials says whether a cluster takes credentials that a user sets for it, and returns them as they are to be kept; nil
// when they cannot be. Those that it refuses, or that cannot be tried because it does not answer, come with the error.
func (v *Validator) CheckCredentials(ctx context.Context, c *v1alpha1.Cluster, values map[string][]byte) (map[string][]byte, error) {
	v.once.Do(v.bound)
	t, err := finder{provisioners: v.Client, secrets: v.Client, drivers: v.Drivers, calls: &v.calls}.find(ctx, c)
	if err != nil {
		return nil, err
	}
	checker, ok := t.Driver.(provision.CredentialChecker)
	if !ok {
		return nil, invalid.New("", "cluster %s was not adopted, and takes no credentials", c.Name)
	}
	if err := provision.CheckCredentials(t.Describe().ClusterCredentials, values); err != nil {
		return nil, err
	}
	of := t.want.Target
	of.ClusterCredentials = values
	// It holds no worker of a reconciler, so that other clusters that are late have no say in it.
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	kept, err := checker.CheckCredentials(ctx, of)
	return kept, err
}
