package addons

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/kube"
)

// patience is how long a server may take to see what another one wrote.
const patience = time.Minute

// planeParams are those of the test plane itself.
func planeParams(t *testing.T) Params {
	t.Helper()
	p, config := params(), controlplanetest.Config(t)
	host, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p.Server, p.CA = host.Host, config.CAData
	return p
}

// install applies the contents of a cluster to the test plane.
func install(t *testing.T, p Params) {
	t.Helper()
	c := controlplanetest.Client(t)
	awaitNamespaces(t, c)
	t.Cleanup(func() { // the address of a Service cannot be changed, and the next test may want another one
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}}
		if err := client.IgnoreNotFound(c.Delete(context.WithoutCancel(t.Context()), service)); err != nil {
			t.Error(err)
		}
	})
	kinds, err := GatewayAPI()
	if err == nil {
		err = kube.Apply(t.Context(), c, kinds, Manager)
	}
	if err != nil {
		t.Fatal(err)
	}
	await(t, "apply everything", func(ctx context.Context) error {
		err := kube.Apply(ctx, c, objects(t, p), Manager)
		if err != nil && !apimeta.IsNoMatchError(err) { // kinds are served some time after they are made
			t.Fatal(err)
		}
		return err
	})
}

// awaitNamespaces waits for what the API server makes itself.
func awaitNamespaces(t *testing.T, c client.Client) {
	t.Helper()
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespacePublic} {
		await(t, "namespace "+name, func(ctx context.Context) error {
			return c.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
		})
	}
}

// await tries again until it succeeds, and fails the test when it does not within patience.
func await(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v: %v", what, err, last)
	}
}

// TestAPIServerTakesAll applies everything to a real API server, twice: the second time changes nothing.
func TestAPIServerTakesAll(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"IPv4": func(*Params) {}, "IPv6": ipv6, "Flannel": flannel, "FlannelUpstream": flannelUpstream,
	} {
		t.Run(name, func(t *testing.T) {
			p, c := planeParams(t), controlplanetest.Client(t)
			change(&p)
			install(t, p)
			first := resourceVersions(t, c, objects(t, p))
			install(t, p)
			for object, version := range resourceVersions(t, c, objects(t, p)) {
				if version != first[object] {
					t.Errorf("%s was changed by applying the same again", object)
				}
			}
		})
	}
}

func resourceVersions(t *testing.T, c client.Client, all []client.Object) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, object := range all {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		if label := object.GetLabels()[LabelManagedBy]; label != "kqueen" {
			t.Errorf("%s is labelled %q", object.GetName(), label)
		}
		if object.GetObjectKind().GroupVersionKind().Kind == "GatewayClass" {
			continue // its status has a default, which is written down at the second time
		}
		versions[fmt.Sprintf("%s %s/%s", object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName())] = object.GetResourceVersion()
	}
	return versions
}

// makeToken creates a bootstrap token in the plane and returns it. The part before the dot is its name.
func makeToken(t *testing.T, group string, expires time.Time) string {
	t.Helper()
	random := strings.ToLower(rand.Text())
	id, secret := random[:6], random[6:22]
	object := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": secret, "auth-extra-groups": group,
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"expiration": expires.UTC().Format(time.RFC3339),
		},
	}
	if err := controlplanetest.Client(t).Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return id + "." + secret
}

// caller is a client of the plane with a token, or with nothing.
func caller(t *testing.T, token string) kubernetes.Interface {
	t.Helper()
	admin := controlplanetest.Config(t)
	return clientset(t, &rest.Config{Host: admin.Host, TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData}, BearerToken: token})
}

// as is a client of the plane that calls as another user.
func as(t *testing.T, name string, groups ...string) kubernetes.Interface {
	t.Helper()
	admin := controlplanetest.Config(t)
	admin.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	return clientset(t, admin)
}

