// Package controlplanetest gives tests a real Kubernetes API server over a real etcd,
// with KQueen's kinds installed. It is started once per test binary, at the
// first use, from the programs that KQueen itself ships.
//
// Only tests may import it, from every floor.
package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
)

// StartTimeout is how long each program of a test plane may take to start. The 20 seconds of envtest were too short on two
// processors that ran other tests too.
const StartTimeout = 2 * time.Minute

// plane is the one API server of this test binary.
type plane struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	caller WebhookCaller
	dir    string // what the API server is configured by
	err    error

	connect sync.Once
	client  client.WithWatch
	refused error
}

var shared plane

// Run runs the tests of a package and stops the plane after them. Call it from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }
func Run(m *testing.M) int {
	code := m.Run()
	if shared.env == nil {
		return code
	}
	if err := errors.Join(shared.env.Stop(), os.RemoveAll(shared.dir)); err != nil {
		fmt.Fprintln(os.Stderr, "stop the test plane:", err)
		return 1
	}
	return code
}

// Real marks a test that starts Kubernetes, etcd or KQueen itself: with -short it is skipped, and nothing is built.
func Real(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real programs, which -short leaves out")
	}
}

// Config returns how to reach the plane as its administrator. The test is one of [Real] ones.
func Config(t *testing.T) *rest.Config {
	t.Helper()
	Real(t)
	shared.once.Do(func() { shared.config, shared.err = shared.start(context.WithoutCancel(t.Context())) })
	if shared.err != nil {
		t.Fatalf("start the test plane: %v", shared.err)
	}
	return rest.CopyConfig(shared.config)
}

// User returns how to reach the plane as a user of that name, in no group but those of every user: the test binds roles.
func User(t *testing.T, name string) *rest.Config {
	t.Helper()
	Config(t)
	user, err := shared.env.AddUser(envtest.User{Name: name}, nil)
	if err != nil {
		t.Fatalf("add user %s to the test plane: %v", name, err)
	}
	return user.Config()
}

// Client returns an uncached client of the plane, the same for all tests: a new one asks the plane for all that it has.
func Client(t *testing.T) client.WithWatch {
	t.Helper()
	config, scheme := Config(t), Scheme(t)
	shared.connect.Do(func() {
		ctrl.SetLogger(logr.FromSlogHandler(slog.DiscardHandler)) // without one, controller-runtime prints a stack trace
		shared.client, shared.refused = client.NewWithWatch(config, client.Options{Scheme: scheme})
	})
	if shared.refused != nil {
		t.Fatalf("connect to the test plane: %v", shared.refused)
	}
	return shared.client
}

// Scheme knows the built-in kinds and KQueen's. It is the same for all tests, which add nothing to it.
func Scheme(t *testing.T) *k8sruntime.Scheme {
	t.Helper()
	scheme, err := allKinds()
	if err != nil {
		t.Fatalf("create a scheme: %v", err)
	}
	return scheme
}

var allKinds = sync.OnceValues(func() (*k8sruntime.Scheme, error) {
	scheme := k8sruntime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
})

// Namespace makes a namespace of its own for a test. It is not deleted: the plane goes with the test binary.
func Namespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	return ns.Name
}

func (p *plane) start(ctx context.Context) (*rest.Config, error) {
	kubernetes, err := Kubernetes(ctx)
	if err != nil {
		return nil, err
	}
	kqueen, err := Kqueen(ctx)
	if err != nil {
		return nil, err
	}
	definitions, err := crds.All()
	if err != nil {
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "kqueen-test-plane"); err != nil {
		return nil, err
	}
	var admission string
	if admission, p.caller, err = presentToWebhooks(p.dir); err != nil {
		return nil, fmt.Errorf("make the certificate that webhooks see: %w", err)
	}
	etcd := &envtest.Etcd{Path: filepath.Join(filepath.Dir(kqueen), "etcd")}
	apiServer := &envtest.APIServer{Path: kubernetes.Path("kube-apiserver")}
	apiServer.Configure().
		Set("enable-bootstrap-token-auth", "true").                     // as in every hosted cluster
		Set("admission-control-config-file", admission).                // it proves to webhooks who it is
		Set("service-cluster-ip-range", "10.0.0.0/24,fd00:10:96::/112") // Services of either family can be made
	p.env = &envtest.Environment{
		CRDs:                     definitions,
		ControlPlane:             envtest.ControlPlane{Etcd: etcd, APIServer: apiServer},
		ControlPlaneStartTimeout: StartTimeout,
	}
	return p.env.Start()
}

// coverVariable is Go's: a program that was built for it writes into that folder what of it ran. "make cover" sets it.
const coverVariable = "GOCOVERDIR"

// Kqueen builds the kqueen program and returns its path, which is not the one that make builds: that
// one may be running, and carries its version. Beside it stands a link named etcd, under which it is
// etcd. Test binaries that build at the same time take turns.
func Kqueen(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bin", "test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for test programs: %w", err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("lock the test programs: %w", err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock the test programs: %w", err)
	}
	path := filepath.Join(dir, "kqueen")
	if err := build(ctx, root, path, "kqueen", versioned("test")); err != nil {
		return "", err
	}
	if err := os.Symlink("kqueen", filepath.Join(dir, "etcd")); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("link etcd: %w", err)
	}
	return path, nil
}

