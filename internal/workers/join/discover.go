package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstrapjws "k8s.io/cluster-bootstrap/token/jws"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	// signaturePatience is how long a token that is just made may have no signature yet.
	signaturePatience = 3 * time.Second
	signatureLook     = 250 * time.Millisecond
)

// Paths of what a cluster tells those who join.
const (
	pathInfo    = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	pathCluster = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
	pathKubelet = "/api/v1/namespaces/kube-system/configmaps/kubelet-config"
	pathNode    = "/api/v1/nodes/"
)

// errUnsigned says that a cluster has signed nothing with a token.
var errUnsigned = errors.New("the cluster does not know the token: it is wrong, has joined a machine already, or has expired")

// Discover finds out which cluster it is that the request speaks of, and that it is the right one: what it says of
// itself has to be signed with the token, and its certificate authority to have a key that was pinned. Nothing
// else that is read is believed before that.
func Discover(ctx context.Context, r Request) (Cluster, error) {
	if err := r.Check(); err != nil {
		return Cluster{}, err
	}
	stranger, err := newCaller(r.Server, nil, "")
	if err != nil {
		return Cluster{}, err
	}
	said, ca, err := r.signed(ctx, stranger)
	if err != nil {
		return Cluster{}, err
	}
	if err := r.pinned(ca); err != nil {
		return Cluster{}, err
	}
	// Unauthenticated callers may read this; callers with the token may not.
	known, err := newCaller(r.Server, ca, "")
	if err != nil {
		return Cluster{}, err
	}
	again := &corev1.ConfigMap{}
	if err := known.get(ctx, pathInfo, again); err != nil {
		return Cluster{}, fmt.Errorf("ask the cluster at %s who it is: %w", r.Server, err)
	}
	if !sameText(again.Data[bootstrapapi.KubeConfigKey], said) {
		return Cluster{}, fmt.Errorf("the cluster at %s says something else of itself when it is asked a second time; an attacker may be in between", r.Server)
	}
	known.token = r.Token
	c := Cluster{Server: r.Server, CA: ca}
	if err := c.read(ctx, known); err != nil {
		return Cluster{}, err
	}
	return c, vacant(ctx, known, r.Node)
}

// signed reads what a cluster says of itself and checks the token's signature, for which a token that was just made
// has to wait.
func (r Request) signed(ctx context.Context, from *caller) (said string, ca []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, signaturePatience)
	defer cancel()
	again := time.NewTicker(signatureLook)
	defer again.Stop()
	answered := false
	for {
		info := &corev1.ConfigMap{}
		call := from.get(ctx, pathInfo, info)
		if call != nil && (!answered || ctx.Err() == nil) {
			return "", nil, fmt.Errorf("ask the cluster at %s who it is: %w", r.Server, call)
		}
		if call == nil {
			answered = true
			ca, err = authorityOf(info, r.Token)
		}
		if !errors.Is(err, errUnsigned) {
			return info.Data[bootstrapapi.KubeConfigKey], ca, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return "", nil, err
		}
	}
}

// authorityOf returns the certificate authority that cluster-info names, when that is signed with the token. It is
// pure.
func authorityOf(info *corev1.ConfigMap, token string) ([]byte, error) {
	text := info.Data[bootstrapapi.KubeConfigKey]
	id, secret, _ := strings.Cut(token, ".")
	signature, ok := info.Data[bootstrapapi.JWSSignatureKeyPrefix+id]
	if text == "" || !ok {
		return nil, errUnsigned
	}
	if !bootstrapjws.DetachedTokenIsValid(signature, text, id, secret) {
		return nil, errors.New("what the cluster says of itself is not signed with the token: the part after the dot is wrong, or something else pretends to be the cluster")
	}
	return authoritiesIn(text)
}

// authoritiesIn are those that a cluster says it has. It is pure.
func authoritiesIn(text string) ([]byte, error) {
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read what the cluster says of itself: %w", err)
	}
	if len(config.Clusters) != 1 {
		return nil, fmt.Errorf("what the cluster says of itself names %d clusters; it has to name one", len(config.Clusters))
	}
	var ca []byte
	for _, c := range config.Clusters {
		ca = c.CertificateAuthorityData
	}
	return ca, nil
}

// read fills in what a node has to know.
func (c *Cluster) read(ctx context.Context, from *caller) error {
	texts := map[string]*corev1.ConfigMap{pathCluster: {}, pathKubelet: {}}
	for path, into := range texts {
		err := from.get(ctx, path, into)
		if hasCode(err, http.StatusUnauthorized) || hasCode(err, http.StatusForbidden) {
			return fmt.Errorf("the cluster does not let the token join machines (any more): %w", err)
		}
		if err != nil {
			return fmt.Errorf("read how the cluster is configured: %w", err)
		}
	}
	return c.fill(texts[pathCluster], texts[pathKubelet])
}

// fill takes what a node has to know from kubeadm's ConfigMaps. It is pure.
func (c *Cluster) fill(kubeadm, kubelet *corev1.ConfigMap) error {
	var cluster struct {
		KubernetesVersion string `json:"kubernetesVersion"`
		Networking        struct {
			PodSubnet string `json:"podSubnet"`
		} `json:"networking"`
	}
	if err := yaml.Unmarshal([]byte(kubeadm.Data["ClusterConfiguration"]), &cluster); err != nil {
		return fmt.Errorf("read ConfigMap kubeadm-config: %w", err)
	}
	var node struct {
		ClusterDNS    []netip.Addr `json:"clusterDNS"`
		ClusterDomain string       `json:"clusterDomain"`
	}
	if err := yaml.Unmarshal([]byte(kubelet.Data["kubelet"]), &node); err != nil {
		return fmt.Errorf("read ConfigMap kubelet-config: %w", err)
	}
	pods, err := netip.ParsePrefix(cluster.Networking.PodSubnet)
	if err != nil {
		return fmt.Errorf("read networking.podSubnet of ConfigMap kubeadm-config: %w", err)
	}
	if len(node.ClusterDNS) == 0 {
		return errors.New("read ConfigMap kubelet-config: clusterDNS names no address")
	}
	c.Version, c.PodCIDR, c.DNS, c.DNSDomain = cluster.KubernetesVersion, pods, node.ClusterDNS[0], node.ClusterDomain
	c.CNI = kubeadm.Annotations[v1alpha1.AnnotationCNI]
	return nil
}

// vacant refuses a name under which a machine runs already. A node that is not ready may be this machine, which
// had joined before.
func vacant(ctx context.Context, from *caller, name string) error {
	node := &corev1.Node{}
	err := from.get(ctx, pathNode+name, node)
	if hasCode(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whether the cluster has a node %s: %w", name, err)
	}
	if ready := readyCondition(node); ready != nil && ready.Status == corev1.ConditionTrue {
		return fmt.Errorf("the cluster has a node %s that is ready; a second machine of this name would take its place", name)
	}
	return nil
}

// OwnAddress is the address from which this machine calls the server. Nothing is sent.
func OwnAddress(ctx context.Context, server string) (netip.Addr, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", server)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the way to %s: %w", server, err)
	}
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	return local.Addr().Unmap(), errors.Join(err, conn.Close())
}
