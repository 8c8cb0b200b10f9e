package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/schema"
)

// capacityLook is the time between two tries of what the outside has no capacity for.
const capacityLook = 5 * time.Minute

// target is a cluster's driver and what is wanted of it.
type target struct {
	provision.Driver
	want        provision.Desired
	provisioner *v1alpha1.Provisioner
	// lane is what shares the calls of the driver, and crowd what such lanes share when they are slow; empty for none.
	lane, crowd types.UID
	// settings is a digest of what decides where the driver looks for the cluster.
	settings string
	// sleeps says that the cluster has times at which it sleeps.
	sleeps bool
	calls  *calls
}

// finder finds targets.
type finder struct {
	provisioners client.Reader
	// secrets reads without a cache.
	secrets client.Reader
	drivers map[string]provision.Driver
	calls   *calls
}

// missingError says that a cluster's provisioner cannot be used, and why.
type missingError struct {
	reason string
	// never says that no cluster can ever have been made by it.
	never bool
	cause error
}

func (e *missingError) Error() string { return e.cause.Error() }
func (e *missingError) Unwrap() error { return e.cause }

func missing(reason, format string, args ...any) error {
	return &missingError{reason: reason, cause: invalid.New("spec.provisionerRef", format, args...)}
}

// find returns the driver that a cluster's provisioner names, and what is wanted of it. A
// provisioner that cannot be used is a *missingError.
func (f finder) find(ctx context.Context, c *v1alpha1.Cluster) (target, error) {
	ref := c.Spec.ProvisionerRef
	if ref.Namespace != v1alpha1.SystemNamespace && ref.Namespace != c.Namespace {
		problem := invalid.New("spec.provisionerRef", "namespace %q is neither the cluster's own nor %s", ref.Namespace, v1alpha1.SystemNamespace)
		return target{}, &missingError{reason: v1alpha1.ReasonProvisionerNotFound, never: true, cause: problem}
	}
	p := &v1alpha1.Provisioner{}
	err := f.provisioners.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, p)
	if apierrors.IsNotFound(err) {
		return target{}, missing(v1alpha1.ReasonProvisionerNotFound, "there is no provisioner %q in namespace %s; see: kqueen provisioner list", ref.Name, ref.Namespace)
	}
	if err != nil {
		return target{}, fmt.Errorf("read provisioner %s: %w", ref.Name, err)
	}
	driver := f.drivers[p.Spec.Driver]
	if driver == nil {
		return target{}, missing(v1alpha1.ReasonProvisionerNotReady, "provisioner %q asks for the driver %q, which this installation does not have", ref.Name, p.Spec.Driver)
	}
	about := driver.Describe()
	wanted := about.Credentials
	secret, err := readCredentials(ctx, f.secrets, p, wanted)
	if err != nil {
		return target{}, err
	}
	if err := provision.CheckCredentials(wanted, secret.Data); err != nil {
		return target{}, missing(v1alpha1.ReasonCredentialsMissing, "provisioner %q: %v; see: kqueen provisioner credentials set", ref.Name, err)
	}
	own, err := readClusterCredentials(ctx, f.secrets, c, about.ClusterCredentials)
	if err != nil {
		return target{}, err
	}
	want := provision.Desired{
		Target: provision.Target{
			Ref:                   provision.Ref{UID: c.UID, Namespace: c.Namespace, Name: c.Name},
			ProvisionerParameters: rawOf(p.Spec.Parameters), ClusterParameters: rawOf(c.Spec.Parameters),
			Credentials: secret.Data, ClusterCredentials: own,
		},
		Version: c.Spec.Version, EmulatedVersion: c.Spec.EmulatedVersion, Network: c.Spec.Network, PodSecurity: c.Spec.PodSecurity, AuditLog: c.Spec.AuditLog,
	}
	t := target{Driver: driver, want: want, provisioner: p, settings: settingsOf(p, secret), calls: f.calls, lane: p.UID, sleeps: c.Spec.Hibernation != nil}
	if len(about.ClusterCredentials) > 0 {
		t.lane, t.crowd = c.UID, p.UID // each cluster is another outside
	}
	return t, nil
}

