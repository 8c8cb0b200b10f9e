//go:build linux

package app

import (
	"crypto/tls"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/admission"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

// validators are keyed by resource. Limits come last in a chain: they count what they let through.
func validators(scheme *runtime.Scheme, clusters *cluster.Validator, limits *organization.Limits, direct client.Reader) map[string]http.Handler {
	return map[string]http.Handler{
		"clusters":        webhook.WithValidator(scheme, admission.Chain(clusters, limits.Clusters())),
		"nodepools":       webhook.WithValidator(scheme, limits.NodePools()),
		"nodepools/scale": webhook.WithValidator(scheme, limits.Scales(direct)),
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
