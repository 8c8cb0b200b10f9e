package connection

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// MostKubeconfig is how many bytes a kubeconfig has at most.
const MostKubeconfig = 256 << 10

// Kubeconfig is what a user's kubeconfig says of one cluster, without anything that would have this host run a program, read a
// file, or trust what it does not know. Printing it shows the server alone.
type Kubeconfig struct {
	server     *url.URL
	serverName string
	ca         []byte
	cert, key  []byte

	token, username, password string
}

// Server is the URL of the API server.
func (k *Kubeconfig) Server() string { return k.server.String() }

// String names the server.
func (k *Kubeconfig) String() string { return "kubeconfig(" + k.Server() + ")" }

// GoString is String.
func (k *Kubeconfig) GoString() string { return k.String() }

// Parse reads a kubeconfig that a user hands in. Of several contexts it takes the current one; the others are not looked at. What it
// does not take is an *invalid.Error that names the field and repeats no value. It is pure.
func Parse(data []byte) (*Kubeconfig, error) {
	if len(data) > MostKubeconfig {
		return nil, invalid.New("", "the kubeconfig has %d bytes; want at most %d", len(data), MostKubeconfig)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, invalid.New("", "the kubeconfig is empty")
	}
	var file clientcmd.Config
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		// The decoder's words may quote a secret.
		return nil, invalid.New("", "the text is not a kubeconfig in strict YAML: each field at most once, none that kubeconfigs do not have, values of the right type")
	}
	if err := checkKind(&file); err != nil {
		return nil, err
	}
	cluster, clusterAt, user, userAt, err := current(&file)
	if err != nil {
		return nil, err
	}
	k := &Kubeconfig{}
	if err := k.readCluster(cluster, clusterAt); err != nil {
		return nil, err
	}
	if err := k.readUser(user, userAt); err != nil {
		return nil, err
	}
	return k, nil
}

func checkKind(file *clientcmd.Config) error {
	if file.Kind != "" && file.Kind != "Config" {
		return invalid.Want("kind", "is not that of a kubeconfig", "Config")
	}
	if file.APIVersion != "" && file.APIVersion != "v1" {
		return invalid.Want("apiVersion", "is not that of a kubeconfig", "v1")
	}
	return nil
}

// current returns the cluster and the user of the current context, and where they stand.
func current(file *clientcmd.Config) (cluster *clientcmd.Cluster, clusterAt string, user *clientcmd.AuthInfo, userAt string, err error) {
	fail := func(err error) (*clientcmd.Cluster, string, *clientcmd.AuthInfo, string, error) {
		return nil, "", nil, "", err
	}
	if file.CurrentContext == "" {
		return fail(invalid.New("current-context", "is missing; say which context is meant: kubectl config use-context NAME"))
	}
	at, found, err := one(file.Contexts, "contexts", "current-context", file.CurrentContext, func(c *clientcmd.NamedContext) string { return c.Name })
	if err != nil {
		return fail(err)
	}
	path := fmt.Sprintf("contexts[%d].context", at)
	at, foundCluster, err := one(file.Clusters, "clusters", path+".cluster", found.Context.Cluster, func(c *clientcmd.NamedCluster) string { return c.Name })
	if err != nil {
		return fail(err)
	}
	clusterAt = fmt.Sprintf("clusters[%d].cluster", at)
	at, foundUser, err := one(file.AuthInfos, "users", path+".user", found.Context.AuthInfo, func(u *clientcmd.NamedAuthInfo) string { return u.Name })
	if err != nil {
		return fail(err)
	}
	return &foundCluster.Cluster, clusterAt, &foundUser.AuthInfo, fmt.Sprintf("users[%d].user", at), nil
}

// one returns the only entry of a name, which the field by asks for.
func one[T any](list []T, field, by, name string, nameOf func(*T) string) (int, *T, error) {
	at := -1
	for i := range list {
		if nameOf(&list[i]) != name {
			continue
		}
		if at >= 0 {
			return 0, nil, invalid.New(fmt.Sprintf("%s[%d].name", field, i), "is that of an earlier entry, too; leave one of both out")
		}
		at = i
	}
	if name == "" || at < 0 {
		return 0, nil, invalid.New(by, "names none of %s", field)
	}
	return at, &list[at], nil
}

func (k *Kubeconfig) readCluster(c *clientcmd.Cluster, at string) error {
	const inline = "the file is not on KQueen's host, which reads none; write its content in base64 to %s"
	switch {
	case c.InsecureSkipTLSVerify:
		return invalid.New(at+".insecure-skip-tls-verify", "cannot be taken: another server could take the place of this one; give certificate-authority-data instead")
	case c.CertificateAuthority != "":
		return invalid.New(at+".certificate-authority", inline, "certificate-authority-data")
	case c.ProxyURL != "":
		return invalid.New(at+".proxy-url", "cannot be taken: KQueen calls API servers itself")
	}
	server, err := parseServer(c.Server)
	if err != nil {
		return invalid.New(at+".server", "%v", err)
	}
	if c.TLSServerName != "" && !isHost(c.TLSServerName) {
		return invalid.New(at+".tls-server-name", "is neither a host name nor an address")
	}
	if len(c.CertificateAuthorityData) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.CertificateAuthorityData) {
		return invalid.New(at+".certificate-authority-data", "holds no certificate in PEM")
	}
	k.server, k.serverName, k.ca = server, c.TLSServerName, c.CertificateAuthorityData
	return nil
}

