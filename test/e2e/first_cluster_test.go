//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: example.com/web:1}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.harbour.example.com}
spec:
  group: harbour.example.com
  scope: Namespaced
  names: {kind: Boat, plural: boats, singular: boat}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {length: {type: integer}}}}
`

const boat = `
apiVersion: harbour.example.com/v1
kind: Boat
metadata: {name: argo}
spec: {length: 28}
`

func TestFirstCluster(t *testing.T) {
	parallel(t, 7*time.Minute)
	firstCluster(t, newInstallation(t), func(i *installation) {
		t.Run("Docs", func(t *testing.T) { doesWhatIsDocumented(t, i) })
	})
}

// firstCluster is what a new user does on the first day, to the end, and more while the cluster runs.
func firstCluster(t *testing.T, i *installation, more func(*installation)) {
	i.up()
	if info, err := os.Stat(i.adminKubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the administrator's kubeconfig has mode %v (%v), want 0600", info.Mode(), err)
	}
	if r := i.kqueen("up"); r.code != 0 || !strings.Contains(r.stderr, "running already") {
		t.Errorf("a second up: exit code %d: %s", r.code, r.stderr)
	}
	i.ok("cluster", "create", "first", "--wait", "--timeout", "5m")
	kubeconfig := i.kubeconfig("default", "first")
	if got := i.kubectl(kubeconfig, "", "get", "ns", "-o", "name"); !strings.Contains(got, "namespace/kube-system") {
		t.Errorf("namespaces of the cluster: %q", got)
	}
	if out := i.ok("logs", "first", "kube-apiserver", "--tail", "1"); strings.Count(out, "\n") != 1 {
		t.Errorf("the last line of the API server's log is %q", out)
	}
	uids := useCluster(t, i, kubeconfig)
	asksForLess(t, i)
	serviceAccountToken(t, i.tenant("default", "first"))
	checkStatus(t, i)
	if got := i.kubectl(i.adminKubeconfig(), "", "get", "clusters", "--no-headers"); len(strings.Fields(got)) < 3 || strings.Fields(got)[1] != "True" {
		t.Errorf("clusters on the admin plane: %q, want it to be ready", got)
	}
	more(i)

	i.ok("down")
	for _, p := range i.processes() {
		t.Errorf("runs after down: %s", p)
	}
	if r := i.kqueen("status"); r.code == 0 || !strings.Contains(r.stderr, "not running") {
		t.Errorf("status after down: exit code %d: %s", r.code, r.stderr)
	}
	if out := i.ok("logs", "default/first", "kube-apiserver", "--tail", "1"); strings.Count(out, "\n") != 1 {
		t.Errorf("after down the last line of the API server's log is %q", out)
	}
	i.up()
	i.ok("cluster", "wait", "first", "--timeout", "5m")
	got := i.kubectl(kubeconfig, "", "get", "deployment/web", "boat/argo", "-o", "jsonpath={.items[*].metadata.uid}")
	if got != uids {
		t.Errorf("objects after down and up: %q, want those from before: %q", got, uids)
	}

	i.ok("reset", "--yes")
	if left := files(t, i.dir); len(left) > 0 {
		t.Errorf("reset left behind: %s", strings.Join(left, "\n"))
	}
	for _, p := range i.processes() {
		t.Errorf("runs after reset: %s", p)
	}
}

// asksForLess enters the cluster with a kubeconfig without a secret, for which kqueen calls the installation on this machine.
func asksForLess(t *testing.T, i *installation) {
	t.Helper()
	config := filepath.Join(i.base, "view.kubeconfig")
	i.ok("cluster", "kubeconfig", "first", "--access", "view", "--kubeconfig-out", config)
	if r := i.tryKubectl(config, "", "get", "services", "-o", "name"); r.code != 0 || !strings.Contains(r.stdout, "service/kubernetes") {
		t.Errorf("kubectl shows %q: %s", r.stdout, r.stderr)
	}
	if r := i.tryKubectl(config, "", "create", "namespace", "more"); r.code == 0 || !strings.Contains(r.stderr, "forbidden") {
		t.Errorf("with the access to view, creating ended with %d: %s", r.code, r.stderr)
	}
}

// useCluster makes objects that upstream's controllers act on, and returns the UIDs of two of them.
func useCluster(t *testing.T, i *installation, kubeconfig string) string {
	t.Helper()
	i.kubectl(kubeconfig, workload, "apply", "-f", "-")
	i.kubectl(kubeconfig, "", "wait", "--for=condition=Established", "crd/boats.harbour.example.com", "--timeout=6m")
	i.kubectl(kubeconfig, boat, "apply", "-f", "-")
	eventually(t, "pods of the Deployment are pending", func(context.Context) error {
		sets := i.kubectl(kubeconfig, "", "get", "replicasets", "-l", "app=web", "-o", "name")
		pods := i.kubectl(kubeconfig, "", "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.phase}")
		if strings.Count(sets, "replicaset") != 1 || pods != "Pending Pending" {
			return fmt.Errorf("replica sets %q, phases %q", sets, pods)
		}
		return nil
	})
	// The scheduler has looked at them and found no node.
	i.kubectl(kubeconfig, "", "wait", "pods", "-l", "app=web", "--for=condition=PodScheduled=false", "--timeout=6m")
	return i.kubectl(kubeconfig, "", "get", "deployment/web", "boat/argo", "-o", "jsonpath={.items[*].metadata.uid}")
}

func serviceAccountToken(t *testing.T, config *rest.Config) {
	t.Helper()
	token := tokenOf(t, config)
	c := clientset(t, bearer(config, token))
	review, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("ask who the token is: %v", err)
	}
	if got, want := review.Status.UserInfo.Username, "system:serviceaccount:default:default"; got != want {
		t.Errorf("the token is %q, want %q", got, want)
	}
}

// tokenOf asks for a token of the account "default", which appears soon after the cluster is ready.
func tokenOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	c, token := clientset(t, config), ""
	eventually(t, "get a service account's token", func(ctx context.Context) error {
		r, err := c.CoreV1().ServiceAccounts(corev1.NamespaceDefault).CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if token = r.Status.Token; token == "" {
			return errors.New("it is empty")
		}
		return nil
	})
	return token
}

// bearer is the same cluster, spoken to with a token alone.
func bearer(config *rest.Config, token string) *rest.Config {
	c := rest.AnonymousClientConfig(config)
	c.BearerToken = token
	return c
}

func checkStatus(t *testing.T, i *installation) {
	t.Helper()
	seen := map[string]bool{}
	for _, w := range i.status().Workloads {
		for _, c := range w.Components {
			seen[w.Name+" "+c.Name] = true
			if c.State != "Ready" || c.MemoryBytes == 0 || statOf(c.PID).start == "" {
				t.Errorf("status of %s of %s: %+v, want it ready, with its process and its memory", c.Name, w.Name, c)
			}
		}
	}
	for _, want := range []string{
		"etcd etcd", "admin kube-apiserver", "admin kube-controller-manager",
		"org-default/first kube-apiserver", "org-default/first kube-controller-manager", "org-default/first kube-scheduler",
	} {
		if !seen[want] {
			t.Errorf("status does not show %s; it shows %v", want, seen)
		}
	}
	if got := i.ok("status"); !strings.Contains(got, filepath.Clean(i.dir)) || !strings.Contains(got, "MiB") {
		t.Errorf("status for users: %s", got)
	}
}
