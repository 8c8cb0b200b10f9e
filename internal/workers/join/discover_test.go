package join

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
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
	return signed(t, string(data), token)
}

// signed is cluster-info with a text, signed with a token.
func signed(t *testing.T, text, token string) *corev1.ConfigMap {
	t.Helper()
	id, secret, _ := strings.Cut(token, ".")
	signature, err := bootstrapjws.ComputeDetachedSignature(text, id, secret)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{Data: map[string]string{"kubeconfig": text, "jws-kubeconfig-" + id: signature}}
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
	for text, want := range map[string]string{
		"a: [":         "read what the cluster says of itself",
		"kind: Config": "names 0 clusters; it has to name one",
		"clusters: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server: 'https://b'}}]": "names 2 clusters; it has to name one",
	} {
		if _, err := authorityOf(signed(t, text, goodToken), goodToken); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a cluster that signs %q: got %v, want %q", text, err, want)
		}
	}
}

// face is an API server's face towards those who join: real HTTP and TLS, of which the answers are files.
type face struct {
	objects map[string]any
	token   string
	asked   []string
	// before is called before each answer, with the number of it from 1.
	before func(n int)
	ca     []byte
}

// newFace is a cluster that a machine may join, and the request that joins it.
func newFace(t *testing.T) (*face, Request) {
	t.Helper()
	f := &face{token: goodToken, before: func(int) {}}
	server := httptest.NewUnstartedServer(f)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of callers that do not trust it
	server.StartTLS()
	t.Cleanup(server.Close)
	f.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	hashes, err := machine.KeyHashes(f.ca)
	if err != nil {
		t.Fatal(err)
	}
	f.objects = map[string]any{
		pathInfo: infoOf(t, f.ca, goodToken),
		pathCluster: &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationCNI: "none"}},
			Data:       map[string]string{"ClusterConfiguration": "kubernetesVersion: v1.36.3\nnetworking: {podSubnet: 10.244.0.0/16}\n"},
		},
		pathKubelet: &corev1.ConfigMap{Data: map[string]string{"kubelet": "clusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\n"}},
	}
	return f, Request{Server: server.Listener.Addr().String(), Token: goodToken, Hashes: hashes, Node: "hand-a"}
}

func (f *face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r.URL.Path)
	f.before(len(f.asked))
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

// nodeThat is a node with a status of the condition Ready.
func nodeThat(ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
}

func TestDiscover(t *testing.T) {
	for name, change := range map[string]func(*face){
		"at once": func(*face) {},
		"a token that was just made": func(f *face) {
			info := f.objects[pathInfo]
			f.objects[pathInfo] = infoOf(t, f.ca, "ffffff.0123456789abcdef")
			f.before = func(n int) {
				if n == 2 {
					f.objects[pathInfo] = info
				}
			}
		},
		"this machine, which had joined before": func(f *face) { f.objects[pathNode+"hand-a"] = nodeThat(corev1.ConditionUnknown) },
		"a node that has never said how it is":  func(f *face) { f.objects[pathNode+"hand-a"] = &corev1.Node{} },
	} {
		t.Run(name, func(t *testing.T) {
			f, request := newFace(t)
			change(f)
			got, err := Discover(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			want := `"version":"v1.36.3","podCIDR":"10.244.0.0/16","dns":"10.96.0.10","dnsDomain":"cluster.local","cni":"none"}`
			if !strings.HasSuffix(string(text), want) || got.Server != request.Server || !bytes.Equal(got.CA, f.ca) {
				t.Errorf("(-want +got):\n%s", cmp.Diff(want, string(text)))
			}
		})
	}
}

func TestDiscoverRefuses(t *testing.T) {
	another, anotherHash := authority(t)
	data := func(key, text string) *corev1.ConfigMap { return &corev1.ConfigMap{Data: map[string]string{key: text}} }
	cases := map[string]struct {
		change func(*face, *Request)
		want   string
		quiet  string // a path that must not have been asked for
	}{
		"bad request":         {func(_ *face, r *Request) { r.Node = "../x" }, "is not the name of a node", pathInfo},
		"hash of another key": {func(_ *face, r *Request) { r.Hashes = []string{"sha256:" + strings.Repeat("0", 64)} }, "is not the cluster that is meant", pathCluster},
		"attacker in between": {func(f *face, _ *Request) { f.objects[pathInfo] = infoOf(t, another, goodToken) }, "is not the cluster that is meant", pathCluster},
		"attacker that relays what the cluster says": {func(f *face, r *Request) {
			f.objects[pathInfo], r.Hashes = infoOf(t, another, goodToken), []string{anotherHash}
		}, "failed to verify certificate", pathCluster},
		"attacker for the first answer alone": {func(f *face, _ *Request) {
			f.before = func(n int) {
				if n == 2 {
					f.objects[pathInfo] = data("kubeconfig", "something else")
				}
			}
		}, "says something else of itself when it is asked a second time", pathCluster},
		"another secret":    {func(_ *face, r *Request) { r.Token = "abcdef.fedcba9876543210" }, "is not signed with the token", pathCluster},
		"used meanwhile":    {func(f *face, _ *Request) { f.token = "other" }, "does not let the token join", ""},
		"ready already":     {func(f *face, _ *Request) { f.objects[pathNode+"hand-a"] = nodeThat(corev1.ConditionTrue) }, "has a node hand-a that is ready", ""},
		"no cluster-info":   {func(f *face, _ *Request) { delete(f.objects, pathInfo) }, "it is not there", pathCluster},
		"no kubelet-config": {func(f *face, _ *Request) { delete(f.objects, pathKubelet) }, "read how the cluster is configured: the API server answers 404: it is not there", ""},
		"no range of pods": {func(f *face, _ *Request) {
			f.objects[pathCluster] = data("ClusterConfiguration", "kubernetesVersion: v1.36.3\n")
		}, "networking.podSubnet", ""},
		"no name service":           {func(f *face, _ *Request) { f.objects[pathKubelet] = data("kubelet", "clusterDomain: a\n") }, "clusterDNS", ""},
		"damaged kubeadm-config":    {func(f *face, _ *Request) { f.objects[pathCluster] = data("ClusterConfiguration", "a: [") }, "read ConfigMap kubeadm-config", ""},
		"damaged kubelet-config":    {func(f *face, _ *Request) { f.objects[pathKubelet] = data("kubelet", "clusterDNS: [x]") }, "read ConfigMap kubelet-config", ""},
		"address of something else": {func(_ *face, r *Request) { r.Server = "127.0.0.1:1" }, "ask the cluster at 127.0.0.1:1 who it is", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, r := newFace(t)
			c.change(f, &r)
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

// TestDiscoverUnsigned: when the time is up while the cluster is asked once more, its first answer counts: that it does
// not know the token.
func TestDiscoverUnsigned(t *testing.T) {
	f, request := newFace(t)
	f.objects[pathInfo] = infoOf(t, f.ca, "ffffff.0123456789abcdef")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.before = func(n int) {
		if n == 2 {
			cancel()
		}
	}
	if _, err := Discover(ctx, request); !errors.Is(err, errUnsigned) {
		t.Errorf("got %v", err)
	}
}
