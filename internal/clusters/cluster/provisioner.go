package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/operator"
)

// NewProvisionerReconciler returns the reconciler of Provisioner. A Provisioner makes nothing, so
// it has no finalizer; clusters that still need one that was deleted say so.
func NewProvisionerReconciler(c client.Client, drivers map[string]provision.Driver, recorder events.EventRecorder) *operator.Reconciler[*v1alpha1.Provisioner] {
	return operator.New(operator.Config[*v1alpha1.Provisioner]{
		Client:   c,
		Recorder: recorder,
		New:      func() *v1alpha1.Provisioner { return &v1alpha1.Provisioner{} },
		Phases: []operator.Phase[*v1alpha1.Provisioner]{{
			Condition: v1alpha1.ConditionDriverReady,
			Ensure:    func(_ context.Context, p *v1alpha1.Provisioner) operator.Outcome { return judgeDriver(drivers, p) },
		}},
	})
}

// judgeDriver says whether the driver is known and takes the parameters, and what it is. It asks nobody.
func judgeDriver(drivers map[string]provision.Driver, p *v1alpha1.Provisioner) operator.Outcome {
	driver := drivers[p.Spec.Driver]
	if driver == nil {
		known := strings.Join(slices.Sorted(maps.Keys(drivers)), ", ")
		return operator.Stalled(v1alpha1.ReasonDriverUnknown, "spec.driver: there is no driver %q; known: %s", p.Spec.Driver, known)
	}
	about := driver.Describe()
	p.Status.Driver = &v1alpha1.DriverDescription{
		Summary:                 about.Summary,
		ParametersSchema:        apiextensionsv1.JSON{Raw: about.ProvisionerSchema},
		ClusterParametersSchema: apiextensionsv1.JSON{Raw: about.ClusterSchema},
	}
	err := provision.CheckParameters("spec.parameters", about.ProvisionerSchema, rawOf(p.Spec.Parameters))
	if invalid, ok := errors.AsType[*provision.InvalidError](err); ok {
		return operator.Stalled(v1alpha1.ReasonParametersInvalid, "%v", invalid)
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonParametersInvalid, err)
	}
	return operator.Done(v1alpha1.ReasonDriverAccepted, about.Summary)
}
