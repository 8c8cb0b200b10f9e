package backup

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/platform/operator"
)

const (
	// leastFree is how many bytes must be free where backups are written: a full disk stops more than backups.
	leastFree = 1 << 30
	// storeCheck is the time between two looks at a store.
	storeCheck = time.Minute
)

// stores holds the phases of BackupStore.
type stores struct{ *world }

func (s *stores) reconciler() *operator.Reconciler[*v1alpha1.BackupStore] {
	return operator.New(operator.Config[*v1alpha1.BackupStore]{
		Client:    s.Client,
		Recorder:  s.Recorder,
		New:       func() *v1alpha1.BackupStore { return &v1alpha1.BackupStore{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/backupstore",
		Phases: []operator.Phase[*v1alpha1.BackupStore]{
			{Condition: v1alpha1.ConditionStoreUsable, Ensure: s.use, Remove: s.leave},
		},
	})
}

// use makes the keys, once: those that are lost later are not replaced, because with others nothing that is there can be read.
func (s *stores) use(ctx context.Context, store *v1alpha1.BackupStore) operator.Outcome {
	if store.Status.Recipient == "" {
		if err := s.createKeys(ctx, store); err != nil {
			return operator.Retry(v1alpha1.ReasonStoreUnusable, err)
		}
	}
	keys, err := s.keysOf(ctx, store)
	if err != nil {
		return operator.RetryAfter(v1alpha1.ReasonStoreUnusable, err, storeCheck)
	}
	if store.Status.Recipient != "" && keys.Recipient() != store.Status.Recipient {
		return operator.Stalled(v1alpha1.ReasonStoreUnusable, "the Secret %s has another key than status.recipient says; put the first one back", store.KeysSecret())
	}
	store.Status.Recipient = keys.Recipient()
	bucket, err := s.Bucket(store.Spec.Directory, ".")
	if err == nil {
		err = bucket.Close()
	}
	if err != nil {
		return operator.RetryAfter(v1alpha1.ReasonStoreUnusable, err, storeCheck)
	}
	free, err := s.Free(store.Spec.Directory)
	if err != nil {
		return operator.RetryAfter(v1alpha1.ReasonStoreUnusable, err, storeCheck)
	}
	if free < leastFree {
		return operator.RetryAfter(v1alpha1.ReasonStoreUnusable, fmt.Errorf("less than 1 GiB is free at %s: no backup is taken", store.Spec.Directory), storeCheck)
	}
	return operator.DoneUntil(v1alpha1.ReasonStoreUsable, "backups can be taken", storeCheck)
}

func (s *stores) createKeys(ctx context.Context, store *v1alpha1.BackupStore) error {
	data, err := archive.NewKeys()
	if err != nil {
		return err
	}
	secret := storeSecret(store)
	secret.Data = data
	if err := s.Client.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("keep the keys of the backup store: %w", err)
	}
	return nil
}

// leave lets a store go when no Backup names it. Files in its directory that belong to none stay.
func (s *stores) leave(ctx context.Context, store *v1alpha1.BackupStore) operator.Outcome {
	list := &v1alpha1.BackupList{}
	if err := s.Secrets.List(ctx, list); err != nil { // without a cache, which may not have heard of a new one
		return operator.Retry(v1alpha1.ReasonStoreInUse, fmt.Errorf("list backups: %w", err))
	}
	users := slices.DeleteFunc(list.Items, func(b v1alpha1.Backup) bool { return b.Spec.StoreName != store.Name })
	if len(users) > 0 {
		return operator.Wait(v1alpha1.ReasonStoreInUse, fmt.Sprintf("backups that are still here: %d; delete them first", len(users)), storeCheck)
	}
	if err := client.IgnoreNotFound(s.Client.Delete(ctx, storeSecret(store))); err != nil {
		return operator.Retry(v1alpha1.ReasonStoreInUse, fmt.Errorf("remove the keys of the backup store: %w", err))
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// storeSecret is the Secret with the keys of a store.
func storeSecret(store *v1alpha1.BackupStore) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: store.KeysSecret()}}
}
