package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// TestUpgradeUnderFaults: whatever call fails and wherever KQueen dies, the cluster gets to the version, its pool goes with it, and nothing is
// left behind. Several hops and pools are in TestUpgrade.
func TestUpgradeUnderFaults(t *testing.T) {
	for name, world := range map[string]func(t *testing.T) operatortest.World{
		"Create": func(t *testing.T) operatortest.World {
			p := newPlace(t, "a")
			return p.world(p.upgrade(t, "up", "v1.36.3", nil))
		},
		// Deleted at any moment: the cluster wants what its control plane runs, and no pool begins to change.
		"DeleteHalfDone": func(t *testing.T) operatortest.World {
			p := newPlace(t, "a")
			p.slow = 1
			u := p.upgrade(t, "up", "v1.36.3", nil)
			w := p.world(u)
			w.Then = p.deletion(u)
			w.Snapshot = func(ctx context.Context) (any, error) { return p.rest(ctx) }
			return w
		},
		"Rollback": func(t *testing.T) operatortest.World {
			p := newPlaceAt(t, "v1.36.3", "a")
			return p.world(p.upgrade(t, "back", "v1.35.4", func(s *v1alpha1.UpgradeSpec) { s.Rollback = true }))
		},
		"DeleteRollback": func(t *testing.T) operatortest.World {
			p := newPlaceAt(t, "v1.36.3", "a")
			p.slow = 1
			u := p.upgrade(t, "back", "v1.35.4", func(s *v1alpha1.UpgradeSpec) { s.Rollback = true })
			w := p.world(u)
			w.Then = p.deletion(u)
			w.Snapshot = func(ctx context.Context) (any, error) { return p.rest(ctx) }
			return w
		},
		"RollbackByBackup": func(t *testing.T) operatortest.World {
			p := newPlaceAt(t, "v1.36.3", "a")
			p.stored = map[string]string{"mutatingadmissionpolicies/m": policy}
			p.backedUp(t, "monday", "v1.35.4")
			return p.world(p.upgrade(t, "back", "v1.35.4", byBackup))
		},
		// Deleted at any moment: no restore is left that has not ended, and the control plane does not stand still.
		"DeleteRollbackByBackup": func(t *testing.T) operatortest.World {
			p := newPlaceAt(t, "v1.36.3", "a")
			p.backedUp(t, "monday", "v1.35.4")
			u := p.upgrade(t, "back", "v1.35.4", byBackup)
			w := p.world(u)
			w.Then = p.deletion(u)
			w.Snapshot = func(ctx context.Context) (any, error) {
				said, err := p.rest(ctx)
				_, plane, errs := p.both(ctx)
				return fmt.Sprint(said, plane.Spec.StoppedFor), errors.Join(err, errs)
			}
			return w
		},
	} {
		t.Run(name, func(t *testing.T) { operatortest.RunParallel(t, world) })
	}
}

// rest lets the place come to rest, and says what is wrong in it; nothing, when a deletion has left all as it was.
func (p *place) rest(ctx context.Context) (any, error) {
	before, err := p.machines(ctx)
	if err != nil {
		return nil, err
	}
	for range 8 {
		if _, err := p.step(ctx); err != nil {
			return nil, err
		}
	}
	after, err := p.machines(ctx)
	if err != nil {
		return nil, err
	}
	cluster, plane, err := p.both(ctx)
	if err != nil {
		return nil, err
	}
	wrong := p.wrong
	if cluster.Spec.Version != plane.Status.Version || plane.Spec.Version != plane.Status.Version {
		wrong = append(wrong, fmt.Sprintf("the cluster wants %s and its control plane %s, which runs %s", cluster.Spec.Version, plane.Spec.Version, plane.Status.Version))
	}
	if emulates := cluster.Spec.EmulatedVersion + plane.Status.EmulatedVersion; emulates != "" {
		wrong = append(wrong, "the cluster emulates "+emulates)
	}
	// A pool whose turn it was goes on; one is not the other's business.
	changed := 0
	for name := range after {
		if !before[name] {
			changed++
		}
	}
	if changed > 1 {
		wrong = append(wrong, fmt.Sprintf("%d pools changed after the upgrade was deleted", changed))
	}
	all, err := p.annotations(ctx)
	return strings.Join(append(wrong, all...), "; "), err
}
