//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestAdopted: a cluster that exists is adopted by the kubeconfig of a ServiceAccount without any rights. At an address of the host it
// is refused until the administrator opens that. It is seen with its version, gets no node pool, its token never comes out, members get
// there what its roles give them, and letting it go leaves its objects as they were.
func TestAdopted(t *testing.T) {
	parallel(t, 2*time.Minute)
	i := newInstallation(t)
	gateway := strconv.Itoa(freePort(t))
	at := "127.0.0.1:" + gateway
	i.up("--gateway-port", gateway)
	i.ok("cluster", "create", "far", "--wait", "--timeout", "5m")
	admin := i.tenant("default", "far")
	far := clientset(t, admin)
	token := tokenWithoutRights(t, far)
	file := adoptKubeconfig(t, i, admin, token)

	refused := i.kqueen("cluster", "import", "near", "--kubeconfig", file)
	if refused.code != 1 || !strings.Contains(refused.stderr, "kqueen up --import-allow "+at) {
		t.Errorf("an address of the host that is not open: exit code %d, %s", refused.code, refused.stderr)
	}
	if r := i.kqueen("cluster", "get", "near"); r.code != 3 {
		t.Errorf("what was refused is left: %s%s", r.stdout, r.stderr)
	}
	i.ok("down")
	i.up("--import-allow", at)
	i.ok("cluster", "wait", "far", "--timeout", "5m")
	before := objectsOf(t, far)

	i.ok("cluster", "import", "near", "--kubeconfig", file, "--wait", "--timeout", "5m")
	if got := i.ok("cluster", "get", "near", "-o", "jsonpath={.status.version} {.status.endpoint}"); got != programs.version+" https://"+at {
		t.Errorf("it is seen as %q", got)
	}
	if r := i.kqueen("nodepool", "create", "more", "--cluster", "near", "--nodes", "1"); r.code == 0 || !strings.Contains(r.stderr, "was adopted") {
		t.Errorf("a node pool: exit code %d, %s", r.code, r.stderr)
	}
	// A member enters through KQueen, by a credential of its own, with the rights that the cluster gave to the ServiceAccount: none.
	entered := i.kubeconfig("default", "near")
	if said, err := os.ReadFile(entered); err != nil || strings.Contains(string(said), token) {
		t.Errorf("its kubeconfig has the ServiceAccount's token, or is not there: %v", err)
	}
	if r := i.tryKubectl(entered, "", "get", "namespaces"); r.code == 0 || !strings.Contains(r.stderr, "(Forbidden)") {
		t.Errorf("a member of a cluster that gives no rights: exit code %d, %s%s", r.code, r.stdout, r.stderr)
	}
	if r := i.kqueen("cluster", "kubeconfig", "near", "--break-glass"); r.code == 0 || !strings.Contains(r.stderr, "adopted") {
		t.Errorf("break-glass: exit code %d, %s", r.code, r.stderr)
	}
	if r := i.kqueen("cluster", "import", "far", "--kubeconfig", file); r.code == 0 {
		t.Error("a cluster that KQueen hosts was adopted")
	}
	keptApart(t, i)

	i.ok("cluster", "delete", "near", "--yes")
	if diff := cmp.Diff(before, objectsOf(t, far)); diff != "" {
		t.Errorf("its objects are others (-before +after):\n%s", diff)
	}
	secrets := &corev1.SecretList{}
	if err := i.admin().List(t.Context(), secrets, client.InNamespace("org-default")); err != nil {
		t.Fatal(err)
	}
	for n := range secrets.Items {
		if secrets.Items[n].Type == v1alpha1.SecretTypeClusterCredentials {
			t.Errorf("the Secret %s is left", secrets.Items[n].Name)
		}
	}
}

// tokenWithoutRights returns the token of a new ServiceAccount of a cluster.
func tokenWithoutRights(t *testing.T, c *kubernetes.Clientset) string {
	t.Helper()
	const namespace, name = "kqueen-access", "kqueen"
	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	accounts := c.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// adoptKubeconfig writes a kubeconfig for a cluster with a token, and returns its path.
func adoptKubeconfig(t *testing.T, i *installation, way *rest.Config, token string) string {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["far"] = &clientcmdapi.Cluster{Server: way.Host, TLSServerName: way.ServerName, CertificateAuthorityData: way.CAData}
	k.AuthInfos["kqueen"] = &clientcmdapi.AuthInfo{Token: token}
	k.Contexts["far"] = &clientcmdapi.Context{Cluster: "far", AuthInfo: "kqueen"}
	k.CurrentContext = "far"
	data, err := clientcmd.Write(*k)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(i.base, "adopt.kubeconfig")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// objectsOf names objects of a cluster with their resource versions, once its controllers have made those that each namespace has.
func objectsOf(t *testing.T, c *kubernetes.Clientset) []string {
	t.Helper()
	var all []string
	eventually(t, "every namespace has its objects", func(ctx context.Context) error {
		all = nil
		namespaces, err := c.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		maps, err := c.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		accounts, err := c.CoreV1().ServiceAccounts("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		bindings, err := c.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		has := func(kind string, o metav1.Object) {
			all = append(all, fmt.Sprintf("%s %s/%s %s %s", kind, o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion()))
		}
		roots, defaults := 0, 0
		for n := range maps.Items {
			has("ConfigMap", &maps.Items[n])
			if maps.Items[n].Name == "kube-root-ca.crt" {
				roots++
			}
		}
		for n := range accounts.Items {
			has("ServiceAccount", &accounts.Items[n])
			if accounts.Items[n].Name == "default" {
				defaults++
			}
		}
		for n := range bindings.Items {
			has("ClusterRoleBinding", &bindings.Items[n])
		}
		for n := range namespaces.Items {
			has("Namespace", &namespaces.Items[n])
		}
		if roots != len(namespaces.Items) || defaults != len(namespaces.Items) {
			return errors.New("a namespace is new")
		}
		return nil
	})
	slices.Sort(all)
	return all
}

// keptApart: what was set for the adopted cluster is in a Secret of its own type, and in no kubeconfig that other code would use.
func keptApart(t *testing.T, i *installation) {
	t.Helper()
	c := &v1alpha1.Cluster{}
	if err := i.admin().Get(t.Context(), client.ObjectKey{Namespace: "org-default", Name: "near"}, c); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := i.admin().Get(t.Context(), client.ObjectKey{Namespace: c.Namespace, Name: c.CredentialsSecret()}, secret); err != nil || secret.Type != v1alpha1.SecretTypeClusterCredentials {
		t.Errorf("the Secret with its kubeconfig is of the type %q: %v", secret.Type, err)
	}
	if err := i.admin().Get(t.Context(), client.ObjectKey{Namespace: c.Namespace, Name: c.KubeconfigSecret()}, secret); !apierrors.IsNotFound(err) {
		t.Errorf("its kubeconfig is published: %v", err)
	}
}
