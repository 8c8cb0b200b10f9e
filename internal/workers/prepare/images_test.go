package prepare

import (
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/workers/addons"
)

func TestChooseImages(t *testing.T) {
	built := []release.Image{{Name: "kqueen.internal/pause:1"}, {Name: "kqueen.internal/coredns:v1"}, {Name: "kqueen.internal/flannel:v2"}, {Name: "kqueen.internal/metrics-server:v3"}, {Name: "kqueen.internal/node-agent:v4"}, {Name: "kqueen.internal/traefik:v5"}}
	proxy := "registry.k8s.io/kube-proxy:v1.36.3"
	ours := addons.Images{CoreDNS: "kqueen.internal/coredns:v1", KubeProxy: proxy, Flannel: "kqueen.internal/flannel:v2", MetricsServer: "kqueen.internal/metrics-server:v3", NodeAgent: "kqueen.internal/node-agent:v4", Traefik: "kqueen.internal/traefik:v5"}
	mixed := addons.Images{CoreDNS: upstreamCoreDNS, KubeProxy: proxy, Flannel: upstreamFlannel, FlannelPlugin: upstreamFlannelPlugin, MetricsServer: upstreamMetricsServer, NodeAgent: "kqueen.internal/node-agent:v4", Traefik: "kqueen.internal/traefik:v5"}
	theirs := addons.Images{CoreDNS: upstreamCoreDNS, KubeProxy: proxy, Flannel: upstreamFlannel, FlannelPlugin: upstreamFlannelPlugin, MetricsServer: upstreamMetricsServer}
	for name, tc := range map[string]struct {
		reason  string
		from    string
		bundled []release.Image
		want    addons.Images
	}{
		"not said":              {"what is built needs no registry", "", built, ours},
		"nothing is built":      {"there is no other way", "", nil, theirs},
		"bundled":               {"as asked", Bundled, built, ours},
		"upstream":              {"as asked, but for what is in no registry", Upstream, built, mixed},
		"bundled, nothing":      {"who asked for it must not get another's", Bundled, nil, addons.Images{KubeProxy: proxy}},
		"older parts":           {"they have no flannel", "", built[:2], addons.Images{CoreDNS: ours.CoreDNS, KubeProxy: proxy}},
		"upstream without need": {"nothing is missing either", Upstream, nil, theirs},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, chooseImages(tc.from, tc.bundled, "v1.36.3")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
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
	for module, image := range map[string]string{"flannel": upstreamFlannel, "metrics-server": upstreamMetricsServer} {
		mod, err := release.ReadGoMod(t.Context(), filepath.Join(root, "node", module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mod.Require {
			if path.Base(m.Path) == module && !strings.HasSuffix(image, ":"+m.Version) {
				t.Errorf("node/%s builds %s, and upstream's image would be %s", module, m.Version, image)
			}
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