func clientset(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is what an API server says: the reason of an error, or "OK".
func answer(err error) string {
	if err == nil {
		return "OK"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return string(status.Status().Reason)
	}
	return err.Error()
}

// configMap reads a ConfigMap.
func configMap(namespace, name string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, c kubernetes.Interface) error {
		_, err := c.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	}
}

// TestRights calls a real API server as those who join and looks at what they may.
func TestRights(t *testing.T) {
	p := planeParams(t)
	install(t, p)
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	callers := map[string]kubernetes.Interface{
		"anonymous": caller(t, ""),
		"expired":   caller(t, makeToken(t, TokenGroup, past)),
		"stranger":  caller(t, makeToken(t, "system:bootstrappers:other", future)),
		"kubeadm":   caller(t, makeToken(t, KubeadmTokenGroup, future)),
		"kqueen":    caller(t, makeToken(t, TokenGroup, future)),
		"node":      as(t, "system:node:one", "system:nodes"),
	}
	// Tokens are seen in the order in which they were made.
	await(t, "the last token", func(ctx context.Context) error {
		_, err := callers["kqueen"].CoreV1().ConfigMaps("kube-system").Get(ctx, "kubeadm-config", metav1.GetOptions{})
		return err
	})
	const ok, no, who, missing = "OK", "Forbidden", "Unauthorized", "NotFound"
	columns := []string{"anonymous", "expired", "stranger", "kubeadm", "kqueen", "node"}
	tests := map[string]struct {
		try  func(context.Context, kubernetes.Interface) error
		want [6]string
	}{
		"cluster-info":   {configMap("kube-public", "cluster-info"), [6]string{ok, who, no, no, no, no}},
		"other public":   {configMap("kube-public", "other"), [6]string{no, who, no, no, no, no}},
		"kubeadm-config": {configMap("kube-system", "kubeadm-config"), [6]string{no, who, no, ok, ok, ok}},
		"kubelet-config": {configMap("kube-system", "kubelet-config"), [6]string{no, who, no, ok, ok, ok}},
		"kube-proxy":     {configMap("kube-system", "kube-proxy"), [6]string{no, who, no, ok, ok, no}},
		"coredns":        {configMap("kube-system", "coredns"), [6]string{no, who, no, no, no, no}},
		"all config maps": {func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().ConfigMaps("kube-system").List(ctx, metav1.ListOptions{})
			return err
		}, [6]string{no, who, no, no, no, no}},
		"delete kubelet-config": {func(ctx context.Context, c kubernetes.Interface) error {
			return c.CoreV1().ConfigMaps("kube-system").Delete(ctx, "kubelet-config", metav1.DeleteOptions{DryRun: []string{"All"}})
		}, [6]string{no, who, no, no, no, no}},
		"a token": {func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets("kube-system").Get(ctx, "bootstrap-token-any", metav1.GetOptions{})
			return err
		}, [6]string{no, who, no, no, no, no}},
		"all secrets": {func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
			return err
		}, [6]string{no, who, no, no, no, no}},
		"a node by name": {func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Get(ctx, "fresh", metav1.GetOptions{})
			return err
		}, [6]string{no, who, no, missing, missing, missing}},
		"all nodes": {func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			return err
		}, [6]string{no, who, no, no, no, ok}},
		"endpoint slices": {func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
			return err
		}, [6]string{no, who, no, no, no, ok}},
		"services": {func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Services("").List(ctx, metav1.ListOptions{})
			return err
		}, [6]string{no, who, no, no, no, ok}},
		"certificate requests": {func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CertificatesV1().CertificateSigningRequests().Get(ctx, "fresh", metav1.GetOptions{})
			return err
		}, [6]string{no, who, no, missing, missing, no}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for i, column := range columns {
				if got := answer(tc.try(t.Context(), callers[column])); got != tc.want[i] {
					t.Errorf("%s: got %s, want %s", column, got, tc.want[i])
				}
			}
		})
	}
}

