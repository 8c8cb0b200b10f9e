//go:build linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// The markers are planted in Secrets, and one in a ConfigMap, where it has to be found: it shows that the search works.
const (
	tenantMarker = "marker-in-a-tenants-secret-5d1f"
	adminMarker  = "marker-in-an-admin-secret-a77c"
	openMarker   = "marker-in-the-open-90be"
)

// place is somewhere a secret may have got to.
type place struct {
	name string
	data []byte
}

func secretsStaySecret(t *testing.T, i *installation, a *party) {
	plant(t, i, a)
	markers := privateParts(t, a.keys)
	maps.Copy(markers, map[string]string{
		"the tenant's marker": tenantMarker, "the admin plane's marker": adminMarker,
		"the tenant's encryption key": base64.StdEncoding.EncodeToString(a.keys["encryption.key"]),
		"the service account's token": tokenOf(t, a.config),
	})
	places := append(stored(t, i), said(t, i)...)
	found := false
	for _, p := range places {
		found = found || bytes.Contains(p.data, []byte(openMarker))
		for what, marker := range markers {
			encoded := base64.StdEncoding.EncodeToString([]byte(marker))
			if bytes.Contains(p.data, []byte(marker)) || bytes.Contains(p.data, []byte(strings.TrimRight(encoded, "="))) {
				t.Errorf("%s is readable in %s", what, p.name)
			}
		}
	}
	if !found {
		t.Errorf("what stands open in a ConfigMap was not found in %d places: the search sees nothing", len(places))
	}
}

func plant(t *testing.T, i *installation, a *party) {
	t.Helper()
	tenant := clientset(t, a.config)
	meta := metav1.ObjectMeta{Name: "planted", Namespace: corev1.NamespaceDefault}
	if _, err := tenant.CoreV1().Secrets(meta.Namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"k": tenantMarker}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.CoreV1().ConfigMaps(meta.Namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": openMarker}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := i.admin().Create(t.Context(), &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"k": adminMarker}}); err != nil {
		t.Fatal(err)
	}
}

// stored is every key of etcd as it is there, and etcd's own files.
func stored(t *testing.T, i *installation) []place {
	t.Helper()
	var out []place
	for folder, etcd := range map[string]*clientv3.Client{"etcd": i.store(), "etcd-admin": i.adminStore()} {
		r, err := etcd.Get(t.Context(), "\x00", clientv3.WithFromKey())
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range r.Kvs {
			out = append(out, place{"key " + string(kv.Key), kv.Value})
		}
		for _, file := range files(t, filepath.Join(i.dir, folder)) {
			out = append(out, read(t, file))
		}
	}
	return out
}

// said is what programs and users get to see: logs, process lists, events, conditions.
func said(t *testing.T, i *installation) []place {
	t.Helper()
	var out []place
	for _, file := range files(t, i.dir) {
		if strings.Contains(file, "/logs/") {
			out = append(out, read(t, file))
		}
	}
	for _, p := range i.processes() {
		out = append(out, place{"arguments of " + p.String(), []byte(strings.Join(p.args, " "))}, place{"environment of " + p.String(), p.environ})
	}
	for _, kind := range []string{"events", "events.events.k8s.io", "clusters", "controlplanes", "datastores", "releases", "organizations", "provisioners"} {
		text := i.kubectl(i.adminKubeconfig(), "", "get", kind, "-A", "-o", "json")
		out = append(out, place{kind + " of the admin plane", []byte(text)})
	}
	out = append(out,
		place{"metrics of the admin plane", []byte(i.kubectl(i.adminKubeconfig(), "", "get", "--raw", "/metrics"))},
		place{"the status", []byte(i.ok("status", "-o", "json"))})
	out = append(out, bundled(t, i)...)
	for _, namespace := range []string{v1alpha1.SystemNamespace, corev1.NamespaceDefault} {
		text := i.kubectl(i.adminKubeconfig(), "", "get", "configmaps", "-n", namespace, "-o", "json")
		out = append(out, place{"ConfigMaps of " + namespace, []byte(text)})
	}
	return out
}

func read(t *testing.T, file string) place {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return place{name: file}
	}
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return place{"file " + file, data}
}
