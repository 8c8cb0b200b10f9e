package prepare

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/workers/addons"
)

// issued is an admin plane that has the keys of a cluster's Ingresses, and no settings.
type issued struct {
	client.Reader

	data  map[string][]byte
	owner *v1alpha1.Cluster
}

func (i *issued) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	secret, ok := o.(*corev1.Secret)
	if !ok || key.Name != "demo-ingress" || i.data == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, "")
	}
	secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(i.owner, v1alpha1.GroupVersion.WithKind("Cluster"))}
	secret.Data = i.data
	return nil
}

// TestCertificateInACluster: the cluster gets the certificate and never the key of its authority, later ones too, and loses it with
// the addon. A user's stays as it is.
func TestCertificateInACluster(t *testing.T) {
	p := newPlane(t)
	admin := &issued{owner: p.cluster}
	p.Config.Settings = admin
	p.Config.Releases = release.NewStore(t.TempDir())
	give := func(certificate string) {
		admin.data = map[string][]byte{"ca.crt": []byte("the authority"), "ca.key": []byte("secret"), "tls.crt": []byte(certificate), "tls.key": []byte("key")}
	}
	put := func() {
		t.Helper()
		secret, err := p.certificate(t.Context(), p.cluster)
		if err != nil {
			t.Fatal(err)
		}
		if err := putCertificate(t.Context(), p.client, secret); err != nil {
			t.Fatal(err)
		}
	}
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: addons.DefaultCertificate}
	has := func() map[string]string {
		t.Helper()
		secret := &corev1.Secret{}
		err := p.client.Get(t.Context(), key, secret)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		data := map[string]string{"type": string(secret.Type)}
		for name, value := range secret.Data {
			data[name] = string(value)
		}
		return data
	}
	want := func(what string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, has()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	give("one")
	put()
	want("at first", map[string]string{"type": "kubernetes.io/tls", "ca.crt": "the authority", "tls.crt": "one", "tls.key": "key"})
	give("two")
	put()
	want("renewed", map[string]string{"type": "kubernetes.io/tls", "ca.crt": "the authority", "tls.crt": "two", "tls.key": "key"})
	p.set() // no image of Traefik is here
	want("without the addon", nil)

	give("three")
	put()
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	patch := `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"cert-manager"}},"data":{"tls.crt":"bWluZQ=="}}`
	if err := p.client.Patch(t.Context(), theirs, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	users := map[string]string{"type": "kubernetes.io/tls", "ca.crt": "the authority", "tls.crt": "mine", "tls.key": "key"}
	put()
	want("a user's", users)
	p.set(addonOff("coredns"))
	want("a user's, without the addon", users)
}

// TestCertificateIsTheClusters: what is not there, not whole or another object's is not given to a cluster.
func TestCertificateIsTheClusters(t *testing.T) {
	cluster, other := wanted("u1"), wanted("u2")
	whole := map[string][]byte{"tls.crt": []byte("c"), "tls.key": []byte("k")}
	for name, admin := range map[string]*issued{
		"None": {}, "Another's": {data: whole, owner: other}, "Half": {data: map[string][]byte{"tls.crt": []byte("c")}, owner: cluster},
	} {
		secret, err := New(Config{Settings: admin}).certificate(t.Context(), cluster)
		if secret != nil || err != nil {
			t.Errorf("%s: got %v and %v", name, secret, err)
		}
	}
	if _, err := New(Config{Settings: settingsOf{}}).certificate(t.Context(), cluster); err == nil {
		t.Error("an admin plane that does not answer is no error")
	}
}

// TestContentsWithCertificate: another certificate is another content.
func TestContentsWithCertificate(t *testing.T) {
	hash := func(data string) string {
		t.Helper()
		c := contents{}
		if data != "" {
			c.certificate = emptyCertificate()
			c.certificate.Data = map[string][]byte{"tls.crt": []byte(data)}
		}
		h, err := c.hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	one, again := hash("one"), hash("one")
	if one != again || hash("") == one || hash("two") == one {
		t.Error("the hash does not say which certificate it is")
	}
}
