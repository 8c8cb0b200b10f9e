package controlplane

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/runner"
)

// configuresAdmission says whether an admission plugin is to do other than upstream's default. Where none is, there is no
// file.
func (d Description) configuresAdmission() bool {
	return d.Webhooks != nil || d.boundsPods() || d.size().events.limited()
}

func (d Description) boundsPods() bool {
	return d.PodSecurity != "" && d.PodSecurity != v1alpha1.PodSecurityPrivileged
}

// configureAdmission lets the API server read the configuration of admission plugins, where there is one.
func (d Description) configureAdmission(server *runner.Component) {
	if d.configuresAdmission() {
		server.Args = append(server.Args, "--admission-control-config-file="+runner.FileRef(fileAdmission))
		server.RestartOn = append(server.RestartOn, fileAdmission)
	}
	if d.Webhooks != nil {
		server.RestartOn = append(server.RestartOn, fileWebhooks)
	}
}

// admission is the configuration of admission plugins, which the API server reads when it starts. No user of the cluster
// reaches it.
func (d Description) admission() ([]byte, error) {
	config := apiserverv1.AdmissionConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "AdmissionConfiguration"},
	}
	add := func(plugin string, configuration any) error {
		raw, err := json.Marshal(configuration)
		config.Plugins = append(config.Plugins, apiserverv1.AdmissionPluginConfiguration{
			Name: plugin, Configuration: &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON},
		})
		return err
	}
	if d.Webhooks != nil {
		// https://kubernetes.io/docs/reference/config-api/apiserver-webhookadmission.v1/
		if err := add("ValidatingAdmissionWebhook", map[string]string{
			"apiVersion": apiserverv1.SchemeGroupVersion.String(), "kind": "WebhookAdmissionConfiguration",
			"kubeConfigFile": runner.FileRef(fileWebhooks),
		}); err != nil {
			return nil, err
		}
	}
	if d.boundsPods() {
		if err := add("PodSecurity", podSecurity(d.PodSecurity)); err != nil {
			return nil, err
		}
	}
	if events := d.size().events; events.limited() {
		if err := add(eventRateLimit, events.configuration()); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(config)
}

// podSecurity holds the pods of every namespace that says no level of its own to one, and says at once in a warning what
// the pods of a Deployment would break. What KQueen puts into a cluster is in kube-system: flannel and kube-proxy set up the
// network of the node. See https://kubernetes.io/docs/tasks/configure-pod-container/enforce-standards-admission-controller/
func podSecurity(level string) any {
	const version = "latest"
	return map[string]any{
		"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
		"defaults": map[string]string{
			"enforce": level, "enforce-version": version,
			"warn": level, "warn-version": version,
			"audit": v1alpha1.PodSecurityRestricted, "audit-version": version,
		},
		"exemptions": map[string][]string{"namespaces": {metav1.NamespaceSystem}},
	}
}
