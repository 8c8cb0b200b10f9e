package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// KubeconfigParams is the content of a kubeconfig with one cluster, one user and one context.
type KubeconfigParams struct {
	// Cluster, Context and User are names inside the file. All must be set.
	Cluster, Context, User string
	// Server is the API server's URL: "https://192.0.2.1:6443".
	Server string
	// TLSServerName is the name to send (SNI) and to expect in the server's certificate, when it is not the host in Server. May be empty.
	TLSServerName string
	// CA is what the server's certificate is checked against, one PEM certificate or more.
	CA []byte
	// ClientCert and ClientKey are the user's, in PEM.
	ClientCert, ClientKey []byte
	// Namespace is the context's. May be empty.
	Namespace string
}

// Kubeconfig returns the YAML of a kubeconfig that carries all its data inside. The same params give the same bytes. The error names every field that is wrong.
func Kubeconfig(p KubeconfigParams) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	cluster := api.NewCluster()
	cluster.Server, cluster.TLSServerName, cluster.CertificateAuthorityData = p.Server, p.TLSServerName, p.CA
	user := api.NewAuthInfo()
	user.ClientCertificateData, user.ClientKeyData = p.ClientCert, p.ClientKey
	context := api.NewContext()
	context.Cluster, context.AuthInfo, context.Namespace = p.Cluster, p.User, p.Namespace
	config := api.NewConfig()
	config.Clusters[p.Cluster], config.AuthInfos[p.User], config.Contexts[p.Context] = cluster, user, context
	config.CurrentContext = p.Context
	out, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return out, nil
}

func (p KubeconfigParams) check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if p.Cluster == "" || p.Context == "" || p.User == "" {
		add("cluster %q, context %q, user %q: none may be empty", p.Cluster, p.Context, p.User)
	}
	// Another scheme than https would make clients send no certificate, and tokens in the clear.
	server, err := url.Parse(p.Server)
	if err != nil || server.Scheme != "https" || server.Hostname() == "" {
		add("server: %q: must be a URL such as https://192.0.2.1:6443", p.Server)
	}
	if p.TLSServerName != "" {
		if _, err := netip.ParseAddr(p.TLSServerName); err != nil {
			if err := checkDNSName(p.TLSServerName); err != nil {
				add("tlsServerName: %w", err)
			}
		}
	}
	if p.Namespace != "" && !isLabel(p.Namespace) {
		add("namespace: %q: must be 1 to 63 of a-z, 0-9 and -", p.Namespace)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(p.CA) {
		add("ca: must hold at least one PEM certificate")
	}
	if _, err := tls.X509KeyPair(p.ClientCert, p.ClientKey); err != nil {
		add("clientCert, clientKey: %w", err)
	}
	return errors.Join(problems...)
}
