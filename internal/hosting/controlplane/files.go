package controlplane

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1beta1 "k8s.io/apiserver/pkg/apis/apiserver/v1beta1"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/runner"
)

// Files of a control plane beside its keys and certificates.
const (
	fileStoreCA           = "etcd-ca.crt"
	fileEncryption        = "encryption.yaml"
	fileAuthentication    = "authentication.yaml"
	fileControllerManager = "controller-manager.conf"
	fileScheduler         = "scheduler.conf"
	fileEgress            = "egress.yaml"
	fileAuditPolicy       = "audit-policy.yaml"
	fileAdmission         = "admission.yaml"
)

// serverStandIn stands for the API server while a kubeconfig is written, which takes no reference for a URL.
const serverStandIn = "https://apiserver.invalid:6443"

// files are the workload's files: the keys as they are, and what the components' arguments name.
func (d Description) files() (map[string]runner.File, error) {
	files := map[string]runner.File{fileStoreCA: {Data: d.Store.CA}}
	for name, data := range d.keyFiles() {
		files[name] = runner.File{Data: data, Secret: !public(name)}
	}
	for name, user := range map[string]string{fileControllerManager: "controller-manager", fileScheduler: "scheduler"} {
		data, err := pki.Kubeconfig(pki.KubeconfigParams{
			Cluster: d.ID, Context: user, User: user, Server: serverStandIn,
			CA: d.Keys.Trusted(), ClientCert: d.Keys[user+".crt"], ClientKey: d.Keys[user+".key"],
		})
		if err != nil {
			return nil, fmt.Errorf("write kubeconfig of the %s: %w", user, err)
		}
		data = bytes.ReplaceAll(data, []byte(serverStandIn), []byte("https://"+runner.LocalRef(PortAPI)))
		files[name] = runner.File{Data: data, Secret: true, Template: true}
	}
	callers, err := authentication(d.Issuer)
	if err != nil {
		return nil, err
	}
	objects := map[string]any{fileEncryption: encryptionFile(d.EncryptionKeys), fileAuthentication: callers}
	if d.Cluster != "" {
		entry, err := d.entry()
		if err != nil {
			return nil, err
		}
		files[egress.MarkFile] = runner.File{Data: entry}
		objects[fileEgress] = egressSelection()
	}
	if d.AuditLog != "" {
		objects[fileAuditPolicy] = auditPolicy(d.Trusted)
	} else if d.audits() {
		objects[fileAuditPolicy] = clusterAuditPolicy(d.ClusterAudit)
	}
	if d.Webhooks != nil {
		if err := d.webhookFiles(files); err != nil {
			return nil, err
		}
	}
	if d.configuresAdmission() {
		data, err := d.admission()
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", fileAdmission, err)
		}
		files[fileAdmission] = runner.File{Data: data, Template: true}
	}
	for name, object := range objects {
		data, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files[name] = runner.File{Data: data, Secret: name == fileEncryption}
	}
	return files, nil
}

// public says that a file of the authority table is a certificate or a public key; the others are private keys.
func public(name string) bool {
	return strings.HasSuffix(name, ".crt") || strings.HasSuffix(name, ".pub")
}

// egressSelection sends all calls that a tenant can cause to the egress: those to nodes, pods and Services (cluster), and
// those to URLs that its webhooks name (controlplane). The API server runs in the directory that the socket is in; a whole
// path could be longer than the kernel takes. Its own calls to etcd are none of a tenant's.
func egressSelection() apiserverv1beta1.EgressSelectorConfiguration {
	c := apiserverv1beta1.EgressSelectorConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1beta1.SchemeGroupVersion.String(), Kind: "EgressSelectorConfiguration"},
	}
	for _, name := range []string{"cluster", "controlplane"} {
		c.EgressSelections = append(c.EgressSelections, apiserverv1beta1.EgressSelection{
			Name: name,
			Connection: apiserverv1beta1.Connection{
				ProxyProtocol: apiserverv1beta1.ProtocolHTTPConnect,
				Transport:     &apiserverv1beta1.Transport{UDS: &apiserverv1beta1.UDSTransport{UDSName: egress.Socket}},
			},
		})
	}
	return c
}

// entry marks the socket by which the API server calls into its cluster.
func (d Description) entry() ([]byte, error) {
	mark := egress.Mark{Cluster: d.Cluster, Kubelets: d.Kubelets, Allowed: d.Allowed, Closed: d.Closed}
	for _, cidr := range []string{d.Network.PodCIDR, d.Network.ServiceCIDR} {
		p, err := netip.ParsePrefix(cidr)
		if err != nil {
			return nil, fmt.Errorf("ranges of the cluster: %w", err)
		}
		mark.Ranges = append(mark.Ranges, p)
	}
	return mark.Encode()
}
