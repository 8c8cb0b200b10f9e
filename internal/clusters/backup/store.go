package backup

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/backupstore"
	"kqueen.io/kqueen/internal/platform/operator"
)

const (
	// leastFree is how many bytes must be free where backups are written: a full disk stops more than backups.
	leastFree = 1 << 30
	// storeCheck is the time between two looks at a store.
	storeCheck = time.Minute
	// lookTimeout is how long a store may take to answer.
	lookTimeout = 10 * time.Second
)

// stores holds the phases of BackupStore.
type stores struct {
	*world
	looks looks
}

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
	keys, err := s.stores().Keys(ctx, store)
	if err != nil {
		return operator.RetryAfter(v1alpha1.ReasonStoreUnusable, err, storeCheck)
	}
	if store.Status.Recipient != "" && keys.Recipient() != store.Status.Recipient {
		return operator.Stalled(v1alpha1.ReasonStoreUnusable, "the Secret %s has another key than status.recipient says; put the first one back", store.KeysSecret())
	}
	store.Status.Recipient = keys.Recipient()
	at, err := s.stores().Place(ctx, store)
	if err != nil {
		return operator.RetryAfter(v1alpha1.ReasonStoreUnusable, err, storeCheck)
	}
	free, err := s.look(ctx, store, at)
	if err != nil {
		return operator.RetryAfter(v1alpha1.ReasonStoreUnusable, err, storeCheck)
	}
	if free < leastFree {
		return operator.RetryAfter(v1alpha1.ReasonStoreUnusable, fmt.Errorf("less than 1 GiB is free at %s: no backup is taken", store.Place()), storeCheck)
	}
	return operator.DoneUntil(v1alpha1.ReasonStoreUsable, "backups can be taken", storeCheck)
}

// look returns how many bytes are free where a store is. One that hangs, as a network mount can, is an error after lookTimeout,
// and is not looked at again until it has answered: each look that hangs keeps a thread.
func (s *stores) look(ctx context.Context, store *v1alpha1.BackupStore, at backupstore.Place) (int64, error) {
	place, owner, uid := store.Place(), store.Status.Recipient, string(store.UID) // a look may go on when its store is written to
	done, begun := s.looks.begin(uid)
	if begun {
		go func() {
			defer s.looks.end(uid)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
			defer cancel()
			free, err := s.Look(ctx, at, owner)
			done <- looked{free, err}
		}()
	}
	late := time.NewTimer(lookTimeout)
	defer late.Stop()
	select {
	case found := <-done:
		return found.free, found.err
	case <-late.C:
	case <-ctx.Done():
	}
	return 0, fmt.Errorf("%s does not answer: no backup is taken", place)
}

// looked is what a look at a store has found.
type looked struct {
	free int64
	err  error
}

// looks are those that go on.
type looks struct {
	mu sync.Mutex
	of map[string]chan looked
}

// begin says whether a look is to be begun, and where its answer comes; that of one which goes on goes to the caller that began it.
func (l *looks) begin(uid string) (chan looked, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[uid] != nil {
		return nil, false
	}
	if l.of == nil {
		l.of = map[string]chan looked{}
	}
	done := make(chan looked, 1)
	l.of[uid] = done
	return done, true
}

func (l *looks) end(uid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, uid)
}

func (s *stores) createKeys(ctx context.Context, store *v1alpha1.BackupStore) error {
	data, err := archive.NewKeys()
	if err != nil {
		return err
	}
	secret := storeSecret(store.KeysSecret())
	secret.Data = data
	if err := s.Client.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("keep the keys of the backup store: %w", err)
	}
	return nil
}

// leave lets a store go when no Backup names it, and no BackupSchedule records changes there. Files that belong to none stay.
func (s *stores) leave(ctx context.Context, store *v1alpha1.BackupStore) operator.Outcome {
	list := &v1alpha1.BackupList{}
	if err := s.Secrets.List(ctx, list); err != nil { // without a cache, which may not have heard of a new one
		return operator.Retry(v1alpha1.ReasonStoreInUse, fmt.Errorf("list backups: %w", err))
	}
	users := slices.DeleteFunc(list.Items, func(b v1alpha1.Backup) bool { return b.Spec.StoreName != store.Name })
	if len(users) > 0 {
		return operator.Wait(v1alpha1.ReasonStoreInUse, fmt.Sprintf("backups that are still here: %d; delete them first", len(users)), storeCheck)
	}
	schedules := &v1alpha1.BackupScheduleList{}
	if err := s.Secrets.List(ctx, schedules); err != nil {
		return operator.Retry(v1alpha1.ReasonStoreInUse, fmt.Errorf("list schedules of backups: %w", err))
	}
	recording := slices.DeleteFunc(schedules.Items, func(b v1alpha1.BackupSchedule) bool {
		return b.Spec.StoreName != store.Name || b.Status.RecordingTime == nil
	})
	if len(recording) > 0 { // what they have recorded is read with its keys
		return operator.Wait(v1alpha1.ReasonStoreInUse, fmt.Sprintf("schedules of backups that record changes here: %d; delete them first", len(recording)), storeCheck)
	}
	for _, name := range []string{store.CredentialsSecret(), store.KeysSecret()} {
		if err := client.IgnoreNotFound(s.Client.Delete(ctx, storeSecret(name))); err != nil {
			return operator.Retry(v1alpha1.ReasonStoreInUse, fmt.Errorf("remove the keys of the backup store: %w", err))
		}
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// storeSecret is a Secret of a store.
func storeSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
}
