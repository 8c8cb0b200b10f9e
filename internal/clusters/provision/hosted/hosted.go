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
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
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
}

// Driver is the driver.
type Driver struct{ Config }

var (
	_ provision.Driver     = (*Driver)(nil)
	_ provision.Upgrader   = (*Driver)(nil)
	_ provision.PodSecurer = (*Driver)(nil)
	_ provision.Storer     = (*Driver)(nil)
)

// New returns the driver.
func New(c Config) *Driver { return &Driver{c} }

const (
	provisionerSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "dataStore": {
      "type": "string", "minLength": 1, "maxLength": 253, "default": "default",
      "title": "Data store", "description": "Name of the DataStore that holds the keyspaces of the clusters."
    },
    "size": {
      "type": "string", "enum": ["small", "medium", "large"], "default": "medium",
      "title": "Size", "description": "How much memory and which share of the processors each control plane may take."
    }
  }
}`
	clusterSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false
}`
)

// parameters are what provisionerSchema describes.
type parameters struct {
	DataStore string                    `json:"dataStore"`
	Size      v1alpha1.ControlPlaneSize `json:"size"`
}

// defaultStore is the DataStore of provisioners that name none.
const defaultStore = "default"

func parse(raw json.RawMessage) (parameters, error) {
	p := parameters{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &p); err != nil {
			return parameters{}, invalid.New("spec.parameters", "%v", err)
		}
	}
	if p.DataStore == "" {
		p.DataStore = defaultStore
	}
	return p, nil
}

// DefaultPodSecurity implements [provision.PodSecurer].
func (d *Driver) DefaultPodSecurity() string { return v1alpha1.PodSecurityBaseline }

