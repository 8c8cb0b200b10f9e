package machinecontroller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/workers/addons"
)

func TestMain(m *testing.M) {
	code := controlplanetest.Run(m)
	if err := managed.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the managed plane:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// managedPlane is the API server of the cluster that machines join: another one than the admin plane's, with
// bootstrap tokens, the node authorizer and NodeRestriction, as the clusters that we make.
type managedPlane struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	// One of each for all clients: making them costs calls and time.
	mapper apimeta.RESTMapper
	scheme *runtime.Scheme
	err    error
}

var managed managedPlane

func (p *managedPlane) start(ctx context.Context) (*rest.Config, error) {
	kubernetes, err := controlplanetest.Kubernetes(ctx)
	if err != nil {
		return nil, err
	}
	kqueen, err := controlplanetest.Kqueen(ctx)
	if err != nil {
		return nil, err
	}
	server := &envtest.APIServer{Path: kubernetes.Path("kube-apiserver")}
	server.Configure().Set("enable-bootstrap-token-auth", "true").Set("authorization-mode", "Node", "RBAC").Append("enable-admission-plugins", "NodeRestriction")
	p.env = &envtest.Environment{
		ControlPlane:             envtest.ControlPlane{Etcd: &envtest.Etcd{Path: filepath.Join(filepath.Dir(kqueen), "etcd")}, APIServer: server},
		ControlPlaneStartTimeout: controlplanetest.StartTimeout,
	}
	config, err := p.env.Start()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	p.mapper = c.RESTMapper()
	return config, c.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "kqueen:bootstrap"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-bootstrapper"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: addons.TokenGroup}},
	})
}

func (p *managedPlane) stop() error {
	if p.env == nil {
		return nil
	}
	return p.env.Stop()
}

// managedConfig returns how to reach the managed cluster as its administrator.
func managedConfig(t *testing.T) *rest.Config {
	t.Helper()
	controlplanetest.Real(t)
	managed.once.Do(func() {
		managed.scheme = controlplanetest.Scheme(t)
		managed.config, managed.err = managed.start(context.WithoutCancel(t.Context()))
	})
	if managed.err != nil {
		t.Fatalf("start the managed plane: %v", managed.err)
	}
	return rest.CopyConfig(managed.config)
}

func connect(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(config, client.Options{Scheme: managed.scheme, Mapper: managed.mapper})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return c
}

// adminClient returns a client of the admin plane, made once: hundreds of tests under faults need one.
func adminClient(t *testing.T) client.WithWatch {
	t.Helper()
	admin.once.Do(func() { admin.client = controlplanetest.Client(t) })
	return admin.client
}

var admin struct {
	once   sync.Once
	client client.WithWatch
}

// as returns a client that calls the managed cluster in the name of a user.
func as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	config := managedConfig(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return connect(t, config)
}

// withToken returns a client that calls the managed cluster with a bootstrap token and nothing else.
func withToken(t *testing.T, token string) client.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(managedConfig(t))
	config.BearerToken = token
	return connect(t, config)
}

var errAway = errors.New("connection refused by the test")
