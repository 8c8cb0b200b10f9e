package controlplane

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// ClientCertificate is who a program is to those that it calls, in PEM.
type ClientCertificate struct{ Certificate, Key []byte }

// Files by which an API server proves to admission webhooks who it is: see "Authenticate apiservers" in
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/.
const (
	fileWebhooks    = "webhooks.conf"
	fileWebhookCert = "webhook-client.crt"
	fileWebhookKey  = "webhook-client.key"
)

// webhookFiles adds what the API server presents to admission webhooks. Certificate and key are files of their own, which
// it reads again when they are renewed; the kubeconfig is read when it starts, as what names it is.
func (d Description) webhookFiles(files map[string]runner.File) error {
	kubeconfig, err := clientcmd.Write(webhookCallers())
	if err != nil {
		return fmt.Errorf("write %s: %w", fileWebhooks, err)
	}
	files[fileWebhookCert] = runner.File{Data: d.Webhooks.Certificate}
	files[fileWebhookKey] = runner.File{Data: d.Webhooks.Key, Secret: true}
	files[fileWebhooks] = runner.File{Data: kubeconfig, Template: true}
	return nil
}

// webhookCallers is the kubeconfig of which upstream takes the user that is named after the webhook's host and port. The
// port of KQueen's is another one in each life, so that it is the user for all. What a webhook learns of a certificate
// does not let it act as the API server.
func webhookCallers() clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.AuthInfos["*"] = &clientcmdapi.AuthInfo{ClientCertificate: runner.FileRef(fileWebhookCert), ClientKey: runner.FileRef(fileWebhookKey)}
	return *config
}
