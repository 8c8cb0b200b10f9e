package backup

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// worldOf is one object of a place.
func (p *place) worldOf(of operator.Object, done func() bool) operatortest.World {
	return operatortest.World{
		Request:    reconcile.Request{NamespacedName: client.ObjectKeyFromObject(of)},
		Reconciler: func(inj *operatortest.Injector) reconcile.Reconciler { return p.reconcilerOf(of, inj) },
		Object: func(ctx context.Context) (operator.Object, error) {
			return of, p.client.Get(ctx, client.ObjectKeyFromObject(of), of)
		},
		Step: p.step,
		Done: func(ctx context.Context) (bool, error) {
			return done(), p.client.Get(ctx, client.ObjectKeyFromObject(of), of)
		},
		Snapshot: func(ctx context.Context) (any, error) { return p.snapshot(ctx, of) },
	}
}

func TestBackupUnderFaults(t *testing.T) {
	create := func(t *testing.T) (*place, *v1alpha1.Backup, operatortest.World) {
		p := newPlace(t)
		b := p.ask(t, "then")
		w := p.worldOf(b, func() bool { return b.Status.VerifiedTime != nil })
		return p, b, w
	}
	for name, world := range map[string]func(t *testing.T) operatortest.World{
		"Create": func(t *testing.T) operatortest.World {
			_, _, w := create(t)
			return w
		},
		"Delete": func(t *testing.T) operatortest.World {
			p, b, w := create(t)
			return operatortest.After(t, w, *p.deletion(b))
		},
	} {
		t.Run(name, func(t *testing.T) { operatortest.RunParallel(t, world) })
	}
}

func TestRestoreUnderFaults(t *testing.T) {
	create := func(t *testing.T, compareOnly bool) (*place, *v1alpha1.Restore, operatortest.World) {
		p := newPlace(t)
		p.backup(t, "then")
		p.change()
		rs := p.restore(t, compareOnly)
		w := p.worldOf(rs, func() bool { return rs.Status.CompletionTime != nil })
		return p, rs, w
	}
	for name, world := range map[string]func(t *testing.T) operatortest.World{
		"Create": func(t *testing.T) operatortest.World {
			_, _, w := create(t, false)
			return w
		},
		"Compare": func(t *testing.T) operatortest.World {
			_, _, w := create(t, true)
			return w
		},
		// Deleted at any moment: the API server runs, with the state before or the state of the backup, and stands still for nothing.
		"DeleteHalfDone": func(t *testing.T) operatortest.World {
			p, rs, w := create(t, false)
			w.Then = p.deletion(rs)
			w.Snapshot = func(ctx context.Context) (any, error) {
				got, err := p.snapshot(ctx, rs)
				if err != nil {
					return nil, err
				}
				e := got.(end)
				return end{Running: e.Running, StoppedFor: e.StoppedFor, Finalizers: e.Finalizers, Wrong: e.Wrong}, nil
			}
			return w
		},
	} {
		t.Run(name, func(t *testing.T) { operatortest.RunParallel(t, world) })
	}
}

func TestStoreUnderFaults(t *testing.T) {
	operatortest.Run(t, func(t *testing.T) operatortest.World {
		p := newPlace(t)
		store := &v1alpha1.BackupStore{}
		store.Name, store.Spec.Directory = p.namespace+"-other", "/backups/other"
		if err := p.client.Create(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		w := p.worldOf(store, func() bool { return store.Status.Recipient != "" })
		return operatortest.After(t, w, *p.deletion(store))
	})
}
