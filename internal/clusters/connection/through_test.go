//go:build linux

package connection

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// hosted has a cluster that KQueen hosts, with the kubeconfig of its administrator, whose server notes requests.
func hosted(t *testing.T, answer http.HandlerFunc) (*v1alpha1.Cluster, client.Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	admin := controlplanetest.Config(t)
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{
		Server: s.URL, TLSServerName: "example.com", CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &api.AuthInfo{ClientCertificateData: admin.CertData, ClientKeyData: admin.KeyData}
	config.Contexts["x"], config.CurrentContext = &api.Context{Cluster: "c", AuthInfo: "u"}, "x"
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	plane := controlplanetest.Client(t)
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: controlplanetest.Namespace(t, plane), Name: "own"}}
	c.Spec.Version = "v1.36.3"
	if err := plane.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.KubeconfigSecret(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind("Cluster"))},
		},
		Data: map[string][]byte{v1alpha1.KubeconfigKey: data},
	}
	if err := plane.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	return c, plane
}

// TestThroughHosted: calls of others go to a hosted cluster with the credentials of their callers, and never with those of its
// administrator, also where these are known.
func TestThroughHosted(t *testing.T) {
	var authorization string
	var certificates []*x509.Certificate
	cluster, plane := hosted(t, func(_ http.ResponseWriter, r *http.Request) {
		authorization, certificates = r.Header.Get("Authorization"), r.TLS.PeerCertificates
	})
	all := New(Config{Secrets: plane, Guard: &Guard{}, Version: "test"})
	t.Cleanup(func() { all.Forget(cluster.UID) })
	passage, err := all.Through(t.Context(), cluster)
	if err != nil || passage.Adopted {
		t.Fatalf("got %+v: %v", passage, err)
	}
	again, err := all.Through(t.Context(), cluster)
	if diff := cmp.Diff(passage.Server.String(), again.Server.String()); err != nil || diff != "" || passage.Transport != again.Transport {
		t.Errorf("the next call goes another way: %v", err)
	}
	get := func(client *http.Client, url string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer of-the-caller")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	through := &http.Client{Transport: passage.Transport}
	if err := get(through, passage.Server.String()+"/api"); err != nil {
		t.Fatal(err)
	}
	if authorization != "Bearer of-the-caller" || len(certificates) > 0 {
		t.Errorf("the cluster got %q and %d certificates", authorization, len(certificates))
	}
	authorization = ""
	if err := get(through, "https://127.0.0.1:1/api"); err == nil || authorization != "" {
		t.Error("a call went to another server")
	}
	// KQueen's own calls go with the certificate: the one way is not the other.
	config, err := all.Config(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	own, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer own.CloseIdleConnections()
	if err := get(own, passage.Server.String()+"/api"); err != nil || len(certificates) == 0 {
		t.Errorf("KQueen's own call: %d certificates, %v", len(certificates), err)
	}
}

// TestThroughAdopted: what callers bring stays behind.
func TestThroughAdopted(t *testing.T) {
	authorization := ""
	k, at := server(t, func(_ http.ResponseWriter, r *http.Request) { authorization = r.Header.Get("Authorization") })
	cluster, plane := adopted(t, k)
	all := New(Config{Secrets: plane, Guard: &Guard{Allowed: opened(at)}, Version: "test"})
	t.Cleanup(func() { all.Forget(cluster.UID) })
	passage, err := all.Through(t.Context(), cluster)
	if err != nil || !passage.Adopted {
		t.Fatalf("got %+v: %v", passage, err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, passage.Server.String()+"/api", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer of-the-caller")
	resp, err := passage.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if authorization == "" || authorization == "Bearer of-the-caller" {
		t.Errorf("the cluster got %q", authorization)
	}
}

// TestForCallers: a cluster whose authority is not known is not called, nor one by another protocol.
func TestForCallers(t *testing.T) {
	ca := controlplanetest.Config(t).CAData
	for name, tc := range map[string]struct {
		host string
		ca   []byte
		good bool
	}{
		"Good": {"https://127.0.0.1:6443", ca, true}, "Plain": {"http://127.0.0.1:6443", ca, false}, "NoHost": {"https://", ca, false},
		"NoAuthority": {"https://127.0.0.1:6443", nil, false}, "NoCertificate": {"https://127.0.0.1:6443", []byte("x"), false},
	} {
		if _, err := forCallers(&rest.Config{Host: tc.host, TLSClientConfig: rest.TLSClientConfig{CAData: tc.ca}}); (err == nil) != tc.good {
			t.Errorf("%s: got %v", name, err)
		}
	}
	none := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "none", UID: "u"}}
	if _, err := New(Config{Secrets: controlplanetest.Client(t)}).Through(t.Context(), none); !errors.Is(err, ErrNoCredentials) {
		t.Errorf("of a cluster that has no kubeconfig yet: %v", err)
	}
}
