package volumes

import (
	"fmt"
	"math"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/cache"
)

// ledger accounts for what the volumes of a node were promised. The PersistentVolumes of the API server are its book; it adds those
// that were granted a moment ago.
type ledger struct {
	host     string
	volumes  cache.Store // of *corev1.PersistentVolume
	capacity func() (int64, error)

	mu      sync.Mutex
	granted map[string]int64 // bytes by the name of the volume, until the cache has it
}

// noSpaceError says that a claim does not fit. It asks for another node.
type noSpaceError struct {
	host              string
	asked, left, size int64
}

func (e noSpaceError) Error() string {
	return fmt.Sprintf("the claim asks for %s, and volumes of node %s have %s left of %s: ask for less, delete claims there, or add a node",
		quantity(e.asked), e.host, quantity(e.left), quantity(e.size))
}

func quantity(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }

// grant promises bytes to a volume, once: a second call for the volume replaces the first.
func (l *ledger) grant(volume string, bytes int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.granted[volume]
	delete(l.granted, volume)
	left, size, err := l.count()
	if err == nil && bytes > left {
		err = noSpaceError{host: l.host, asked: bytes, left: left, size: size}
	}
	if err != nil {
		if before > 0 {
			l.granted[volume] = before
		}
		return err
	}
	l.granted[volume] = bytes
	return nil
}

// drop takes back what was promised to a volume that was not created, or is gone.
func (l *ledger) drop(volume string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.granted, volume)
}

// left is how many bytes no volume was promised.
func (l *ledger) left() (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, _, err := l.count()
	return left, err
}

// count is called under the lock.
func (l *ledger) count() (left, size int64, err error) {
	if size, err = l.capacity(); err != nil {
		return 0, 0, fmt.Errorf("find out how large volumes may be: %w", err)
	}
	volumes := map[string]int64{}
	for _, obj := range l.volumes.List() {
		if volume := obj.(*corev1.PersistentVolume); isOurs(volume) && hostOf(volume) == l.host {
			volumes[volume.Name] = volume.Spec.Capacity.Storage().Value()
			delete(l.granted, volume.Name)
		}
	}
	return max(0, size-used(volumes, l.granted)), size, nil
}

// used is the sum, and the largest number rather than more than that: users write capacities.
func used(books ...map[string]int64) int64 {
	var sum int64
	for _, book := range books {
		for _, bytes := range book {
			if bytes = max(0, bytes); bytes > math.MaxInt64-sum {
				return math.MaxInt64
			}
			sum += bytes
		}
	}
	return sum
}

// isOurs says whether a volume says that it is of this provisioner. Users who write volumes can say so, too.
func isOurs(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[annProvisionedBy] == Provisioner
}

// hostOf returns the one host of a volume's node affinity, as affinityTo writes it; empty for any other.
func hostOf(volume *corev1.PersistentVolume) string {
	affinity := volume.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil || len(affinity.Required.NodeSelectorTerms) != 1 {
		return ""
	}
	for _, e := range affinity.Required.NodeSelectorTerms[0].MatchExpressions {
		if e.Key == corev1.LabelHostname && e.Operator == corev1.NodeSelectorOpIn && len(e.Values) == 1 {
			return e.Values[0]
		}
	}
	return ""
}

func affinityTo(host string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}},
	}}}}
}
