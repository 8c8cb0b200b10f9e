package controlplane

import (
	"context"
	"errors"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/operator"
)

func (r *reconciler) ensureKeyspace(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	store, keyspace, err := r.keyspace(ctx, cp)
	if err != nil {
		return storeOutcome(err)
	}
	may := datastore.ReadWrite
	if cp.Spec.IsReadOnly() {
		may = datastore.ReadOnly
	}
	if err := store.Ensure(ctx, keyspace, may); err != nil {
		return operator.Retry(v1alpha1.ReasonDataStoreUnavailable, err)
	}
	renew, err := r.letThrough(ctx, cp, store, keyspace)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonDataStoreUnavailable, err)
	}
	if err := r.noteStore(ctx, cp); err != nil {
		return operator.Retry(v1alpha1.ReasonDataStoreUnavailable, err)
	}
	return operator.DoneUntil(v1alpha1.ReasonKeyspaceReady, "the keyspace is in data store "+cp.Spec.DataStoreName, renew)
}

// removeKeyspace removes the user first, so that nothing is written behind the deletion of the keys.
func (r *reconciler) removeKeyspace(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	store, keyspace, err := r.keyspace(ctx, cp)
	if errors.Is(err, ErrStoreNotFound) {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	if err != nil {
		return storeOutcome(err)
	}
	if err := r.shutOut(ctx, store, keyspace); err != nil && !errors.Is(err, ErrStoreNotFound) {
		return operator.Retry(v1alpha1.ReasonKeyspaceRemaining, err)
	}
	if err := store.Remove(ctx, keyspace); err != nil {
		return operator.Retry(v1alpha1.ReasonKeyspaceRemaining, err)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

func (r *reconciler) keyspace(ctx context.Context, cp *v1alpha1.ControlPlane) (*Store, datastore.Keyspace, error) {
	store, err := r.Stores.Open(ctx, cp.Spec.DataStoreName)
	if err != nil {
		return nil, datastore.Keyspace{}, err
	}
	keyspace, err := datastore.NewKeyspace(string(cp.UID))
	return store, keyspace, err
}
