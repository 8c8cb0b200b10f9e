package controlplanetest

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/hosting/pki"
)

// WebhookCaller is who the plane's API server is to webhooks.
type WebhookCaller struct {
	// Name is the common name of its certificate, and Authority, in PEM, has signed it.
	Name      string
	Authority []byte
	// Itself is that certificate. Impostor has the same authority and another name.
	Itself, Impostor tls.Certificate
}

// Webhooks returns who the plane's API server is to webhooks.
func Webhooks(t *testing.T) WebhookCaller {
	t.Helper()
	Config(t)
	return shared.caller
}

const webhookCaller = "test-apiserver"

// presentToWebhooks writes into dir what an API server presents to webhooks, and returns the path of its configuration of
// admission.
func presentToWebhooks(dir string) (configuration string, caller WebhookCaller, err error) {
	leaf := func(name, commonName string) pki.Leaf {
		return pki.Leaf{Name: name, Authority: "ca", CommonName: commonName, Usage: pki.Client, Lifetime: 24 * time.Hour}
	}
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "test-webhook-callers", Lifetime: 24 * time.Hour}},
		Leaves:      []pki.Leaf{leaf("itself", webhookCaller), leaf("impostor", webhookCaller+"-impostor")},
	}, nil, time.Now())
	if err != nil {
		return "", caller, err
	}
	caller = WebhookCaller{Name: webhookCaller, Authority: keys["ca.crt"]}
	for name, certificate := range map[string]*tls.Certificate{"itself": &caller.Itself, "impostor": &caller.Impostor} {
		if *certificate, err = tls.X509KeyPair(keys[name+".crt"], keys[name+".key"]); err != nil {
			return "", caller, err
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	configuration = at("admission.yaml")
	files := map[string]string{
		at("client.crt"): string(keys["itself.crt"]),
		at("client.key"): string(keys["itself.key"]),
		at("webhooks.conf"): fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": {"client-certificate": %q, "client-key": %q}}]}`,
			at("client.crt"), at("client.key")),
		configuration: fmt.Sprintf(`{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [{"name": "ValidatingAdmissionWebhook",
			"configuration": {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": %q}}]}`, at("webhooks.conf")),
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", caller, err
		}
	}
	return configuration, caller, nil
}
