//go:build linux

package app

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/gateway"
	"kqueen.io/kqueen/internal/platform/admission"
	"kqueen.io/kqueen/internal/platform/handover"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/stage"
)

// TestMain runs the tests or, called as an installation calls kqueen, the gateway, or what a test kills.
func TestMain(m *testing.M) {
	if at := os.Getenv(killedAt); at != "" {
		fmt.Fprintln(os.Stderr, killed(at, os.Getenv(killedIn)))
		os.Exit(1)
	}
	if len(os.Args) < 2 || os.Args[1] != "gateway" {
		os.Exit(controlplanetest.Run(m))
	}
	p := gateway.Process{Leave: handover.Asked(), Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	flags := flag.NewFlagSet("gateway", flag.ExitOnError)
	flags.StringVar(&p.Listen, "listen", "", "")
	flags.StringVar(&p.Handover, "handover", "", "")
	flags.StringVar(&p.Routes, "routes", "", "")
	flags.StringVar(&p.Health, "health", "", "")
	plain := flags.Uint("plain-port", 0, "")
	_ = flags.Parse(os.Args[2:])
	p.PlainPort = uint16(*plain)
	if err := p.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// existing is the engine of a cluster that exists: an API server that others have started, and that presents a certificate
// to webhooks or, with no caller, none that KQueen knows.
type existing struct {
	config *rest.Config
	caller *admission.Caller
}

func (e existing) Up(context.Context, engine.Host) (*engine.Plane, error) {
	return &engine.Plane{Config: e.config, WebhookCaller: e.caller}, nil
}

func (existing) Keep(ctx context.Context, _ func(context.Context, *engine.Plane) error) error {
	<-ctx.Done()
	return nil
}

func (existing) Workloads() []engine.Workload { return nil }

// TestRunOnAnExistingCluster: App runs with another engine than the standalone one, on an API server that it has not
// started, with no more rights there than deploy/clusterrole.yaml gives.
func TestRunOnAnExistingCluster(t *testing.T) {
	admin := controlplanetest.Client(t)
	role := ClusterRole()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "kqueen-in-a-cluster"}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	said := &lines{}
	a, ended := run(t, Config{
		Engine: existing{config: controlplanetest.User(t, "kqueen-in-a-cluster")},
		Dir:    filepath.Join(t.TempDir(), "data"), Program: os.Args[0], Version: "test", Releases: t.TempDir(),
		Log: slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})

	o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: "engine"}, Spec: v1alpha1.OrganizationSpec{
		Quota: &v1alpha1.Quota{Nodes: ptr.To[int32](1)}, MachineProviders: []string{v1alpha1.ProviderLocal},
	}}
	if err := admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := operator.WaitLooked(t.Context(), admin, &v1alpha1.OrganizationList{}); err != nil {
		t.Fatal(err)
	}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: o.OwnedNamespace()}, &corev1.Namespace{}); err != nil {
		t.Errorf("the namespace of the organization: %v", err)
	}
	// Both validators of a kind are asked, and the limits of the organization are.
	lost := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: o.OwnedNamespace(), Name: "lost"}, Spec: v1alpha1.ClusterSpec{
		Version: "v1.36.3", ProvisionerRef: v1alpha1.ProvisionerReference{Name: "none"},
	}}
	if err := admin.Create(t.Context(), lost); !apierrors.IsInvalid(err) {
		t.Errorf("a cluster of no provisioner: got %v, want that it is invalid", err)
	}
	wide := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: o.OwnedNamespace(), Name: "wide"}, Spec: v1alpha1.NodePoolSpec{ClusterName: "lost", Replicas: 2}}
	if err := admin.Create(t.Context(), wide); !apierrors.IsForbidden(err) {
		t.Errorf("more nodes than the quota: got %v, want that they are refused", err)
	}

	// A provisioner of its own gives it no data store that it may not use.
	elsewhere := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: o.OwnedNamespace(), Name: "elsewhere"}, Spec: v1alpha1.ProvisionerSpec{
		Driver: "hosted", Parameters: &apiextensionsv1.JSON{Raw: []byte(`{"dataStoreName":"of-another"}`)},
	}}
	if err := admin.Create(t.Context(), elsewhere); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `the data store "of-another"; it may use: default`) {
		t.Errorf("a provisioner over a foreign data store: got %v, want that it is refused", err)
	}

	if err := Alive(t.Context(), a); err != nil {
		t.Errorf("it works, and is said not to: %v", err)
	}
	if err := ended(); err != nil {
		t.Errorf("run: %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if Alive(late, a) == nil {
		t.Error("it has ended, and is said to work")
	}
	text := said.String()
	for line := range strings.Lines(text) {
		if strings.Contains(line, "forbidden") {
			t.Errorf("deploy/clusterrole.yaml lacks a right: %s", line)
		}
	}
	for _, want := range []string{"reconcileID=", "condition=NamespaceReady outcome=done", "name=engine"} {
		if !strings.Contains(text, want) {
			t.Errorf("what reconcilers decide is not logged: there is no %q", want)
		}
	}
}

// run runs an installation until the returned function is called, which returns how it ended.
func run(t *testing.T, c Config) (*App, func() error) {
	t.Helper()
	a, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	downAfter(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- a.Run(ctx, func() { close(ready) }) }()
	stop := sync.OnceValue(func() error {
		cancel()
		err := <-done
		if closed := a.Close(); closed != nil {
			return fmt.Errorf("close: %w", closed)
		}
		return err
	})
	t.Cleanup(func() { _ = stop() })
	select {
	case <-ready:
	case err := <-done:
		done <- err
		t.Fatalf("run: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("it is not ready")
	}
	return a, stop
}

// downAfter ends what goes on without KQueen: the gateway, and that the plane, which other tests use too, asks its webhooks.
func downAfter(t *testing.T, c Config) {
	t.Helper()
	admin := controlplanetest.Client(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		webhooks := &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kqueen"}}
		err := Down(ctx, c.Engine, c.Dir, c.Log, func(stage.Step) {})
		if err = errors.Join(err, client.IgnoreNotFound(admin.Delete(ctx, webhooks))); err != nil {
			t.Error(err)
		}
	})
}

// lines keep a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
