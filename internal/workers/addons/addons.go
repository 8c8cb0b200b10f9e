// Package addons says what a cluster must contain before nodes can join, which is what kubeadm reads and is allowed, and the
// applications that KQueen runs in it: those of the [Catalogue] that settings choose.
//
// It hides the manifests, which are upstream's wherever there is no reason to differ. It is pure and
// calls nothing: package prepare applies what it returns. Any package above the mechanisms may import it.
package addons

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/ciphers"
)

// Groups of those who join.
const (
	// TokenGroup is the group of KQueen's own bootstrap tokens. It may do what joining takes, but its
	// certificates are approved by KQueen alone, which knows the machine.
	TokenGroup = "system:bootstrappers:kqueen"
	// KubeadmTokenGroup is the group of tokens that an administrator of the cluster makes with "kubeadm
	// token create". Its certificates are approved by the cluster itself, as upstream does.
	KubeadmTokenGroup = "system:bootstrappers:kubeadm:default-node-token"
)

// Manager is the field manager under which the objects are meant to be applied.
const Manager = "kqueen-addons"

// LabelManagedBy is on every object, with the value [ManagedByKQueen]. A user who gives it another value takes the object over.
const (
	LabelManagedBy  = "app.kubernetes.io/managed-by"
	ManagedByKQueen = "kqueen"
)

// Params is what the contents of a cluster depend on.
type Params struct {
	// Version of Kubernetes that the cluster runs, such as "v1.36.3".
	Version string
	// Server is host:port at which nodes and pods reach the API server, and CA (PEM) what signs its certificate.
	Server string
	CA     []byte
	// ServerName is a name of the API server that only pods resolve; empty when it has none. It is the host of the
	// issuer of service accounts' tokens.
	ServerName string
	// PodCIDR and ServiceCIDR are the cluster's ranges.
	PodCIDR, ServiceCIDR netip.Prefix
	// DNS is the address of the cluster's name service, in ServiceCIDR, and DNSDomain the suffix of its names.
	DNS       netip.Addr
	DNSDomain string
	// CNI is the plugin of the pod network, as spec.cni of a Cluster.
	CNI string
	// ClusterName is the name in the kubeconfigs of joined machines.
	ClusterName string
	// ServiceAddresses is how many addresses at the end of the network of machines on KQueen's host are for Services.
	ServiceAddresses int
	// Addons are those that the cluster has, of [Choose].
	Addons []Chosen
	// Images are what the pods run.
	Images Images
}

// Images are references of container images, as a container runtime takes them. The entry points of CoreDNS, MetricsServer,
// NodeAgent and Traefik are the programs of that name; kube-proxy's holds /usr/local/bin/kube-proxy, iptables and nft. Those of the cluster's
// addons are required.
//
// Flannel is asked for where the CNI is flannel. By itself it is KQueen's build, which configures the machine's
// network alone. With FlannelPlugin, the image of flannel's CNI plugin, both are upstream's.
type Images struct {
	CoreDNS, KubeProxy, Flannel, FlannelPlugin, MetricsServer, NodeAgent, Traefik string
}

// HasGatewayAPI says whether the cluster has the kinds of the Gateway API.
func (p Params) HasGatewayAPI() bool {
	return slices.ContainsFunc(p.Addons, func(a Chosen) bool { return a.Name == NameGatewayAPI })
}

//go:embed manifests/*.yaml
var manifests embed.FS

// part are the manifests of an addon with its values, or, without one, of what belongs to every cluster.
type part struct {
	addon  string
	values map[string]any
	files  []string
}

// parts are in the order in which their objects are made: first what joining takes, whose last object is cluster-info (who finds
// it finds everything else), then the addons without which nodes are of use.
func (p Params) parts() []part {
	var first, then []part
	enforced := p.CNI == v1alpha1.CNINone // or not, by a network that the user installs
	for _, a := range p.Addons {
		enforced = enforced || a.Name == nameNetworkPolicies
		if a.Essential {
			first = append(first, part{a.Name, a.Values, a.files(p)})
		} else {
			then = append(then, part{a.Name, a.Values, a.files(p)})
		}
	}
	if !enforced {
		then = append(then, part{addon: nameNetworkPolicies + "-warning", files: []string{"network-policies-warning.yaml"}})
	}
	return slices.Concat(first, []part{{files: []string{"kubeadm.yaml"}}}, then)
}