// Upgrade builds the kqueen program with another version and puts it in the place of the one at path, as who
// upgrades does.
func Upgrade(ctx context.Context, path, version string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, root, path, "kqueen", versioned(version))
}

// Brief builds a kqueen program at path whose certificates live for so long, and are renewed accordingly.
func Brief(ctx context.Context, path string, life time.Duration) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, root, path, "kqueen", versioned("brief")+" -X kqueen.io/kqueen/internal/hosting/pki.briefly="+life.String())
}

// Agent builds the agent for clusters that nothing can dial, at path.
func Agent(ctx context.Context, path string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, root, path, "kqueen-agent", "")
}

func versioned(version string) string {
	return "-X kqueen.io/kqueen/internal/cli/program.released=" + version
}

// build builds the program of that name with flags for the linker, beside the target, and moves: a program that runs cannot be written. The go
// command links only what is not up to date, for which the former program has to be there.
func build(ctx context.Context, root, path, name, link string) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove what an earlier build has left: %w", err)
	}
	if err := os.Link(path, fresh); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("show the go command the former %s: %w", name, err)
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w " + link, "-o", fresh}
	if os.Getenv(coverVariable) != "" {
		// A program writes what of it ran only where its main package is among those that are covered.
		args = append(args, "-cover", "-coverpkg=./internal/...,./cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/"+name)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("move %s into place: %w", name, err)
	}
	// Nothing is moved where both are the same file.
	if err := os.Remove(fresh); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove the second name of %s: %w", name, err)
	}
	return nil
}

// Kubernetes returns the newest Kubernetes of the repository and builds it when it was never built on
// this machine, which takes minutes. The programs of nodes are in it once [NodeParts] was called.
func Kubernetes(ctx context.Context) (release.Binaries, error) {
	_, newest, err := newestModule(ctx)
	if err != nil {
		return release.Binaries{}, err
	}
	dir, err := release.OwnDir()
	if err != nil {
		return release.Binaries{}, err
	}
	source := release.Source{Build: &release.Build{Module: newest.Dir}}
	return release.NewStore(dir).Ensure(ctx, newest.Version, source, func(release.Step) {})
}

// NodeParts returns what nodes of the repository are made of, and builds it when it was never built on this
// machine, which takes minutes.
func NodeParts(ctx context.Context) (release.NodeParts, error) {
	root, newest, err := newestModule(ctx)
	if err != nil {
		return release.NodeParts{}, err
	}
	dir, err := release.OwnDir()
	if err != nil {
		return release.NodeParts{}, err
	}
	source := release.NodeSource{Kubernetes: newest.Dir, Parts: filepath.Join(root, "node")}
	store := release.NewStore(dir)
	parts, err := store.EnsureNode(ctx, newest.Version, source, nil)
	if err == nil {
		_, err = store.EnsureAddonImages(ctx, source.Parts, nil) // clusters run them as well
	}
	return parts, err
}

// MinorBefore is the version of the second newest Kubernetes of the repository, with the programs of its nodes, and builds it when it was
// never built on this machine, which takes minutes. [NodeParts] builds what else nodes are made of.
func MinorBefore(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	modules, err := release.Discover(ctx, root)
	if err != nil {
		return "", err
	}
	if len(modules) < 2 {
		return "", fmt.Errorf("one Kubernetes module in %s, want two minors", filepath.Join(root, "kubernetes"))
	}
	dir, err := release.OwnDir()
	if err != nil {
		return "", err
	}
	store, before := release.NewStore(dir), modules[len(modules)-2]
	source := release.Source{Build: &release.Build{Module: before.Dir}}
	if _, err := store.Ensure(ctx, before.Version, source, nil); err != nil {
		return "", err
	}
	_, err = store.EnsureNode(ctx, before.Version, release.NodeSource{Kubernetes: before.Dir, Parts: filepath.Join(root, "node")}, nil)
	return before.Version.String(), err
}

// newestModule is the one of the repository at root.
func newestModule(ctx context.Context) (root string, newest release.ModuleInfo, err error) {
	if root, err = Root(); err != nil {
		return "", newest, err
	}
	modules, err := release.Discover(ctx, root)
	if err != nil {
		return "", newest, err
	}
	if len(modules) == 0 {
		return "", newest, fmt.Errorf("no Kubernetes module in %s", filepath.Join(root, "kubernetes"))
	}
	return root, modules[len(modules)-1], nil
}

// Root is the top of the repository: the nearest folder above the test's own with a kubernetes folder
// beside its go.mod. The source position does not tell, because builds trim paths.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "kubernetes", "generate")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the repository: no folder above holds kubernetes/generate")
		}
		dir = filepath.Dir(dir)
	}
}

// Stored returns what the API server has stored, by the key in etcd without the prefix that it gives to all of them.
func Stored(t *testing.T) map[string][]byte {
	t.Helper()
	Config(t)
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{shared.env.ControlPlane.Etcd.URL.String()}, DialTimeout: StartTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	const prefix = "/registry/"
	all, err := etcd.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, kv := range all.Kvs {
		out[strings.TrimPrefix(string(kv.Key), prefix)] = kv.Value
	}
	return out
}
