package controlplane

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// ClientCertificate is who a program is to those that it calls, in PEM.
type ClientCertificate struct{ Certificate, Key []byte }

// Files by which an API server proves to admission webhooks who it is: see "Authenticate apiservers" in
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/.
const (
	fileAdmission   = "admission.yaml"
	fileWebhooks    = "webhooks.conf"
	fileWebhookCert = "webhook-client.crt"
	fileWebhookKey  = "webhook-client.key"
)

// webhookFiles adds what the API server presents to admission webhooks. Certificate and key are files of their own, which
// it reads again when they are renewed; the other two are read when it starts.
func (d Description) webhookFiles(files map[string]runner.File) error {
	kubeconfig, err := clientcmd.Write(webhookCallers())
	if err != nil {
		return fmt.Errorf("write %s: %w", fileWebhooks, err)
	}
	configuration, err := admissionConfiguration()
	if err != nil {
		return fmt.Errorf("write %s: %w", fileAdmission, err)
	}
	files[fileWebhookCert] = runner.File{Data: d.Webhooks.Certificate}
	files[fileWebhookKey] = runner.File{Data: d.Webhooks.Key, Secret: true}
	files[fileWebhooks] = runner.File{Data: kubeconfig, Template: true}
	files[fileAdmission] = runner.File{Data: configuration, Template: true}
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

func admissionConfiguration() ([]byte, error) {
	// https://kubernetes.io/docs/reference/config-api/apiserver-webhookadmission.v1/
	webhooks, err := json.Marshal(map[string]string{
		"apiVersion": apiserverv1.SchemeGroupVersion.String(), "kind": "WebhookAdmissionConfiguration",
		"kubeConfigFile": runner.FileRef(fileWebhooks),
	})
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(apiserverv1.AdmissionConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "AdmissionConfiguration"},
		Plugins: []apiserverv1.AdmissionPluginConfiguration{{
			Name: "ValidatingAdmissionWebhook", Configuration: &runtime.Unknown{Raw: webhooks, ContentType: runtime.ContentTypeJSON},
		}},
	})
}