// readClusterCredentials reads what a user has set for a cluster; nil where there is nothing, and where the driver takes nothing.
func readClusterCredentials(ctx context.Context, r client.Reader, c *v1alpha1.Cluster, wanted []provision.Credential) (provision.Credentials, error) {
	if len(wanted) == 0 || c.UID == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.CredentialsSecret()}, secret)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(secret, c) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the credentials of cluster %s: %w", c.Name, err)
	}
	return secret.Data, nil
}

// readCredentials reads the Secret with a provisioner's credentials. It is empty where there is none, and where the
// driver takes none.
func readCredentials(ctx context.Context, r client.Reader, p *v1alpha1.Provisioner, wanted []provision.Credential) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if len(wanted) == 0 {
		return secret, nil
	}
	err := r.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.CredentialsSecret()}, secret)
	if err := client.IgnoreNotFound(err); err != nil {
		return nil, fmt.Errorf("read the credentials of provisioner %s: %w", p.Name, err)
	}
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{}, nil
	}
	return secret, nil
}

// settingsOf is a digest of what decides where a driver looks: driver, parameters and the version of the credentials,
// not their values, which could be guessed from a digest that members can read. It is pure.
func settingsOf(p *v1alpha1.Provisioner, credentials *corev1.Secret) string {
	parts := []string{p.Spec.Driver, string(rawOf(p.Spec.Parameters)), string(credentials.UID), credentials.ResourceVersion}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// find is [finder.find] with the reconciler's own readers.
func (r *reconciler) find(ctx context.Context, c *v1alpha1.Cluster) (target, error) {
	t, err := finder{provisioners: r.Client, secrets: r.Secrets, drivers: r.Drivers, calls: &r.calls}.find(ctx, c)
	if err == nil {
		t.want.RestoreUID, err = restoring(ctx, r.Client, c)
	}
	return t, err
}

// restoring is [restoreOf] the Restores that there are, which are listed where the label of the cluster names one.
func restoring(ctx context.Context, r client.Reader, c *v1alpha1.Cluster) (string, error) {
	if c.Labels[v1alpha1.LabelRestore] == "" || c.Status.Version != "" {
		return "", nil
	}
	list := &v1alpha1.RestoreList{}
	if err := r.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
		return "", fmt.Errorf("list restores: %w", err)
	}
	return restoreOf(c, list.Items), nil
}

// restoreOf is the UID of the Restore that creates a cluster; empty where none does, and once the cluster has run. The label alone is not
// believed: a user may have copied it, and the control plane would stand still for ever. It is pure.
func restoreOf(c *v1alpha1.Cluster, all []v1alpha1.Restore) string {
	uid := c.Labels[v1alpha1.LabelRestore]
	creates := func(rs v1alpha1.Restore) bool {
		return string(rs.UID) == uid && rs.Spec.NewClusterName == c.Name && rs.Status.WrittenTime == nil
	}
	if c.Status.Version != "" || !slices.ContainsFunc(all, creates) {
		return ""
	}
	return uid
}

// resolve finds the target, or says why there is none.
func (r *reconciler) resolve(ctx context.Context, c *v1alpha1.Cluster) (target, *operator.Outcome) {
	t, err := r.find(ctx, c)
	if err != nil {
		refused := refusal(err, v1alpha1.ReasonProvisionerNotReady)
		return target{}, &refused
	}
	if err := provision.CheckCredentials(t.Describe().ClusterCredentials, t.want.ClusterCredentials); err != nil {
		// No watch tells of Secrets.
		waiting := operator.Wait(v1alpha1.ReasonCredentialsMissing, fmt.Sprintf("%v; set it: kqueen cluster import %s --kubeconfig FILE, or start an agent there: kqueen cluster import %s --agent", err, c.Name, c.Name), credentialsLook)
		return target{}, &waiting
	}
	return t, nil
}

// locate makes sure that the driver looks where the cluster is. When the settings of the provisioner are others than
// those with which the cluster was last found, the driver has to find it with those, too: else Ensure would make a
// second cluster elsewhere, and Delete would take a look at the wrong place for the news that nothing is left.
func locate(ctx context.Context, c *v1alpha1.Cluster, t target) *operator.Outcome {
	if c.Status.FoundWith == "" || c.Status.FoundWith == t.settings {
		return nil
	}
	_, err := t.observe(ctx)
	if err == nil {
		c.Status.FoundWith = t.settings
		return nil
	}
	refused := refusal(err, v1alpha1.ReasonProvisionerFailed)
	if errors.Is(err, provision.ErrNotFound) {
		refused = operator.Retry(v1alpha1.ReasonProvisionerChanged, fmt.Errorf(
			"provisioner %q has other parameters or credentials than those with which the cluster was found, and finds nothing with them; "+
				"set the former ones again, or, when nothing of the cluster is left, remove its finalizer", t.provisioner.Name))
	}
	return &refused
}

