package join

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapjws "k8s.io/cluster-bootstrap/token/jws"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/workers/machine"
)

// infoOf is cluster-info with an authority, signed with a token.
func infoOf(t *testing.T, ca []byte, token string) *corev1.ConfigMap {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: "https://a:1", CertificateAuthorityData: ca}
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	id, secret, _ := strings.Cut(token, ".")
	signature, err := bootstrapjws.ComputeDetachedSignature(string(data), id, secret)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{Data: map[string]string{"kubeconfig": string(data), "jws-kubeconfig-" + id: signature}}
}

func TestAuthorityOf(t *testing.T) {
	ca, _ := authority(t)
	info := infoOf(t, ca, goodToken)
	if got, err := authorityOf(info, goodToken); err != nil || !bytes.Equal(got, ca) {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := authorityOf(info, "ffffff.0123456789abcdef"); !errors.Is(err, errUnsigned) {
		t.Errorf("a token with which nothing is signed: %v", err)
	}
	if _, err := authorityOf(&corev1.ConfigMap{}, goodToken); !errors.Is(err, errUnsigned) {
		t.Errorf("a cluster that says nothing: %v", err)
	}
	if _, err := authorityOf(info, "abcdef.fedcba9876543210"); err == nil || !strings.Contains(err.Error(), "not signed with the token") {
		t.Errorf("a token with another secret: %v", err)
	}
	forged := info.DeepCopy()
	forged.Data["kubeconfig"] = strings.Replace(forged.Data["kubeconfig"], "https://a:1", "https://b:1", 1)
	if _, err := authorityOf(forged, goodToken); err == nil || !strings.Contains(err.Error(), "not signed with the token") {
		t.Errorf("words that were changed: %v", err)
	}
}

// face is an API server's face towards those who join: real HTTP and TLS, of which the answers are files.
type face struct {
	objects map[string]any
	token   string
	asked   []string
}

func (f *face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r.URL.Path)
	object, ok := f.objects[r.URL.Path]
	code := http.StatusOK
	switch auth := r.Header.Get("Authorization"); {
	case r.URL.Path == pathInfo && auth != "", r.URL.Path != pathInfo && auth != "Bearer "+f.token:
		code, object = http.StatusForbidden, metav1.Status{Message: "it is forbidden"}
	case !ok:
		code, object = http.StatusNotFound, metav1.Status{Message: "it is not there"}
	}
	w.WriteHeader(code)
	if data, err := json.Marshal(object); err == nil {
		_, _ = w.Write(data)
	}
}

func TestDiscover(t *testing.T) {
	f := &face{token: goodToken}
	server := httptest.NewTLSServer(f)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	hashes, err := machine.KeyHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	request := Request{Server: server.Listener.Addr().String(), Token: goodToken, Hashes: hashes, Node: "hand-a"}
	kubeadm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationCNI: "none"}},
		Data:       map[string]string{"ClusterConfiguration": "kubernetesVersion: v1.36.3\nnetworking: {podSubnet: 10.244.0.0/16}\n"},
	}
	kubelet := &corev1.ConfigMap{Data: map[string]string{"kubelet": "clusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\n"}}
	fresh := func() {
		f.token = goodToken
		f.objects = map[string]any{pathInfo: infoOf(t, ca, goodToken), pathCluster: kubeadm, pathKubelet: kubelet}
	}
	fresh()
	got, err := Discover(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	want := `"version":"v1.36.3","podCIDR":"10.244.0.0/16","dns":"10.96.0.10","dnsDomain":"cluster.local","cni":"none"}`
	if !strings.HasSuffix(string(text), want) || got.Server != request.Server {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, string(text)))
	}

	ready := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	another, _ := authority(t)
	cases := map[string]struct {
		change func(*Request)
		want   string
		quiet  string // a path that must not have been asked for
	}{
		"hash of another key": {func(r *Request) { r.Hashes = []string{"sha256:" + strings.Repeat("0", 64)} }, "is not the cluster that is meant", pathCluster},
		"attacker in between": {func(*Request) { f.objects[pathInfo] = infoOf(t, another, goodToken) }, "is not the cluster that is meant", pathCluster},
		"another secret":      {func(r *Request) { r.Token = "abcdef.fedcba9876543210" }, "is not signed with the token", pathCluster},
		"used meanwhile":      {func(*Request) { f.token = "other" }, "does not let the token join", ""},
		"ready already":       {func(*Request) { f.objects[pathNode+"hand-a"] = ready }, "has a node hand-a that is ready", ""},
		"no kubelet-config":   {func(*Request) { delete(f.objects, pathKubelet) }, "it is not there", ""},
		"no range of pods": {func(*Request) {
			f.objects[pathCluster] = &corev1.ConfigMap{Data: map[string]string{"ClusterConfiguration": "kubernetesVersion: v1.36.3\n"}}
		}, "networking.podSubnet", ""},
		"no name service": {func(*Request) {
			f.objects[pathKubelet] = &corev1.ConfigMap{Data: map[string]string{"kubelet": "clusterDomain: a\n"}}
		}, "clusterDNS", ""},
		"address of something else": {func(r *Request) { r.Server = "127.0.0.1:1" }, "ask the cluster at 127.0.0.1:1 who it is", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fresh()
			f.asked = nil
			r := request
			c.change(&r)
			_, err := Discover(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "0123456789abcdef") {
				t.Errorf("the secret is repeated: %v", err)
			}
			if c.quiet != "" && strings.Contains(strings.Join(f.asked, " "), c.quiet) {
				t.Errorf("%s was asked for, with the token, before the cluster was trusted", c.quiet)
			}
		})
	}
}
