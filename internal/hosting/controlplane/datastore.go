package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/operator"
)

// storeCheckInterval is the time between two looks at a data store that was well.
const storeCheckInterval = 30 * time.Second

// dataStoreReconciler connects to the etcds that hold the keyspaces.
type dataStoreReconciler struct {
	stores *DataStores
	gates  Gates
}

// NewDataStoreReconciler returns the reconciler of DataStore. gates are those of [Config].
func NewDataStoreReconciler(c client.Client, stores *DataStores, gates Gates, recorder events.EventRecorder) *operator.Reconciler[*v1alpha1.DataStore] {
	r := &dataStoreReconciler{stores, gates}
	return operator.New(operator.Config[*v1alpha1.DataStore]{
		Client:    c,
		Recorder:  recorder,
		New:       func() *v1alpha1.DataStore { return &v1alpha1.DataStore{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/datastore",
		Phases: []operator.Phase[*v1alpha1.DataStore]{
			{Condition: v1alpha1.ConditionConnected, Ensure: r.connect, Remove: r.disconnect},
		},
	})
}

func (r *dataStoreReconciler) connect(ctx context.Context, ds *v1alpha1.DataStore) operator.Outcome {
	// Whatever becomes of the rest: the gate knows it without the store.
	r.noteSpace(ctx, ds)
	store, err := r.stores.Open(ctx, ds.Name)
	if err != nil {
		return storeOutcome(err)
	}
	// Before its health is looked at, and whatever becomes of it: a store that is full takes no status, that of its own
	// DataStore included, until this has made space.
	maintained, failed := store.Maintain(ctx)
	logger := log.FromContext(ctx)
	if failed != nil {
		logger.Error(failed, "maintain etcd; it is tried again")
	}
	if len(maintained.Shrunk) > 0 || len(maintained.Lifted) > 0 {
		logger.Info("etcd maintained", "shrunk", maintained.Shrunk, "freedBytes", maintained.Freed, "writesAgain", maintained.Lifted)
	}
	if err := r.gates.Tend(ctx, store); err != nil {
		return operator.Retry(v1alpha1.ReasonUnreachable, err)
	}
	health, err := store.Health(ctx)
	if err != nil {
		return storeOutcome(err)
	}
	ds.Status.Version, ds.Status.Members = health.Version, int32(health.Members)
	return healthOutcome(health)
}

// healthOutcome says what the state of an etcd that answers means. It is pure.
func healthOutcome(h datastore.Health) operator.Outcome {
	if len(h.Alarms) > 0 {
		return operator.Wait(v1alpha1.ReasonAlarm, alarmed(h), storeCheckInterval)
	}
	message := "etcd " + h.Version + " answers"
	if len(h.Silent) > 0 {
		message += "; members that do not: " + strings.Join(h.Silent, ", ")
	}
	return operator.DoneUntil(v1alpha1.ReasonConnected, message, storeCheckInterval)
}

// alarmed says what an alarm means and what helps. It is pure.
func alarmed(h datastore.Health) string {
	return fmt.Sprintf("etcd has raised %s; until it is lifted, writes of all control planes are refused; %d of %d MiB hold data: "+
		"delete objects in the largest control planes (see: kqueen status), and writes are taken again within %s",
		strings.Join(h.Alarms, ", "), h.DBInUseBytes>>20, h.QuotaBytes>>20, storeCheckInterval)
}

// disconnect lets a data store go only when no control plane names it: its keys would stay behind. It reads without a cache,
// which may not have heard of a new one yet.
func (r *dataStoreReconciler) disconnect(ctx context.Context, ds *v1alpha1.DataStore) operator.Outcome {
	list := &v1alpha1.ControlPlaneList{}
	if err := r.stores.secrets.List(ctx, list); err != nil {
		return operator.Retry(v1alpha1.ReasonKeyspacesRemain, fmt.Errorf("list control planes: %w", err))
	}
	users := 0
	for i := range list.Items {
		if list.Items[i].Spec.DataStoreName == ds.Name {
			users++
		}
	}
	if users > 0 {
		return operator.Wait(v1alpha1.ReasonKeyspacesRemain, fmt.Sprintf("control planes that still have a keyspace here: %d; delete them first", users), storeCheckInterval)
	}
	if err := r.stores.Forget(ds.UID); err != nil {
		return operator.Retry(v1alpha1.ReasonUnreachable, fmt.Errorf("close the connection: %w", err))
	}
	if err := r.gates.Remove(ctx, ds.UID); err != nil {
		return operator.Retry(v1alpha1.ReasonUnreachable, err)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// storeOutcome says what an error of a data store means for the control plane that needs it.
func storeOutcome(err error) operator.Outcome {
	var credentials *CredentialsError
	var version *datastore.VersionError
	switch {
	case errors.Is(err, ErrGateNotReady):
		return operator.Retry(v1alpha1.ReasonDataStoreUnavailable, err)
	case errors.Is(err, ErrStoreNotFound):
		return operator.Retry(v1alpha1.ReasonDataStoreNotFound, err)
	case errors.As(err, &credentials):
		return operator.Retry(v1alpha1.ReasonCredentialsInvalid, credentials)
	case errors.As(err, &version):
		return operator.Retry(v1alpha1.ReasonVersionTooOld, version)
	}
	return operator.Retry(v1alpha1.ReasonUnreachable, err)
}