// check asks whether the driver takes the cluster, instead of have or as a new one. A provisioner that
// does not work makes nothing new; what it made can still be seen and removed.
func (t target) check(ctx context.Context, have *provision.Desired) error {
	leaving := !t.provisioner.DeletionTimestamp.IsZero()
	if leaving && have == nil {
		return missing(v1alpha1.ReasonProvisionerNotReady, "provisioner %q is being deleted and creates no more clusters", t.provisioner.Name)
	}
	ready := apimeta.FindStatusCondition(t.provisioner.Status.Conditions, v1alpha1.ConditionReady)
	if !leaving && ready != nil && apimeta.IsStatusConditionFalse(t.provisioner.Status.Conditions, v1alpha1.ConditionReady) {
		return missing(v1alpha1.ReasonProvisionerNotReady, "provisioner %q cannot be used: %s", t.provisioner.Name, ready.Message)
	}
	if _, ok := t.Driver.(provision.PodSecurer); !ok && t.want.PodSecurity != "" {
		return invalid.New("spec.podSecurity", "clusters of the driver %q have a level of their own; leave it out", t.Describe().Name)
	}
	if _, ok := t.Driver.(provision.Hibernator); !ok && t.sleeps {
		return invalid.New("spec.hibernation", "clusters of the driver %q do not sleep; leave it out", t.Describe().Name)
	}
	_, err := ask(ctx, t, func(ctx context.Context) (struct{}, error) { return struct{}{}, t.Check(ctx, have, t.want) })
	if bad, ok := errors.AsType[*invalid.Error](err); ok && have != nil && bad.Field == "spec.version" && bad.Want == "" {
		return t.withVersions(ctx, have.Version, bad)
	}
	return err
}

// checkParameters says whether the driver has parameters of that name and type.
func (t target) checkParameters() error {
	return schema.Check("spec.parameters", t.Describe().ClusterSchema, t.want.ClusterParameters)
}

// withVersions adds to a refusal the versions that the cluster can have instead, where the driver knows them.
func (t target) withVersions(ctx context.Context, from string, refused *invalid.Error) error {
	upgrader, ok := t.Driver.(provision.Upgrader)
	if !ok {
		return refused
	}
	versions, err := ask(ctx, t, func(ctx context.Context) ([]string, error) { return upgrader.Versions(ctx, t.want.Target, from) })
	if err != nil || len(versions) == 0 {
		return refused // which is right without them, too
	}
	return &invalid.Error{Field: refused.Field, Problem: refused.Problem, Want: strings.Join(versions, " or ")}
}

// refusal says what an error of a provisioner or its driver means. reason is for those that have none. It is pure.
func refusal(err error, reason string) operator.Outcome {
	if gone, ok := errors.AsType[*missingError](err); ok {
		return operator.Retry(gone.reason, gone)
	}
	switch {
	case errors.Is(err, provision.ErrPending):
		return operator.Wait(v1alpha1.ReasonAgentPending, err.Error(), 0)
	case errors.Is(err, provision.ErrOffline):
		return operator.Unknown(v1alpha1.ReasonOffline, err, observeInterval) // its coming is told
	case errors.Is(err, provision.ErrUnreachable):
		return operator.Unknown(v1alpha1.ReasonProvisionerUnreachable, err, 0)
	case errors.Is(err, provision.ErrCredentials):
		return operator.RetryAfter(v1alpha1.ReasonCredentialsRefused, err, credentialsLook)
	case errors.Is(err, provision.ErrCapacity):
		return operator.RetryAfter(v1alpha1.ReasonInsufficientCapacity, err, capacityLook)
	}
	return operator.Retry(reason, err)
}

func rawOf(parameters *apiextensionsv1.JSON) json.RawMessage {
	if parameters == nil {
		return nil
	}
	return parameters.Raw
}
