package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/schema"
)

const (
	// provisionerLook is the time between two looks at what keeps a Provisioner from going.
	provisionerLook = 2 * time.Second
	// credentialsLook is the time between two looks for credentials that are not set yet: no watch tells of Secrets.
	credentialsLook = 5 * time.Second
	// namedClusters bounds how many clusters a condition names.
	namedClusters = 10
)

// provisioners holds the phases of Provisioner.
type provisioners struct{ Config }

// NewProvisionerReconciler returns the reconciler of Provisioner. A Provisioner that is deleted stays until no cluster
// needs it: without its parameters and credentials what is outside could not be removed any more.
func NewProvisionerReconciler(c Config) *operator.Reconciler[*v1alpha1.Provisioner] {
	p := &provisioners{c}
	return operator.New(operator.Config[*v1alpha1.Provisioner]{
		Client:    c.Client,
		Recorder:  c.Recorder,
		New:       func() *v1alpha1.Provisioner { return &v1alpha1.Provisioner{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/provisioner",
		Ready:     "clusters can be created by it",
		Phases: []operator.Phase[*v1alpha1.Provisioner]{
			{Condition: v1alpha1.ConditionDriverReady, Ensure: p.judge},
			{Condition: v1alpha1.ConditionClustersGone, Remove: p.await, Leaving: true},
		},
	})
}

// judge says whether the provisioner can be used.
func (p *provisioners) judge(ctx context.Context, obj *v1alpha1.Provisioner) operator.Outcome {
	driver := p.Drivers[obj.Spec.Driver]
	if driver == nil {
		known := strings.Join(slices.Sorted(maps.Keys(p.Drivers)), ", ")
		return operator.Stalled(v1alpha1.ReasonDriverUnknown, "spec.driver: there is no driver %q; known: %s", obj.Spec.Driver, known)
	}
	secret, err := readCredentials(ctx, p.Secrets, obj, driver.Describe().Credentials)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonCredentialsMissing, err)
	}
	return judgeDriver(driver, obj, secret.Data)
}

// judgeDriver says whether the driver takes the parameters and has its credentials, and what it is. It calls nothing
// outside.
func judgeDriver(driver provision.Driver, p *v1alpha1.Provisioner, credentials provision.Credentials) operator.Outcome {
	about := driver.Describe()
	p.Status.Driver = &v1alpha1.DriverDescription{
		Summary:                 about.Summary,
		ParametersSchema:        apiextensionsv1.JSON{Raw: about.ProvisionerSchema},
		ClusterParametersSchema: apiextensionsv1.JSON{Raw: about.ClusterSchema},
		Features:                provision.Features(driver),
	}
	p.Status.Driver.Credentials, p.Status.Driver.ClusterCredentials = described(about.Credentials), described(about.ClusterCredentials)
	err := schema.Check("spec.parameters", about.ProvisionerSchema, rawOf(p.Spec.Parameters))
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return operator.Stalled(v1alpha1.ReasonParametersInvalid, "%v", bad)
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonParametersInvalid, err)
	}
	if err := provision.CheckCredentials(about.Credentials, credentials); err != nil {
		return operator.Wait(v1alpha1.ReasonCredentialsMissing, err.Error()+"; see: kqueen provisioner credentials set", credentialsLook)
	}
	return operator.Done(v1alpha1.ReasonDriverAccepted, about.Summary)
}

// described are the credentials that a driver takes, as the status of its Provisioner has them.
func described(all []provision.Credential) []v1alpha1.DriverCredential {
	var told []v1alpha1.DriverCredential
	for _, c := range all {
		told = append(told, v1alpha1.DriverCredential{Key: c.Key, Description: c.Description, Optional: c.Optional || c.Unless != ""})
	}
	return told
}

// await waits until no cluster names the provisioner. It reads without a cache: a cluster that is overlooked would
// lose the provisioner that has to remove it.
func (p *provisioners) await(ctx context.Context, obj *v1alpha1.Provisioner) operator.Outcome {
	list := &v1alpha1.ClusterList{}
	if err := p.Secrets.List(ctx, list); err != nil {
		return operator.Retry(v1alpha1.ReasonProvisionerInUse, fmt.Errorf("list clusters: %w", err))
	}
	if of := clustersOf(list.Items, obj); len(of) > 0 {
		return operator.Wait(v1alpha1.ReasonProvisionerInUse, "clusters that need it to be removed: "+naming(of), provisionerLook)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// clustersOf names the clusters that a provisioner makes, sorted; those of other namespaces with their namespace. It
// is pure.
func clustersOf(all []v1alpha1.Cluster, p *v1alpha1.Provisioner) []string {
	var names []string
	for i := range all {
		c := &all[i]
		if ref := c.Spec.ProvisionerRef; ref.Name != p.Name || ref.Namespace != p.Namespace {
			continue
		}
		name := c.Name
		if c.Namespace != p.Namespace {
			name = c.Namespace + "/" + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// naming lists some of the names. It is pure.
func naming(names []string) string {
	if more := len(names) - namedClusters; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namedClusters], ", "), more)
	}
	return strings.Join(names, ", ")
}
