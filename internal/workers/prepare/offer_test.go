package prepare

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/workers/addons"
)

// TestOffer: without images here it is upstream's, and none while it is not known which images there will be.
func TestOffer(t *testing.T) {
	theirs := chooseImages(Upstream, nil, "")
	theirs.KubeProxy = ""
	building, damaged := t.TempDir(), t.TempDir()
	lock, err := os.Create(filepath.Join(building, ".node.lock")) // as the process has that builds
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	manifest := filepath.Join(damaged, "node-v2.4.2-0123456789ab", "release.json")
	err = errors.Join(unix.Flock(int(lock.Fd()), unix.LOCK_EX), os.Mkdir(filepath.Dir(manifest), 0o700), os.WriteFile(manifest, []byte("{"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		images, store string
		want          addons.Images
	}{
		"Nothing":          {"", t.TempDir(), theirs},
		"NothingBundled":   {Bundled, t.TempDir(), addons.Images{}},
		"Building":         {"", building, addons.Images{}},
		"BuildingUnneeded": {Upstream, building, theirs},
		"Damaged":          {"", damaged, addons.Images{}},
	} {
		if diff := cmp.Diff(tc.want, New(Config{Releases: release.NewStore(tc.store), Images: tc.images}).Offer()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// owners reads a provisioner and an organization, whatever they are called.
type owners struct {
	client.Reader

	provisioner, organization []v1alpha1.AddonSetting
}

func (o owners) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *v1alpha1.Provisioner:
		into.Spec.Addons = o.provisioner
	case *v1alpha1.Organization:
		into.Spec.Addons = o.organization
	}
	return nil
}

// TestSettled: each of the three has a say, and is told by it.
func TestSettled(t *testing.T) {
	off := func(name string) []v1alpha1.AddonSetting {
		return []v1alpha1.AddonSetting{{Name: name, Enabled: new(bool)}}
	}
	p := New(Config{Settings: owners{provisioner: off("kube-proxy"), organization: off("coredns")}})
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org-blue", Name: "demo"}, Spec: v1alpha1.ClusterSpec{CNI: v1alpha1.CNIRoutes, Addons: off("metrics-server")}}
	settled, err := p.Settled(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]addons.Source{}
	for _, s := range settled {
		if s.Enabled != (s.From == addons.FromCatalogue) && s.CNI == "" {
			t.Errorf("%s: on is %t", s.Name, s.Enabled)
		}
		if !s.Enabled {
			got[s.Name] = s.From
		}
	}
	want := map[string]addons.Source{
		"flannel": addons.FromCatalogue, "kube-proxy": addons.FromProvisioner, "coredns": addons.FromOrganization, "metrics-server": addons.FromCluster,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
