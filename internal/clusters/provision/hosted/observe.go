package hosted

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// steps are a ControlPlane's conditions in words for users, in the order in which they come true.
var steps = []struct{ condition, name string }{
	{v1alpha1.ConditionKeysReady, "Keys and certificates"},
	{v1alpha1.ConditionStoreReady, "Keyspace in the data store"},
	{v1alpha1.ConditionEndpointReady, "Endpoint at the gateway"},
	{v1alpha1.ConditionComponentsReady, "Control plane components"},
	{v1alpha1.ConditionInitialized, "Controllers at work"},
}

// observe says what a ControlPlane's status means for its cluster.
func observe(cp *v1alpha1.ControlPlane) provision.Observed {
	status := cp.Status
	o := provision.Observed{State: provision.Creating, Version: status.Version, EmulatedVersion: status.EmulatedVersion, Steps: stepsOf(status.Conditions)}
	if status.Endpoint != nil {
		o.Endpoint = "https://" + status.Endpoint.Gateway // as kubeconfigs have it
	}
	ready := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		o.Message = "the control plane was not looked at yet"
		return o
	}
	o.Message = ready.Message
	current := status.ObservedGeneration == cp.Generation
	switch {
	case !cp.DeletionTimestamp.IsZero():
		o.State = provision.Degraded
		if ready.Reason != v1alpha1.ReasonDeleting {
			o.Message = "its control plane is being removed"
		}
	case !current:
		o.Message = "the control plane's new settings were not looked at yet"
	case apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled):
		o.State = provision.Failed
	case cp.Spec.Asleep:
		o.State = provision.Asleep
	case ready.Status == metav1.ConditionTrue:
		o.State = provision.Healthy
	}
	if o.State == provision.Creating && apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionInitialized) {
		o.State = provision.Degraded
	}
	return o
}

func stepsOf(conditions []metav1.Condition) []v1alpha1.Step {
	out := make([]v1alpha1.Step, 0, len(steps))
	for _, s := range steps {
		step := v1alpha1.Step{Name: s.name}
		if c := apimeta.FindStatusCondition(conditions, s.condition); c != nil {
			step.Done = c.Status == metav1.ConditionTrue
			if !step.Done {
				step.Message = c.Message
			}
		}
		out = append(out, step)
	}
	return out
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
		observed.Join = &v1alpha1.JoinEndpoint{Server: server, CA: nodesTrust(cp, keys.Data), ServerName: cp.Status.Endpoint.ServerName}
	}
	observed.Kubeconfig, err = adminKubeconfig(cp, keys.Data)
	return observed, err
}

// nodesTrust are the authorities that nodes trust, the one that signs their certificates first. They hear of a new one when it signs, so that
// they take its certificates and trust it at one time. It is pure.
func nodesTrust(cp *v1alpha1.ControlPlane, keys map[string][]byte) []byte {
	switch cp.Status.RotationStep(v1alpha1.CredentialCertificateAuthority) {
	case v1alpha1.StepSign, v1alpha1.StepServe, v1alpha1.StepRemove:
		return pki.Bundle(keys).Trusted()
	}
	return keys["ca.crt"]
}

func adminKubeconfig(cp *v1alpha1.ControlPlane, keys map[string][]byte) ([]byte, error) {
	return pki.Kubeconfig(pki.KubeconfigParams{
		Cluster:       cp.Name,
		Context:       cp.Name,
		User:          cp.Name + "-admin",
		Server:        "https://" + cp.Status.Endpoint.Gateway,
		TLSServerName: cp.Status.Endpoint.ServerName,
		CA:            pki.Bundle(keys).Trusted(),
		ClientCert:    keys["admin.crt"],
		ClientKey:     keys["admin.key"],
	})
}
