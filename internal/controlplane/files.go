package controlplane

import (
	"encoding/base64"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/pki"
	"kqueen.io/kqueen/internal/runner"
)

// Files of a control plane beside its keys and certificates.
const (
	fileStoreCA           = "etcd-ca.crt"
	fileEncryption        = "encryption.yaml"
	fileAuthentication    = "authentication.yaml"
	fileControllerManager = "controller-manager.conf"
	fileScheduler         = "scheduler.conf"
)

// publicPaths are all that a caller without a name may ask for: whether the API server is well, and
// the ConfigMap with which "kubeadm join" finds out whom to trust.
var publicPaths = []string{
	"/livez", "/readyz", "/healthz",
	"/api/v1/namespaces/kube-public/configmaps/cluster-info",
}

// files are the workload's files: the keys as they are, and what the components' arguments name.
func (d Description) files() (map[string]runner.File, error) {
	files := map[string]runner.File{fileStoreCA: {Data: d.Store.CA}}
	for name, data := range d.Keys {
		files[name] = runner.File{Data: data}
	}
	for name, user := range map[string]string{fileControllerManager: "controller-manager", fileScheduler: "scheduler"} {
		data, err := pki.Kubeconfig(pki.KubeconfigParams{
			Cluster: d.ID, Context: user, User: user, Server: LocalServer(d.Place),
			CA: d.Keys["ca.crt"], ClientCert: d.Keys[user+".crt"], ClientKey: d.Keys[user+".key"],
		})
		if err != nil {
			return nil, fmt.Errorf("write kubeconfig of the %s: %w", user, err)
		}
		files[name] = runner.File{Data: data}
	}
	for name, object := range map[string]any{fileEncryption: encryption(d.EncryptionKey), fileAuthentication: authentication()} {
		data, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files[name] = runner.File{Data: data}
	}
	return files, nil
}

// encryption keeps Secrets unreadable in the store. The last provider reads what was written before.
func encryption(key []byte) apiserverv1.EncryptionConfiguration {
	return apiserverv1.EncryptionConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "EncryptionConfiguration"},
		Resources: []apiserverv1.ResourceConfiguration{{
			Resources: []string{"secrets"},
			Providers: []apiserverv1.ProviderConfiguration{
				{Secretbox: &apiserverv1.SecretboxConfiguration{Keys: []apiserverv1.Key{
					{Name: "key1", Secret: base64.StdEncoding.EncodeToString(key)},
				}}},
				{Identity: &apiserverv1.IdentityConfiguration{}},
			},
		}},
	}
}

// authentication denies callers without a name everything but publicPaths.
func authentication() apiserverv1.AuthenticationConfiguration {
	anonymous := &apiserverv1.AnonymousAuthConfig{Enabled: true}
	for _, path := range publicPaths {
		anonymous.Conditions = append(anonymous.Conditions, apiserverv1.AnonymousAuthCondition{Path: path})
	}
	return apiserverv1.AuthenticationConfiguration{
		TypeMeta:  metav1.TypeMeta{APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "AuthenticationConfiguration"},
		Anonymous: anonymous,
	}
}
