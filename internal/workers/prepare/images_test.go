package prepare

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/workers/addons"
)

func TestChooseImages(t *testing.T) {
	built := []release.Image{{Name: "kqueen.internal/pause:1"}, {Name: "kqueen.internal/coredns:v1"}, {Name: "kqueen.internal/flannel:v2"}}
	proxy := "registry.k8s.io/kube-proxy:v1.36.3"
	ours := addons.Images{CoreDNS: "kqueen.internal/coredns:v1", KubeProxy: proxy, Flannel: "kqueen.internal/flannel:v2"}
	theirs := addons.Images{CoreDNS: upstreamCoreDNS, KubeProxy: proxy, Flannel: upstreamFlannel, FlannelPlugin: upstreamFlannelPlugin}
	for name, tc := range map[string]struct {
		reason  string
		from    string
		bundled []release.Image
		cni     string
		want    addons.Images
		problem string
	}{
		"not said":              {"what is built needs no registry", "", built, v1alpha1.CNIFlannel, ours, ""},
		"nothing is built":      {"there is no other way", "", nil, v1alpha1.CNIFlannel, theirs, ""},
		"bundled":               {"as asked", Bundled, built, v1alpha1.CNIFlannel, ours, ""},
		"upstream":              {"as asked, whatever is built", Upstream, built, v1alpha1.CNIFlannel, theirs, ""},
		"bundled, nothing":      {"who asked for it must not get another's", Bundled, nil, v1alpha1.CNIRoutes, addons.Images{}, "image of CoreDNS is not on this machine"},
		"older parts":           {"they have no flannel", "", built[:2], v1alpha1.CNIFlannel, addons.Images{}, "image of flannel is not on this machine"},
		"older parts, no need":  {"routes need no flannel", "", built[:2], v1alpha1.CNIRoutes, addons.Images{CoreDNS: ours.CoreDNS, KubeProxy: proxy}, ""},
		"upstream without need": {"nothing is missing either", Upstream, nil, v1alpha1.CNINone, theirs, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := chooseImages(tc.from, tc.bundled, "v1.36.3", tc.cni)
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) || !strings.Contains(err.Error(), "kqueen up --images upstream") {
					t.Errorf("%s: got %v, want %q and what helps", tc.reason, err, tc.problem)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestUpstreamImagesAreUpstreams asks upstream's kubeadm for its images, and looks up which flannel is built.
func TestUpstreamImagesAreUpstreams(t *testing.T) {
	controlplanetest.Real(t)
	if _, err := controlplanetest.NodeParts(t.Context()); err != nil {
		t.Fatal(err)
	}
	binaries, err := controlplanetest.Kubernetes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	version := binaries.Version.String()
	out, err := exec.CommandContext(t.Context(), binaries.Path("kubeadm"), "config", "images", "list", "--kubernetes-version", version).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range []string{upstreamPause, upstreamCoreDNS, upstreamProxy + ":" + version} {
		if !strings.Contains(string(out), image+"\n") {
			t.Errorf("%s is not among what kubeadm %s names:\n%s", image, version, out)
		}
	}
	root, err := controlplanetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := release.ReadGoMod(t.Context(), filepath.Join(root, "node", "flannel", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mod.Require {
		if m.Path == "github.com/flannel-io/flannel" && !strings.HasSuffix(upstreamFlannel, ":"+m.Version) {
			t.Errorf("node/flannel builds %s, and upstream's image would be %s", m.Version, upstreamFlannel)
		}
	}
}

func TestPause(t *testing.T) {
	for from, want := range map[string]string{"": "", Bundled: "", Upstream: upstreamPause} {
		if got := Pause(from); got != want {
			t.Errorf("images from %q: the pause image is %q, want %q", from, got, want)
		}
	}
}
