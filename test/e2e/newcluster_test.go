//go:build linux

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// becomesAnother wants that a backup of a cluster becomes another one: with its objects and with an identity of its own, of which the one takes
// no credential of the other.
func (i *installation) becomesAnother(t *testing.T, cluster, store string) {
	t.Helper()
	from := i.tenant("default", cluster)
	one := clientset(t, from)
	secret, err := one.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"word": "open"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := one.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i.ok("backup", "create", "whole", "--cluster", cluster, "--store", store, "--wait", "--timeout", patience.String())
	i.ok("organization", "update", "default", "--max-clusters", "1")
	if r := i.kqueen("restore", "create", "beyond", "--backup", "whole", "--new-cluster", "beyond", "--wait", "--timeout", patience.String()); r.code == 0 || !strings.Contains(r.stderr, "quota") {
		t.Errorf("a new cluster beyond the quota: exit code %d: %s", r.code, r.stderr)
	}
	i.ok("restore", "delete", "beyond", "--yes")
	i.ok("organization", "update", "default", "--max-clusters", "none")
	i.ok("restore", "create", "twin", "--backup", "whole", "--new-cluster", "twin", "--wait", "--timeout", patience.String())
	to := i.tenant("default", "twin")
	other := clientset(t, to)
	got, err := other.CoreV1().Secrets("default").Get(t.Context(), "key", metav1.GetOptions{})
	if err != nil || string(got.Data["word"]) != "open" || got.UID != secret.UID {
		t.Errorf("the Secret is %q with UID %s, want open with %s: %v", got.Data["word"], got.UID, secret.UID, err)
	}
	refused := func(what string, at, as *rest.Config, bearer string) {
		t.Helper()
		crossed := rest.CopyConfig(at)
		crossed.BearerToken, crossed.CertData, crossed.KeyData = as.BearerToken, as.CertData, as.KeyData
		if bearer != "" {
			crossed.BearerToken, crossed.CertData, crossed.KeyData = bearer, nil, nil
		}
		if _, err := clientset(t, crossed).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: got %v, want 401", what, err)
		}
	}
	refused("the new cluster, for an administrator of the one that was backed up", to, from, "")
	refused("the cluster that was backed up, for an administrator of the new one", from, to, "")
	refused("the new cluster, for a service account of the one that was backed up", to, from, token.Status.Token)
	eventually(t, "pods of the new cluster trust its authority", func(ctx context.Context) error {
		root, err := other.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		if err == nil && root.Data["ca.crt"] != string(to.CAData) {
			err = errors.New("it is another one")
		}
		return err
	})
	if _, err := one.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the cluster that was backed up does not go on: %v", err)
	}
	i.ok("cluster", "delete", "twin", "--yes")
	i.ok("restore", "delete", "twin", "--yes")
}
