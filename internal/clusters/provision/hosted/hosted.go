// Package hosted is the driver of clusters whose control plane KQueen hosts itself: it turns a wanted cluster into a
// ControlPlane object and reads back what became of it. The reconciler of ControlPlane does the work behind that
// object.
//
// It hides ControlPlane, its Secret of keys and its conditions. Package all lists it; nothing else imports it.
package hosted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Config is what the driver is made of.
type Config struct {
	// Client of the admin plane. It sees its own writes of ControlPlanes soon; it need not at once.
	Client client.Client
	// Secrets reads the admin plane without a cache: Secrets, which are not kept in memory, and whether a ControlPlane is gone.
	Secrets client.Reader
	// Taken are the ranges that the host of control planes and its machines have; those that are special everywhere are not
	// among them. May be nil.
	Taken func() ([]Taken, error)
	// Wakes are the clusters for which clients wait while they sleep.
	Wakes Wakes
}

// Wakes tells for which clusters clients wait, by their UIDs. *gateway.Wakes does.
type Wakes interface {
	Asked(uid types.UID) (bool, error)
	Taken(uid types.UID) error
}

// Driver is the driver.
type Driver struct{ Config }

var (
	_ provision.Driver     = (*Driver)(nil)
	_ provision.Upgrader   = (*Driver)(nil)
	_ provision.PodSecurer = (*Driver)(nil)
	_ provision.Storer     = (*Driver)(nil)
	_ provision.Hibernator = (*Driver)(nil)
)

// New returns the driver.
func New(c Config) *Driver { return &Driver{c} }

// Waits implements [provision.Hibernator].
func (d *Driver) Waits(_ context.Context, of provision.Target) (bool, error) {
	return d.Wakes.Asked(of.UID)
}

// Woken implements [provision.Hibernator].
func (d *Driver) Woken(_ context.Context, of provision.Target) error { return d.Wakes.Taken(of.UID) }

// DefaultPodSecurity implements [provision.PodSecurer].
func (d *Driver) DefaultPodSecurity() string { return v1alpha1.PodSecurityBaseline }

// DataStore implements [provision.Storer].
func (d *Driver) DataStore(provisionerParameters json.RawMessage) (string, error) {
	p, err := parse(provisionerParameters)
	return p.DataStoreName, err
}

// Describe says what the driver is.
func (d *Driver) Describe() provision.Description {
	return provision.Description{
		Name:              "hosted",
		Summary:           "Control planes that KQueen hosts itself, over a keyspace of their own in a shared etcd.",
		ProvisionerSchema: json.RawMessage(provisionerSchema),
		ClusterSchema:     json.RawMessage(clusterSchema),
		Owns:              []client.Object{&v1alpha1.ControlPlane{}},
	}
}

// Ensure writes the ControlPlane.
func (d *Driver) Ensure(ctx context.Context, want provision.Desired) error {
	p, err := parse(want.ProvisionerParameters)
	if err != nil {
		return err
	}
	spec := v1alpha1.ControlPlaneSpec{
		Version: want.Version, EmulatedVersion: want.EmulatedVersion, DataStoreName: p.DataStoreName, Network: want.Network, Size: p.Size, AuditLog: want.AuditLog,
	}
	have, err := get(ctx, d.Client, want.Ref)
	if errors.Is(err, provision.ErrNotFound) {
		spec.PodSecurity = cmp.Or(want.PodSecurity, d.DefaultPodSecurity())
		spec.StoppedFor = want.RestoreUID // who has it stand still starts it
		return d.create(ctx, want.Ref, spec)
	}
	if err != nil {
		return err
	}
	if !have.DeletionTimestamp.IsZero() {
		return fmt.Errorf("control plane %s is being deleted", want.Name)
	}
	base := have.DeepCopy()
	have.Spec.Asleep = want.Asleep
	have.Spec.Version, have.Spec.EmulatedVersion, have.Spec.Network = spec.Version, spec.EmulatedVersion, spec.Network
	if spec.Size != "" { // the administrator of the control plane chose otherwise
		have.Spec.Size = spec.Size
	}
	// One from before there were levels has none, and no upgrade of KQueen takes away what its pods may do.
	have.Spec.PodSecurity = cmp.Or(want.PodSecurity, have.Spec.PodSecurity)
	if spec.AuditLog != "" {
		have.Spec.AuditLog = spec.AuditLog
	}
	if equality.Semantic.DeepEqual(base.Spec, have.Spec) {
		return nil
	}
	if err := d.Client.Patch(ctx, have, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("update control plane %s: %w", want.Name, err)
	}
	return nil
}

func (d *Driver) create(ctx context.Context, ref provision.Ref, spec v1alpha1.ControlPlaneSpec) error {
	cp := &v1alpha1.ControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ref.Namespace,
			Name:      ref.Name,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster", Name: ref.Name, UID: ref.UID,
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: spec,
	}
	// A foreign object of that name is found by the next Observe, which says so; our own is found, too.
	if err := d.Client.Create(ctx, cp); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create control plane %s: %w", ref.Name, err)
	}
	return nil
}

// Delete deletes the ControlPlane and waits until it is gone. It reads without a cache: one that was created a moment ago is not
// in the cache yet, and would outlive its Cluster.
func (d *Driver) Delete(ctx context.Context, of provision.Target) (bool, error) {
	ref := of.Ref
	cp, err := get(ctx, d.Secrets, ref)
	if errors.Is(err, provision.ErrNotFound) {
		return true, nil
	}
	if _, foreign := errors.AsType[*invalid.Error](err); foreign {
		return true, nil
	}
	if err != nil || !cp.DeletionTimestamp.IsZero() {
		return false, err
	}
	same := client.Preconditions{UID: &cp.UID}
	if err := client.IgnoreNotFound(d.Client.Delete(ctx, cp, same)); err != nil {
		return false, fmt.Errorf("delete control plane %s: %w", ref.Name, err)
	}
	return false, nil
}

// get reads the cluster's own ControlPlane. One that belongs to something else is an *invalid.Error.
func get(ctx context.Context, from client.Reader, ref provision.Ref) (*v1alpha1.ControlPlane, error) {
	cp := &v1alpha1.ControlPlane{}
	err := from.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, cp)
	if apierrors.IsNotFound(err) {
		return nil, provision.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read control plane %s: %w", ref.Name, err)
	}
	if owner := metav1.GetControllerOf(cp); owner == nil || owner.UID != ref.UID {
		return nil, &invalid.Error{
			Field:   "metadata.name",
			Problem: fmt.Sprintf("a ControlPlane named %s is there and does not belong to this cluster; choose another name, or delete it", ref.Name),
		}
	}
	return cp, nil
}
