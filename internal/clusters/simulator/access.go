package simulator

import (
	"errors"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// clustersPath prefixes the paths of each cluster; its name follows.
const clustersPath = "/clusters/"

// Access is how the clusters of a process are adopted. It holds secrets.
type Access struct {
	// Server is the URL of the process, and Authority that of its certificate, in PEM.
	Server    string `json:"server"`
	Authority []byte `json:"authority"`
	// Clusters are all of them.
	Clusters []Served `json:"clusters"`
}

// Served is one cluster of a process.
type Served struct {
	Name string `json:"name"`
	// Token is that of KQueen there.
	Token string `json:"token"`
	// Troubled says that it does not answer well at all times, which is meant.
	Troubled bool `json:"troubled,omitempty"`
}

// AccessTo returns how the clusters of a process at a URL are adopted that has a secret. It is pure.
func AccessTo(server string, authority, secret []byte) *Access {
	a := &Access{Server: server, Authority: authority}
	bad := troubled()
	for _, name := range Names() {
		a.Clusters = append(a.Clusters, Served{Name: name, Token: Token(secret, name), Troubled: bad[name]})
	}
	return a
}

// Kubeconfig is that of a cluster. It is a secret.
func (a *Access) Kubeconfig(of Served) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = of.Name
	config.Contexts[of.Name] = &clientcmdapi.Context{Cluster: of.Name, AuthInfo: "kqueen"}
	config.Clusters[of.Name] = &clientcmdapi.Cluster{Server: a.Server + clustersPath + of.Name, CertificateAuthorityData: a.Authority}
	config.AuthInfos["kqueen"] = &clientcmdapi.AuthInfo{Token: of.Token}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, errors.New("write the kubeconfig: it cannot be encoded") // the encoder's words could quote it
	}
	return data, nil
}
