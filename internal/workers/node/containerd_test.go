package node

import (
	"testing"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
)

// TestImages: a machine is given what its cluster may run.
func TestImages(t *testing.T) {
	all := []release.Image{{Name: "kqueen.internal/pause:1"}, {Name: "kqueen.internal/coredns:1"}, {Name: "kqueen.internal/flannel:1"}}
	for cni, want := range map[string]int{v1alpha1.CNIRoutes: 2, v1alpha1.CNINone: 2, v1alpha1.CNIFlannel: 3} {
		if got := ImagesFor(cni, all); len(got) != want || got[0] != all[0] {
			t.Errorf("%s: got %v, want %d", cni, got, want)
		}
	}
}
