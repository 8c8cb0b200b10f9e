package volumes

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// controlPlane is a real API server with the controllers and the scheduler of its version, and no kubelet: pods are scheduled, and run
// nowhere. It ends with the test.
func controlPlane(t *testing.T) *rest.Config {
	t.Helper()
	dir := t.TempDir()
	store, serving := "http://127.0.0.1:"+freePort(t), freePort(t)
	start(t, filepath.Join(repository(t), "bin", "etcd"), "--data-dir="+dir, "--listen-client-urls="+store, "--advertise-client-urls="+store,
		"--listen-peer-urls=http://127.0.0.1:"+freePort(t), "--unsafe-no-fsync", "--log-level=error")
	key := filepath.Join(dir, "accounts.key")
	write(t, key, pem.EncodeToMemory(newKey(t)))
	write(t, filepath.Join(dir, "tokens"), []byte("secret,admin,admin,system:masters\n"))
	start(t, program(t, "kube-apiserver"), "--etcd-servers="+store, "--secure-port="+serving, "--bind-address=127.0.0.1", "--cert-dir="+dir,
		"--token-auth-file="+filepath.Join(dir, "tokens"), "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://test", "--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--disable-admission-plugins=ServiceAccount")
	config := &rest.Config{Host: "https://127.0.0.1:" + serving, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 100, Burst: 200}
	client := kubernetes.NewForConfigOrDie(config)
	eventually(t, "the API server is ready", func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	kubeconfig := filepath.Join(dir, "kubeconfig")
	write(t, kubeconfig, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
"clusters": [{"name": "c", "cluster": {"server": %q, "insecure-skip-tls-verify": true}}], "users": [{"name": "c", "user": {"token": "secret"}}]}`, config.Host))
	start(t, program(t, "kube-controller-manager"), "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--controllers=persistentvolume-binder-controller,persistentvolume-protection-controller,persistentvolumeclaim-protection-controller,garbage-collector-controller")
	start(t, program(t, "kube-scheduler"), "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0")
	return config
}

// repository is the top of it: the nearest folder above the test's own that has this one's manifests.
func repository(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// program finds one of upstream's programs where KQueen keeps them.
func program(t *testing.T, name string) string {
	t.Helper()
	releases := os.Getenv("KQUEEN_RELEASES")
	if releases == "" {
		releases = "/var/cache/kqueen/releases"
	}
	found, err := filepath.Glob(filepath.Join(releases, "v*", name))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s is not in %s; \"make kubernetes\" builds it", name, releases)
	}
	slices.Sort(found)
	return found[len(found)-1]
}

func start(t *testing.T, path string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(path), log.Bytes()[max(0, log.Len()-2000):])
		}
	})
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func newKey(t *testing.T) *pem.Block {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// install creates what the addon's manifest has.
func install(t *testing.T, config *rest.Config) {
	t.Helper()
	manifests := filepath.Join(repository(t), "internal/workers/addons/manifests")
	manifest, err := template.New("local-volumes.yaml").Funcs(template.FuncMap{"quote": strconv.Quote, "pullPolicy": func(string) string { return "Never" }}).
		ParseFiles(filepath.Join(manifests, "local-volumes.yaml"), filepath.Join(manifests, "machines.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	type object = map[string]any
	err = manifest.Execute(&out, object{"Values": object{"default": true}, "CapacityLabel": "capacity", "ImagesLabel": "images", "ImagesImported": "imported", "Params": object{"Images": object{"NodeAgent": "agent:v1"}}})
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config).RESTClient()
	for documents := yaml.NewYAMLOrJSONDecoder(&out, 4096); ; {
		var u unstructured.Unstructured
		if err := documents.Decode(&u.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		data, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Post().AbsPath(collection(&u)).Param("fieldValidation", "Strict").SetHeader("Content-Type", "application/json").Body(data).Do(t.Context()).Error(); err != nil {
			t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// collection is where objects of a kind are created.
func collection(u *unstructured.Unstructured) string {
	at := "/apis/" + u.GetAPIVersion()
	if !strings.Contains(u.GetAPIVersion(), "/") {
		at = "/api/" + u.GetAPIVersion()
	}
	if u.GetNamespace() != "" {
		at += "/namespaces/" + u.GetNamespace()
	}
	plural := strings.ToLower(u.GetKind()) + "s"
	if strings.HasSuffix(plural, "ss") {
		plural = strings.TrimSuffix(plural, "s") + "es"
	}
	return at + "/" + plural
}

// eventually waits until check has no objection.
func eventually(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, last, err)
	}
}
