package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/operator"
)

// target is a cluster's driver and what is wanted of it.
type target struct {
	provision.Driver
	want        provision.Desired
	provisioner *v1alpha1.Provisioner
}

// resolve finds the target, or says why there is none.
func (v *verb) resolve(ctx context.Context, c *v1alpha1.Cluster) (target, *operator.Outcome) {
	t, err := find(ctx, v.Client, v.Drivers, c)
	if err != nil {
		refused := refusal(err, v1alpha1.ReasonProvisionerNotReady)
		return target{}, &refused
	}
	return t, nil
}

// missingError says that a cluster's provisioner cannot be used, and why.
type missingError struct {
	reason string
	// never says that no cluster can ever have been made by it.
	never bool
	provision.InvalidError
}

func missing(reason, format string, args ...any) error {
	return &missingError{reason: reason, InvalidError: provision.InvalidError{Field: "spec.provisionerRef", Problem: fmt.Sprintf(format, args...)}}
}

// find returns the driver that a cluster's provisioner names, and what is wanted of it. A
// provisioner that cannot be used is a *missingError.
func find(ctx context.Context, reader client.Reader, drivers map[string]provision.Driver, c *v1alpha1.Cluster) (target, error) {
	ref := c.Spec.ProvisionerRef
	if ref.Namespace != v1alpha1.SystemNamespace && ref.Namespace != c.Namespace {
		return target{}, &missingError{reason: v1alpha1.ReasonProvisionerNotFound, never: true, InvalidError: provision.InvalidError{
			Field:   "spec.provisionerRef",
			Problem: fmt.Sprintf("namespace %q is neither the cluster's own nor %s", ref.Namespace, v1alpha1.SystemNamespace),
		}}
	}
	p := &v1alpha1.Provisioner{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, p)
	if apierrors.IsNotFound(err) {
		return target{}, missing(v1alpha1.ReasonProvisionerNotFound, "there is no provisioner %q in namespace %s; see: kqueen provisioner list", ref.Name, ref.Namespace)
	}
	if err != nil {
		return target{}, fmt.Errorf("read provisioner %s: %w", ref.Name, err)
	}
	driver := drivers[p.Spec.Driver]
	if driver == nil {
		return target{}, missing(v1alpha1.ReasonProvisionerNotReady, "provisioner %q asks for the driver %q, which this installation does not have", ref.Name, p.Spec.Driver)
	}
	want := provision.Desired{
		Ref: refOf(c), Version: c.Spec.Version, Network: c.Spec.Network,
		ProvisionerParameters: rawOf(p.Spec.Parameters), ClusterParameters: rawOf(c.Spec.Parameters),
	}
	return target{Driver: driver, want: want, provisioner: p}, nil
}

// check asks whether the driver takes the cluster, instead of have or as a new one. A provisioner that
// does not work makes nothing new; what it made can still be seen and removed.
func (t target) check(ctx context.Context, have *provision.Desired) error {
	if ready := apimeta.FindStatusCondition(t.provisioner.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		return missing(v1alpha1.ReasonProvisionerNotReady, "provisioner %q cannot be used: %s", t.provisioner.Name, ready.Message)
	}
	if err := provision.CheckParameters("spec.parameters", t.Describe().ClusterSchema, t.want.ClusterParameters); err != nil {
		return err
	}
	return t.Check(ctx, have, t.want)
}

// refusal says what an error of a provisioner or its driver means. reason is for those that have none.
func refusal(err error, reason string) operator.Outcome {
	if gone, ok := errors.AsType[*missingError](err); ok {
		return operator.Retry(gone.reason, gone)
	}
	return operator.Retry(reason, err)
}

func refOf(c *v1alpha1.Cluster) provision.Ref {
	return provision.Ref{UID: c.UID, Namespace: c.Namespace, Name: c.Name}
}

func rawOf(parameters *apiextensionsv1.JSON) json.RawMessage {
	if parameters == nil {
		return nil
	}
	return parameters.Raw
}
