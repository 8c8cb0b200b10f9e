package join

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/release/releasetest"
)

// TestFindPrograms: what is not there is named, with what brings it.
func TestFindPrograms(t *testing.T) {
	none, downloaded, built := t.TempDir(), releasetest.Store(t, "v1.36.3"), releasetest.Built(t, "v1.36.3")
	damaged := releasetest.Built(t, "v1.36.3")
	manifest := filepath.Join(damaged, "kubelet-v1.36.3", "release.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(manifest), 0o700), os.WriteFile(manifest, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ releases, version, parts, want string }{
		"empty store":            {none, "v1.36.3", "", "the programs of Kubernetes v1.36.3 are not in " + none + "; build them with: kqueen release build"},
		"another version":        {downloaded, "v1.35.1", "", "the programs of Kubernetes v1.35.1 are not in " + downloaded + "; build them with: kqueen release build"},
		"no kubelet":             {built, "v1.36.3", "", "kubelet and kube-proxy v1.36.3 are not in " + built + "; build them with: kqueen release build"},
		"damaged kubelet":        {damaged, "v1.36.3", "", "release is damaged: read release.json of kubelet-v1.36.3: unexpected end of JSON input; build them with: kqueen release build"},
		"no containerd":          {downloaded, "v1.36.3", "", "containerd and its company are not in " + downloaded + "; build them with: kqueen release build"},
		"containerd of old gone": {downloaded, "v1.36.3", filepath.Join(downloaded, "node-v2.4.2-0123456789ab"), "containerd and its company are not in " + downloaded},
		"not a version":          {none, "latest", "", "the cluster's version: "},
		"no version":             {none, "", "", "the cluster's version: "},
	} {
		if _, err := FindPrograms(c.releases, c.version, c.parts); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
