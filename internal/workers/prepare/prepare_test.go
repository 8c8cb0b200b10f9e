package prepare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
)

// authority is a certificate in PEM.
const authority = `-----BEGIN CERTIFICATE-----
MIIBgjCCASegAwIBAgIUUgv9W2O3Nq/QQwVrXlPO5pQ1TbYwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMjIxMzExMzhaGA8yMTI2MTAy
OTEzMTEzOFowFTETMBEGA1UEAwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABE9SfCpK52k5vs3ECFfejpoqbNAvwlYT+MNXqnOICVUh1qISMN9E
u5Yhh2wSIk7DE5TinF058HQ3IrDeAd8YeuyjUzBRMB0GA1UdDgQWBBSpYHZzbDAg
nl3dC91EF069OkxtAzAfBgNVHSMEGDAWgBSpYHZzbDAgnl3dC91EF069OkxtAzAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCcxc52qhjMet/AGrjr
vIoOPMEmQJYH1HC7nnmqUnqcGQIhAPaGzIjxNGfdndln2AVmjo9DISruB9GRfSt7
CR2MR4tq
-----END CERTIFICATE-----
`

// server is a cluster's API server, which counts the objects that are applied. It takes so many, and refuses all after
// them.
type server struct {
	client.Client

	takes, applied int
	// refuses is the name of an object that it does not take.
	refuses string
}

func (*server) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return object.GetObjectKind().GroupVersionKind(), nil
}

// Get finds nothing, here as on the admin plane.
func (*server) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, "")
}

func (*server) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return nil
}

func (*server) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (s *server) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	if named, ok := o.(interface{ GetName() string }); s.refuses != "" && ok && named.GetName() == s.refuses {
		return errors.New("a webhook of the user's\nsays no")
	}
	if s.applied == s.takes {
		return errors.New("the API server shuts down")
	}
	s.applied++
	return nil
}

// route leads to one API server, unless it is broken.
type route struct {
	to     *server
	broken error
}

func (r *route) Client(context.Context, *v1alpha1.Cluster) (client.Client, error) {
	return r.to, r.broken
}

// wanted is a cluster that nodes may join.
func wanted(uid types.UID) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: uid},
		Spec:       v1alpha1.ClusterSpec{CNI: v1alpha1.CNIRoutes, Network: v1alpha1.Network{PodCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0/16", DNSDomain: "cluster.local"}},
	}
	c.Status.Version = "v1.36.3"
	c.Status.Join = &v1alpha1.JoinEndpoint{Server: "192.0.2.1:20001", CA: []byte(authority)}
	return c
}

// TestPrepare: a cluster gets its contents until it has them all, and again when they are others or long ago.
func TestPrepare(t *testing.T) {
	const all = 1000
	r := &route{to: &server{}}
	p := New(Config{Clusters: r, Settings: r.to, Releases: release.NewStore(t.TempDir())})
	prepare := func(what string, c *v1alpha1.Cluster, takes int, problem string) (applied int) {
		t.Helper()
		r.to.takes, r.to.applied = takes, 0
		err := p.Prepare(t.Context(), c)
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.HasPrefix(err.Error(), problem)) {
			t.Errorf("%s: got %v, want %q", what, err, problem)
		}
		return r.to.applied
	}
	demo := wanted("u1")
	r.broken = errors.New("no route to the cluster")
	prepare("out of reach", demo, all, "no route to the cluster")
	r.broken = nil
	prepare("down at once", demo, 0, "prepare cluster demo for nodes: apply ")
	prepare("down in between", demo, 3, "prepare cluster demo for nodes: apply ")
	n := prepare("up", demo, all, "")
	if n < 4 {
		t.Errorf("after failures %d objects are applied, want all", n)
	}
	if got := prepare("the same", demo, all, ""); got != 0 {
		t.Errorf("%d objects are applied to a cluster that has them", got)
	}
	if got := prepare("another cluster", wanted("u2"), all, ""); got != n {
		t.Errorf("%d objects are applied to another cluster, want %d", got, n)
	}
	demo.Spec.Network.DNSDomain = "another.local"
	if got := prepare("another domain", demo, all, ""); got != n {
		t.Errorf("%d objects are applied when they are others, want %d", got, n)
	}
	p.done[demo.UID] = prepared{hash: p.done[demo.UID].hash, at: time.Now().Add(-again)}
	if got := prepare("long ago", demo, all, ""); got != n {
		t.Errorf("%d objects are applied after a long time, want %d: a user may have deleted some", got, n)
	}
}

