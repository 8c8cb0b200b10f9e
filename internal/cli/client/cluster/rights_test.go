package cluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/kube"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// TestRights: what the manifests give KQueen is what it needs and no more, and members have their roles.
func TestRights(t *testing.T) {
	c := controlplanetest.Client(t)
	admin := filepath.Join(t.TempDir(), "kubeconfig")
	config := controlplanetest.Config(t)
	mine := clientcmdapi.NewConfig()
	mine.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	mine.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	mine.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	mine.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*mine, admin); err != nil {
		t.Fatal(err)
	}
	go writeToken(t.Context(), c)
	made, err := createAccount(t.Context(), kube.Target{Kubeconfig: admin}, true)
	if err != nil {
		t.Fatal(err)
	}
	as := func(user, group string) client.Client {
		t.Helper()
		config, err := clientcmd.RESTConfigFromKubeConfig(made)
		if err != nil {
			t.Fatal(err)
		}
		config.Impersonate.UserName = user
		if group != "" {
			config.Impersonate.Groups = []string{"system:authenticated", group}
		}
		made, err := kube.Connect(config, scheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for name, tc := range map[string]struct {
		user, group string
		act         func(client.Client) error
		may         bool
	}{
		"KQueen reads pods":     {"", "", func(c client.Client) error { return c.List(t.Context(), &corev1.PodList{}) }, true},
		"KQueen reads nodes":    {"", "", func(c client.Client) error { return c.List(t.Context(), &corev1.NodeList{}) }, true},
		"KQueen sees no Secret": {"", "", func(c client.Client) error { return c.List(t.Context(), &corev1.SecretList{}) }, false},
		"KQueen changes nothing": {"", "", func(c client.Client) error {
			return c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, client.DryRunAll)
		}, false},
		// What "view" gives, a controller of the cluster gathers, which does not run here.
		"A viewer sees no Secret": {"kqueen:alice", "kqueen:view", func(c client.Client) error { return c.List(t.Context(), &corev1.SecretList{}) }, false},
		"An owner does all": {"kqueen:alice", "kqueen:cluster-admin", func(c client.Client) error {
			return c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, client.DryRunAll)
		}, true},
		"No member is a master": {"kqueen:alice", "system:masters", func(c client.Client) error { return c.List(t.Context(), &corev1.PodList{}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.act(as(tc.user, tc.group))
			if tc.may && err != nil || !tc.may && !apierrors.IsForbidden(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// writeToken does what the controller manager of a cluster does.
func writeToken(ctx context.Context, c client.Client) {
	_ = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		secret := &corev1.Secret{}
		if c.Get(ctx, client.ObjectKey{Namespace: account, Name: tokenSecret}, secret) != nil {
			return false, nil //nolint:nilerr // not there yet
		}
		request := &authenticationv1.TokenRequest{}
		of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account, Name: account}}
		if c.SubResource("token").Create(ctx, of, request) != nil {
			return false, nil //nolint:nilerr // not there yet
		}
		secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(request.Status.Token)}
		return c.Update(ctx, secret) == nil, nil
	})
}
