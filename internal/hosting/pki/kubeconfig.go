package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

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
	// ClientCert and ClientKey are the user's, in PEM. Both are empty when Exec is there.
	ClientCert, ClientKey []byte
	// Exec is a program that gives the user's credential whenever one is needed; nil for a user with a certificate.
	Exec *ExecUser
	// Namespace is the context's. May be empty.
	Namespace string
}

// ExecUser is a program that writes an ExecCredential of client.authentication.k8s.io/v1 to its standard output. It may ask the user when there
// is a terminal. It is not told about the cluster: Args say which one is meant.
type ExecUser struct {
	// Command is a name that is looked up in PATH, such as "kqueen", or an absolute path.
	Command string
	// Args must hold no secret: they are in the file, and in the list of processes.
	Args []string
	// InstallHint is shown to who does not have the command. May be empty.
	InstallHint string
}

// config is the user as client-go has it.
func (e ExecUser) config() *api.ExecConfig {
	return &api.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: e.Command, Args: e.Args, InstallHint: e.InstallHint,
		InteractiveMode: api.IfAvailableExecInteractiveMode,
	}
}

func (e ExecUser) check() error {
	// client-go takes a relative path as one that begins where the kubeconfig is.
	if e.Command == "" || strings.ContainsAny(e.Command, `/\`) && !filepath.IsAbs(e.Command) {
		return fmt.Errorf("exec.command: %q: must be a name such as kqueen, or an absolute path", e.Command)
	}
	return nil
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
	if p.Exec != nil {
		user.Exec = p.Exec.config()
	}
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
	if err := p.checkUser(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// checkUser refuses a user with two ways to say who it is: client-go would take both at once.
func (p KubeconfigParams) checkUser() error {
	if p.Exec == nil {
		if _, err := tls.X509KeyPair(p.ClientCert, p.ClientKey); err != nil {
			return fmt.Errorf("clientCert, clientKey: %w", err)
		}
		return nil
	}
	if len(p.ClientCert) > 0 || len(p.ClientKey) > 0 {
		return errors.New("clientCert, clientKey: must be empty when there is exec")
	}
	return p.Exec.check()
}
