package engine

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
)

// Built follows the versions that are built on this host.
type Built struct {
	Client client.Client
	// List are the versions that are there, such as release.Store.List.
	List func() ([]release.Binaries, error)
	// Known are those that have a Release, or had one that an administrator has deleted.
	Known []release.Binaries
	// Failed is told why a version is not offered; it is looked for again.
	Failed func(error)
}

// Follow creates a Release for each version that is new, each time that tick says, until ctx ends. Clusters can have it at once.
func (b *Built) Follow(ctx context.Context, tick <-chan time.Time) {
	known := map[release.Version]bool{}
	for _, have := range b.Known {
		known[have.Version] = true
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		found, err := b.List() // one that is damaged keeps no other from being offered, and is said at the start
		if err != nil && len(found) == 0 {
			continue
		}
		for _, have := range found {
			if known[have.Version] {
				continue
			}
			if err := ensureRelease(ctx, b.Client, have.Version); err != nil {
				b.Failed(err)
				continue
			}
			known[have.Version] = true
		}
	}
}

// ensureRelease has clusters offered a version.
func ensureRelease(ctx context.Context, c client.Client, version release.Version) error {
	r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: version.String()}}
	r.Spec.Source.Build = &v1alpha1.ReleaseBuild{}
	if err := ensure(ctx, c, r); err != nil {
		return fmt.Errorf("offer release %s: %w", version, err)
	}
	return nil
}
