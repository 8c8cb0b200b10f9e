//go:build linux

package app

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backupschedule"
	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/admission"
	"kqueen.io/kqueen/internal/tenancy/organization"
	"kqueen.io/kqueen/internal/workers/addons"
	"kqueen.io/kqueen/internal/workers/nodepool"
)

// validators are keyed by resource. Limits come last in a chain: they count what they let through.
func validators(
	scheme *runtime.Scheme, clusters *cluster.Validator, pools nodepool.Validator, schedules backupschedule.Validator,
	limits *organization.Limits, machines netip.Prefix,
) map[string]http.Handler {
	return map[string]http.Handler{
		"organizations": webhook.WithValidator(scheme, admission.Chain(
			addons.Validator("Organization", func(o *v1alpha1.Organization) []v1alpha1.AddonSetting { return o.Spec.Addons }),
			organization.ValidateEgress(func() ([]egress.Closed, error) { return closedRanges(machines) }),
		)),
		"provisioners": webhook.WithValidator(scheme, admission.Chain(
			addons.Validator("Provisioner", func(p *v1alpha1.Provisioner) []v1alpha1.AddonSetting { return p.Spec.Addons }),
			limits.Provisioners(),
		)),
		"clusters": webhook.WithValidator(scheme, admission.Chain(
			addons.Validator("Cluster", func(c *v1alpha1.Cluster) []v1alpha1.AddonSetting { return c.Spec.Addons }),
			clusters, limits.Clusters(),
		)),
		"nodepools":       webhook.WithValidator(scheme, admission.Chain[*v1alpha1.NodePool](pools, limits.NodePools())),
		"backupschedules": webhook.WithValidator(scheme, admission.Chain[*v1alpha1.BackupSchedule](schedules)),
		"nodepools/scale": webhook.WithValidator(scheme, limits.Scales()),
	}
}

// storeOf tells the DataStore in which a provisioner keeps its clusters. With parameters that its driver does not take it
// makes none.
func storeOf(drivers map[string]provision.Driver) func(*v1alpha1.Provisioner) string {
	return func(p *v1alpha1.Provisioner) string {
		storer, ok := drivers[p.Spec.Driver].(provision.Storer)
		if !ok {
			return ""
		}
		var parameters json.RawMessage
		if p.Spec.Parameters != nil {
			parameters = p.Spec.Parameters.Raw
		}
		store, err := storer.DataStore(parameters)
		if err != nil {
			return ""
		}
		return store
	}
}

// levelOf tells the Pod Security level of a new cluster of a provisioner for which none is said.
func levelOf(drivers map[string]provision.Driver) func(*v1alpha1.Provisioner) string {
	return func(p *v1alpha1.Provisioner) string {
		if securer, ok := drivers[p.Spec.Driver].(provision.PodSecurer); ok {
			return securer.DefaultPodSecurity()
		}
		return ""
	}
}

// webhookLife is longer than any life of the program, in each of which the keys are new.
const webhookLife = 10 * 365 * 24 * time.Hour

// webhookKeys makes the webhook's certificate, and what has signed it, in PEM.
func webhookKeys() (certificate tls.Certificate, authority []byte, err error) {
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "kqueen-admission", Lifetime: webhookLife}},
		Leaves: []pki.Leaf{{
			Name: "server", Authority: "ca", CommonName: "kqueen-admission", Usage: pki.Server,
			DNSNames: []string{"localhost"}, Lifetime: webhookLife,
		}},
	}, nil, time.Now())
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	certificate, err = tls.X509KeyPair(keys["server.crt"], keys["server.key"])
	return certificate, keys["ca.crt"], err
}