// TestApproval looks at who gets a certificate without being asked who it is. The controller that approves
// asks the API server just this.
func TestApproval(t *testing.T) {
	install(t, planeParams(t))
	const first, renewal = "nodeclient", "selfnodeclient"
	await(t, "the binding", func(ctx context.Context) error { // before it is seen, no user may
		got, err := mayApprove(ctx, controlplanetest.Config(t), KubeadmTokenGroup, first)
		if err == nil && !got {
			err = errors.New("no user may")
		}
		return err
	})
	tests := map[string]struct {
		group, what string
		want        bool
	}{
		"KubeadmFirst":   {KubeadmTokenGroup, first, true},
		"KQueenFirst":    {TokenGroup, first, false},
		"AnyTokenFirst":  {"system:bootstrappers", first, false},
		"NodeFirst":      {"system:nodes", first, false},
		"NodeRenewal":    {"system:nodes", renewal, true},
		"KubeadmRenewal": {KubeadmTokenGroup, renewal, false},
		"KQueenRenewal":  {TokenGroup, renewal, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			await(t, "the answer", func(ctx context.Context) error {
				got, err := mayApprove(ctx, controlplanetest.Config(t), tc.group, tc.what)
				if err == nil && got != tc.want {
					err = fmt.Errorf("got %v, want %v", got, tc.want)
				}
				return err
			})
		})
	}
}

// TestKubeadmJoin lets upstream's kubeadm discover the cluster with a token of KQueen's, while upstream's
// controller manager signs cluster-info. It stops before it would change the host.
func TestKubeadmJoin(t *testing.T) {
	p := planeParams(t)
	install(t, p)
	token := makeToken(t, TokenGroup, time.Now().Add(time.Hour))
	id, _, _ := strings.Cut(token, ".")
	startSigner(t)
	await(t, "the signature", func(ctx context.Context) error { return signed(ctx, t, id) })

	out := joinPreflight(t, p, token)
	for _, bad := range []string{"unknown field", "error unmarshaling", "Continuing without it"} {
		if strings.Contains(out, bad) {
			t.Errorf("kubeadm complains of %q:\n%s", bad, out)
		}
	}
	if want := "attempting to download the KubeletConfiguration"; !strings.Contains(out, want) {
		t.Errorf("kubeadm did not get as far as %q:\n%s", want, out)
	}

	install(t, p)
	if err := signed(t.Context(), t, id); err != nil {
		t.Errorf("after applying again: %v", err)
	}
}

// signed looks whether cluster-info is signed for the token with that id.
func signed(ctx context.Context, t *testing.T, id string) error {
	t.Helper()
	info := &corev1.ConfigMap{}
	if err := controlplanetest.Client(t).Get(ctx, client.ObjectKey{Namespace: metav1.NamespacePublic, Name: "cluster-info"}, info); err != nil {
		return err
	}
	if info.Data["jws-kubeconfig-"+id] == "" {
		return errors.New("cluster-info has no signature for the token")
	}
	return nil
}

// TestKubeProxyReadsItsConfiguration: it decodes strictly, and writes out what it understood.
func TestKubeProxyReadsItsConfiguration(t *testing.T) {
	p := params()
	for _, object := range objects(t, p) {
		if object.GetName() != "kube-proxy" || object.GetObjectKind().GroupVersionKind().Kind != "ConfigMap" {
			continue
		}
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
		if err := os.WriteFile(in, []byte(text(t, object, "config.conf")), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, "kube-proxy", "--config="+in, "--write-config-to="+out)
		written, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"maxPerCore: 0\n", "min: 0\n", "tcpCloseWaitTimeout: 0s\n", "tcpEstablishedTimeout: 0s\n", "clusterCIDR: 10.244.0.0/16\n"} {
			if !strings.Contains(string(written), want) {
				t.Errorf("kube-proxy did not take %q:\n%s", want, written)
			}
		}
		return
	}
	t.Fatal("kube-proxy has no configuration")
}