// parseServer reads the URL of an API server. Its error repeats nothing of it.
func parseServer(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("is missing; want a URL such as https://192.0.2.7:6443")
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return nil, errors.New("is not a URL; want one such as https://192.0.2.7:6443")
	}
	switch {
	case u.Scheme != "https":
		return nil, errors.New("does not begin with https://")
	case u.User != nil:
		return nil, errors.New("has a user name; write it to the user")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("has a query or a fragment; leave that out")
	case !isHost(u.Hostname()):
		return nil, errors.New("has neither a host name nor an address in the usual notation")
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, errors.New("has no port from 1 to 65535")
	}
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(u.Hostname(), port), Path: strings.TrimRight(u.Path, "/")}, nil
}

// isHost takes addresses in their usual notation, and names of hosts. A name whose last label is a number is an address in
// another notation to some resolvers, such as 2130706433 or 0x7f.1.
func isHost(text string) bool {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Zone() == "" && !addr.Is4In6()
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || last != "" && last[0] >= '0' && last[0] <= '9' {
		return false
	}
	return len(validation.IsDNS1123Subdomain(name)) == 0
}

func (k *Kubeconfig) readUser(u *clientcmd.AuthInfo, at string) error {
	if err := refuseUser(u, at); err != nil {
		return err
	}
	if (len(u.ClientCertificateData) == 0) != (len(u.ClientKeyData) == 0) {
		return invalid.New(at, "has one of client-certificate-data and client-key-data; want both or none")
	}
	if (u.Username == "") != (u.Password == "") {
		return invalid.New(at, "has one of username and password; want both or none")
	}
	if u.Token != "" && u.Username != "" {
		return invalid.New(at, "has a token and a password; want one of both")
	}
	if u.Token == "" && u.Username == "" && len(u.ClientKeyData) == 0 {
		return invalid.New(at, "has no credentials; want token, or client-certificate-data and client-key-data, or username and password")
	}
	if strings.ContainsFunc(u.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return invalid.New(at+".token", "has characters that no token has, such as a line break")
	}
	if len(u.ClientKeyData) > 0 {
		if _, err := tls.X509KeyPair(u.ClientCertificateData, u.ClientKeyData); err != nil {
			return invalid.New(at+".client-key-data", "is not, with client-certificate-data, a certificate and its key in PEM")
		}
	}
	k.cert, k.key, k.token, k.username, k.password = u.ClientCertificateData, u.ClientKeyData, u.Token, u.Username, u.Password
	return nil
}

// refuseUser says what of a user is not taken.
func refuseUser(u *clientcmd.AuthInfo, at string) error {
	const file = "the file is not on KQueen's host, which reads none; write its content to %s"
	switch {
	case u.Exec != nil:
		return invalid.New(at+".exec", "KQueen runs no program of a kubeconfig; create a ServiceAccount in the cluster and give its token")
	case u.AuthProvider != nil:
		return invalid.New(at+".auth-provider", "KQueen runs no provider of a kubeconfig; create a ServiceAccount in the cluster and give its token")
	case u.ClientCertificate != "":
		return invalid.New(at+".client-certificate", file, "client-certificate-data, in base64")
	case u.ClientKey != "":
		return invalid.New(at+".client-key", file, "client-key-data, in base64")
	case u.TokenFile != "":
		return invalid.New(at+".tokenFile", file, "token")
	case u.Impersonate != "":
		return invalid.New(at+".as", "cannot be taken; give the credentials of the user itself")
	case u.ImpersonateUID != "":
		return invalid.New(at+".as-uid", "cannot be taken; give the credentials of the user itself")
	case len(u.ImpersonateGroups) > 0:
		return invalid.New(at+".as-groups", "cannot be taken; give the credentials of the user itself")
	case len(u.ImpersonateUserExtra) > 0:
		return invalid.New(at+".as-user-extra", "cannot be taken; give the credentials of the user itself")
	}
	return nil
}

// Encode writes the kubeconfig with its one context. It is a secret.
func (k *Kubeconfig) Encode() ([]byte, error) {
	const name = "adopted"
	return yaml.Marshal(clientcmd.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters: []clientcmd.NamedCluster{{Name: name, Cluster: clientcmd.Cluster{
			Server: k.Server(), TLSServerName: k.serverName, CertificateAuthorityData: k.ca,
		}}},
		AuthInfos: []clientcmd.NamedAuthInfo{{Name: name, AuthInfo: clientcmd.AuthInfo{
			Token: k.token, Username: k.username, Password: k.password, ClientCertificateData: k.cert, ClientKeyData: k.key,
		}}},
		Contexts: []clientcmd.NamedContext{{Name: name, Context: clientcmd.Context{Cluster: name, AuthInfo: name}}},
	})
}