// Objects returns the contents of a cluster, in the order in which they have to be made. Those of addons have the label
// [v1alpha1.LabelAddon]. The namespaces are not among them: every API server makes kube-system and kube-public itself, within
// seconds of its first start. It is pure: the same parameters give the same objects.
func Objects(p Params) ([]client.Object, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	all, err := template.New("").Funcs(template.FuncMap{
		"bundled":    bundled,
		"pullPolicy": pullPolicy,
		"quote":      quote,
		"join":       joinTexts,
		"base64":     base64.StdEncoding.EncodeToString,
	}).Option("missingkey=error").ParseFS(manifests, "manifests/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	var objects []client.Object
	for _, part := range p.parts() {
		for _, file := range part.files {
			var text bytes.Buffer
			if err := all.ExecuteTemplate(&text, file, p.values(part.values)); err != nil {
				return nil, fmt.Errorf("fill in %s: %w", file, err)
			}
			found, err := parse(text.String(), part.addon)
			if err != nil {
				return nil, fmt.Errorf("parse %s: %w", file, err)
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// Retired are objects that an earlier KQueen put into every cluster, without the label of an addon by which they would be found.
func Retired() []client.Object {
	var all []client.Object
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind})
		o.SetName("kqueen-network-policies")
		all = append(all, o)
	}
	return all
}

// Kinds are those of the objects of addons, in the order in which those of an addon are deleted.
func Kinds() []schema.GroupVersionKind {
	kind := func(group, version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	return []schema.GroupVersionKind{
		kind("apiregistration.k8s.io", "v1", "APIService"),
		kind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"),
		kind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"),
		kind("gateway.networking.k8s.io", "v1", "GatewayClass"),
		kind("networking.k8s.io", "v1", "IngressClass"),
		kind("storage.k8s.io", "v1", "StorageClass"),
		kind("storage.k8s.io", "v1", "CSIDriver"),
		kind("apps", "v1", "Deployment"),
		kind("apps", "v1", "DaemonSet"),
		kind("", "v1", "Service"),
		kind("", "v1", "ConfigMap"),
		kind("rbac.authorization.k8s.io", "v1", "RoleBinding"),
		kind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
		kind("rbac.authorization.k8s.io", "v1", "Role"),
		kind("rbac.authorization.k8s.io", "v1", "ClusterRole"),
		kind("", "v1", "ServiceAccount"),
	}
}

// values are what the templates may use; own are those of the addon.
func (p Params) values(own map[string]any) map[string]any {
	bindAddress := netip.IPv4Unspecified()
	if p.PodCIDR.Addr().Is6() {
		bindAddress = netip.IPv6Unspecified()
	}
	host, port, _ := net.SplitHostPort(p.Server) // it is valid
	return map[string]any{
		"Params":            p,
		"Values":            own,
		"ServerHost":        host,
		"ServerPort":        port,
		"BindAddress":       bindAddress.String(),
		"TokenGroup":        TokenGroup,
		"KubeadmTokenGroup": KubeadmTokenGroup,
		"ProviderLabel":     v1alpha1.LabelProvider,
		"LocalProvider":     v1alpha1.ProviderLocal,
		"CapacityLabel":     v1alpha1.LabelVolumeCapacity,
		"ProxyLabel":        v1alpha1.LabelProxy,
		"ProxyMachine":      v1alpha1.ProxyMachine,
		"ImagesLabel":       v1alpha1.LabelAddonImages,
		"ImagesImported":    v1alpha1.AddonImagesImported,
		"CNIAnnotation":     v1alpha1.AnnotationCNI,
		"AnnotatedCNI":      strings.ToLower(p.CNI), // those who join machines know it so
		"TLSMinVersion":     ciphers.MinVersion,
		"TLSCipherSuites":   ciphers.Names(),
	}
}

// bundled says whether KQueen builds the image and imports it into nodes: the registry of its name exists nowhere.
func bundled(image string) bool { return strings.HasPrefix(image, "kqueen.internal/") }

// pullPolicy keeps the kubelet from asking for an image that is not imported yet: a pull takes as long as the machine's name
// servers do, others wait for it, and each one that fails puts the next off for longer. Without a pull the kubelet looks again
// every 10 seconds.
func pullPolicy(image string) corev1.PullPolicy {
	if bundled(image) {
		return corev1.PullNever
	}
	return corev1.PullIfNotPresent
}

// quote writes a value as text, whatever YAML would read in it: 1.5 or true can be a name.
func quote(value any) (string, error) {
	text, err := json.Marshal(fmt.Sprint(value))
	return string(text), err
}

// joinTexts writes a list of texts, of values that a schema has taken, with commas between.
func joinTexts(list any) string {
	var all []string
	texts, _ := list.([]any)
	for _, t := range texts {
		all = append(all, fmt.Sprint(t))
	}
	return strings.Join(all, ",")
}

// parse reads a file of several objects and marks each as ours, and as the addon's if it is one's.
func parse(text, addon string) ([]client.Object, error) {
	var objects []client.Object
	for document := range strings.SplitSeq(text, "\n---\n") {
		data, err := yaml.YAMLToJSONStrict([]byte(document + "\n")) // a text at the end keeps its last line whole
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[LabelManagedBy] = ManagedByKQueen
		if addon != "" {
			labels[v1alpha1.LabelAddon] = addon
		}
		object.SetLabels(labels)
		objects = append(objects, object)
	}
	return objects, nil
}