// DataStore implements [provision.Storer].
func (d *Driver) DataStore(provisionerParameters json.RawMessage) (string, error) {
	p, err := parse(provisionerParameters)
	return p.DataStore, err
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

// Check refuses an unknown version, a version whose programs are not there, a step that is not allowed, and for a new
// cluster ranges of addresses that are others' already.
func (d *Driver) Check(ctx context.Context, have *provision.Desired, want provision.Desired) error {
	if have != nil && have.Version == want.Version {
		return nil
	}
	if have == nil {
		if err := d.checkNetwork(ctx, want); err != nil {
			return err
		}
	}
	version, err := release.ParseVersion(want.Version)
	if err != nil {
		return invalid.New("spec.version", "%v", err)
	}
	if have != nil {
		if err := checkStep(have.Version, version); err != nil {
			return err
		}
	}
	known := &v1alpha1.Release{}
	err = d.Client.Get(ctx, client.ObjectKey{Name: want.Version}, known)
	if apierrors.IsNotFound(err) {
		return d.unknownVersion(ctx, want.Version)
	}
	if err != nil {
		return fmt.Errorf("read release %s: %w", want.Version, err)
	}
	if ready := apimeta.FindStatusCondition(known.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		return &invalid.Error{Field: "spec.version", Problem: fmt.Sprintf("release %s cannot be used yet: %s", want.Version, ready.Message)}
	}
	return nil
}

func checkStep(from string, to release.Version) error {
	version, err := release.ParseVersion(from)
	if err != nil {
		return fmt.Errorf("read the version that runs: %w", err)
	}
	var skew *release.SkewError
	if err := release.CheckUpgrade(version, to); errors.As(err, &skew) {
		return &invalid.Error{Field: "spec.version", Problem: skew.Reason + ": " + skew.Fix}
	} else if err != nil {
		return err
	}
	return nil
}

// Versions are the releases whose programs are there and to which a cluster that runs from may go.
func (d *Driver) Versions(ctx context.Context, _ provision.Target, from string) ([]string, error) {
	list := &v1alpha1.ReleaseList{}
	if err := d.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	var all []release.Version
	for i := range list.Items {
		r := &list.Items[i]
		version, err := release.ParseVersion(r.Name)
		if err != nil || r.Name == from || apimeta.IsStatusConditionFalse(r.Status.Conditions, v1alpha1.ConditionReady) {
			continue
		}
		if from != "" && checkStep(from, version) != nil {
			continue
		}
		all = append(all, version)
	}
	slices.SortFunc(all, release.Version.Compare)
	names := make([]string, 0, len(all))
	for _, version := range all {
		names = append(names, version.String())
	}
	return names, nil
}

func (d *Driver) unknownVersion(ctx context.Context, version string) error {
	list := &v1alpha1.ReleaseList{}
	if err := d.Client.List(ctx, list); err != nil {
		return fmt.Errorf("list releases: %w", err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	// A cache lists in no order, and the message must be the same from try to try.
	slices.Sort(names)
	known := "none"
	if len(names) > 0 {
		known = strings.Join(names, ", ")
	}
	return &invalid.Error{Field: "spec.version", Problem: fmt.Sprintf("%q is not a version that KQueen can run; known: %s", version, known)}
}

// Ensure writes the ControlPlane.
func (d *Driver) Ensure(ctx context.Context, want provision.Desired) error {
	p, err := parse(want.ProvisionerParameters)
	if err != nil {
		return err
	}
	spec := v1alpha1.ControlPlaneSpec{
		Version: want.Version, DataStore: p.DataStore, Network: want.Network, Size: p.Size, AuditLog: want.AuditLog,
	}
	have, err := get(ctx, d.Client, want.Ref)
	if errors.Is(err, provision.ErrNotFound) {
		spec.PodSecurity = cmp.Or(want.PodSecurity, d.DefaultPodSecurity())
		return d.create(ctx, want.Ref, spec)
	}
	if err != nil {
		return err
	}
	if !have.DeletionTimestamp.IsZero() {
		return fmt.Errorf("control plane %s is being deleted", want.Name)
	}
	base := have.DeepCopy()
	have.Spec.Version, have.Spec.Network = spec.Version, spec.Network
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

// Observe reads the ControlPlane.
func (d *Driver) Observe(ctx context.Context, of provision.Target) (provision.Observed, error) {
	ref := of.Ref
	cp, err := get(ctx, d.Client, ref)
	if err != nil {
		return provision.Observed{}, err
	}
	observed := observe(cp)
	if cp.Status.Endpoint == nil {
		return observed, nil
	}
	// A kubeconfig with keys that the control plane does not take would be written over the one that is good.
	if c := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionKeysReady); c != nil && slices.Contains(
		[]string{v1alpha1.ReasonKeysMissing, v1alpha1.ReasonKeysForeign}, c.Reason) {
		return provision.Observed{}, errors.New(c.Message)
	}
	keys := &corev1.Secret{}
	if err := d.Secrets.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: cp.KeysSecret()}, keys); err != nil {
		return provision.Observed{}, fmt.Errorf("read the keys of control plane %s: %w", ref.Name, err)
	}
	if cp.Status.Endpoint.NodeAddress != "" {
		server := net.JoinHostPort(cp.Status.Endpoint.NodeAddress, strconv.Itoa(int(cp.Status.Endpoint.Port)))
		observed.Join = &v1alpha1.JoinEndpoint{Server: server, CA: keys.Data["ca.crt"], ServerName: cp.Status.Endpoint.ServerName}
	}
	observed.Kubeconfig, err = adminKubeconfig(cp, keys.Data)
	return observed, err
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

func adminKubeconfig(cp *v1alpha1.ControlPlane, keys map[string][]byte) ([]byte, error) {
	return pki.Kubeconfig(pki.KubeconfigParams{
		Cluster:       cp.Name,
		Context:       cp.Name,
		User:          cp.Name + "-admin",
		Server:        "https://" + cp.Status.Endpoint.Gateway,
		TLSServerName: cp.Status.Endpoint.ServerName,
		CA:            keys["ca.crt"],
		ClientCert:    keys["admin.crt"],
		ClientKey:     keys["admin.key"],
	})
}