// TestPrepareWithoutAnAddon: what joining takes is not kept back by an object of another addon that the API server refuses.
func TestPrepareWithoutAnAddon(t *testing.T) {
	to, demo := &server{takes: 1000, refuses: "v1beta1.metrics.k8s.io"}, wanted("u1")
	p := New(Config{Clusters: &route{to: to}, Settings: to, Releases: release.NewStore(t.TempDir())})
	all, err := p.Addons(t.Context(), demo)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		const want = "apply APIService v1beta1.metrics.k8s.io: a webhook of the user's says no"
		if failed := a.Name == "metrics-server"; failed != (a.State == v1alpha1.AddonFailed) || failed != (a.Message == want) {
			t.Errorf("%s is %s: %s", a.Name, a.State, a.Message)
		}
	}
	to.refuses, to.applied = "", 0
	if err := p.Prepare(t.Context(), demo); err != nil || to.applied > 0 {
		t.Errorf("tried again at once: %v, %d objects", err, to.applied)
	}
	last := p.done[demo.UID]
	last.at = last.at.Add(-sooner)
	p.done[demo.UID] = last
	if all, err = p.Addons(t.Context(), demo); err != nil || to.applied == 0 || strings.Contains(fmt.Sprint(all), v1alpha1.AddonFailed) {
		t.Errorf("when it is taken: %v, %d objects, %v", err, to.applied, all)
	}
	to.refuses = "kube-dns"
	if err := New(p.Config).Prepare(t.Context(), demo); err == nil || !strings.HasPrefix(err.Error(), "prepare cluster demo for nodes: apply Service kube-system/kube-dns: ") {
		t.Errorf("an object that joining takes: %v", err)
	}
}

// TestPrepareForAnEarlierRelease: an addon that is not for the cluster's release is not applied, and says so.
func TestPrepareForAnEarlierRelease(t *testing.T) {
	to, demo := &server{takes: 1000, refuses: "v1beta1.metrics.k8s.io"}, wanted("u1")
	demo.Status.Version = "v1.33.13"
	all, err := New(Config{Clusters: &route{to: to}, Settings: to, Releases: release.NewStore(t.TempDir())}).Addons(t.Context(), demo)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		const want = "it is for Kubernetes >=1.34, and the cluster runs v1.33.13: switch it off, or upgrade the cluster"
		if failed := a.Name == "metrics-server"; failed != (a.State == v1alpha1.AddonFailed) || failed != (a.Message == want) {
			t.Errorf("%s is %s: %s", a.Name, a.State, a.Message)
		}
	}
}

// TestPrepareWaitsForTheBuild: while images are being built nothing is put into a cluster that would have to be pulled,
// unless that was asked for.
func TestPrepareWaitsForTheBuild(t *testing.T) {
	store := t.TempDir()
	lock, err := os.Create(filepath.Join(store, ".node.lock")) // as the process has that builds
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for from, problem := range map[string]string{
		"":       "waiting for the programs and images of nodes, which are being built: begin",
		Bundled:  "waiting for the programs and images of nodes, which are being built: begin",
		Upstream: "",
	} {
		to := &server{takes: 1000}
		said := ""
		if err := New(Config{Clusters: &route{to: to}, Settings: to, Releases: release.NewStore(store), Images: from}).Prepare(t.Context(), wanted("u1")); err != nil {
			said = err.Error()
		}
		if said != problem || (to.applied == 0) != (problem != "") {
			t.Errorf("images from %q: got %q with %d objects applied, want %q", from, said, to.applied, problem)
		}
	}
}

// TestPrepareWithDamagedImages: what was built here and is damaged ends it, unless upstream's images are pulled anyway.
func TestPrepareWithDamagedImages(t *testing.T) {
	store := t.TempDir()
	manifest := filepath.Join(store, "node-v2.4.2-0123456789ab", "release.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(manifest), 0o700), os.WriteFile(manifest, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for from, fails := range map[string]bool{"": true, Bundled: true, Upstream: false} {
		to := &server{takes: 1000}
		err := New(Config{Clusters: &route{to: to}, Settings: to, Releases: release.NewStore(store), Images: from}).Prepare(t.Context(), wanted("u1"))
		if errors.Is(err, release.ErrDamaged) != fails || (err != nil) != fails || (to.applied == 0) != fails {
			t.Errorf("images from %q: got %v with %d objects applied", from, err, to.applied)
		}
	}
}

// TestPrepareNamesTheField: ranges that cannot be read, and images that are not there, end it before anything is applied.
func TestPrepareNamesTheField(t *testing.T) {
	for name, c := range map[string]struct {
		images string
		change func(*v1alpha1.Cluster)
		want   string
	}{
		"pods":     {"", func(c *v1alpha1.Cluster) { c.Spec.Network.PodCIDR = "x" }, "spec.network.podCIDR of cluster demo: "},
		"Services": {"", func(c *v1alpha1.Cluster) { c.Spec.Network.ServiceCIDR = "10.0.0.0/30" }, "spec.network.serviceCIDR of cluster demo: "},
		"images":   {Bundled, func(*v1alpha1.Cluster) {}, "the image of coredns is not on this machine"},
		"CA":       {"", func(c *v1alpha1.Cluster) { c.Status.Join.CA = nil }, "CA: must be a certificate in PEM"},
	} {
		to, demo := &server{takes: 1000}, wanted("u1")
		c.change(demo)
		err := New(Config{Clusters: &route{to: to}, Settings: to, Releases: release.NewStore(t.TempDir()), Images: c.images}).Prepare(t.Context(), demo)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || to.applied > 0 {
			t.Errorf("%s: got %v with %d objects applied, want %q", name, err, to.applied, c.want)
		}
	}
}
