package secrets

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// storeCredentials are those with which KQueen proves itself to the S3 servers of stores of backups.
type storeCredentials struct {
	callers, own client.Client
	rights       *rights.Rights
	now          func() time.Time
}

func (h *storeCredentials) register(api huma.API) {
	const at, tag = "/backupstores/{backupStore}/credentials", "BackupStores"
	huma.Register(api, chain.Operation(http.MethodGet, at, "getBackupStoreCredentials", "List the keys of the credentials for a backup store's S3 server, without their values", tag), h.get)
	o := chain.Operation(http.MethodPut, at, "setBackupStoreCredentials", "Set the credentials for a backup store's S3 server, which do not come out again", tag, chain.Recorded("set-credentials"))
	o.DefaultStatus = http.StatusNoContent
	huma.Register(api, o, h.set)
	huma.Register(api, chain.Operation(http.MethodDelete, at, "removeBackupStoreCredentials", "Remove the credentials for a backup store's S3 server", tag, chain.Recorded("remove-credentials")), h.remove)
}

// OfBackupStore is in the path of what belongs to a backup store.
type OfBackupStore struct {
	BackupStore string `path:"backupStore" maxLength:"253"`
}

// store returns a store when the caller may do that with it.
func (h *storeCredentials) store(ctx context.Context, in OfBackupStore, verb string) (*v1alpha1.BackupStore, error) {
	r := chain.Of(ctx)
	r.Object = chain.Object{Kind: "BackupStore", Name: in.BackupStore}
	if err := h.rights.Require(ctx, rights.Act{Verb: verb, Resource: "backupstores", Name: in.BackupStore}); err != nil {
		return nil, err
	}
	if !rights.Speakable(in.BackupStore) {
		return nil, problem.NotFound()
	}
	s := &v1alpha1.BackupStore{}
	if err := h.callers.Get(ctx, client.ObjectKey{Name: in.BackupStore}, s); err != nil {
		return nil, problem.Explain(err)
	}
	r.Object.UID = string(s.UID)
	return s, nil
}

func (h *storeCredentials) get(ctx context.Context, in *OfBackupStore) (*chain.Answer[rest.CredentialKeys], error) {
	s, err := h.store(ctx, *in, "get")
	if err != nil {
		return nil, err
	}
	return keysOf(ctx, h.own, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: s.CredentialsSecret()})
}

type setStoreCredentialsInput struct {
	OfBackupStore

	DryRun bool              `query:"dryRun" doc:"Check; change nothing."`
	Body   map[string]string `doc:"accessKeyID and secretAccessKey, and sessionToken where there is one."`
}

func (h *storeCredentials) set(ctx context.Context, in *setStoreCredentialsInput) (*struct{}, error) {
	s, err := h.store(ctx, in.OfBackupStore, "update")
	if err != nil {
		return nil, err
	}
	if !s.DeletionTimestamp.IsZero() {
		return nil, problem.NotFound()
	}
	if s.Spec.S3 == nil {
		return nil, problem.New(http.StatusConflict, rest.CodeConflict, "the backup store is a directory, which takes no credentials")
	}
	if wrong := checkStoreCredentials(in.Body); len(wrong) > 0 {
		return nil, problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", wrong...)
	}
	chain.Of(ctx).Detail = map[string]string{"keys": strings.Join(slices.Sorted(maps.Keys(in.Body)), ",")}
	at := h.now().UTC()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.SystemNamespace, Name: s.CredentialsSecret(), Annotations: map[string]string{v1alpha1.AnnotationSetAt: at.Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("BackupStore"))},
		},
		Type: v1alpha1.SecretTypeBackupStoreCredentials, StringData: in.Body,
	}
	if err := replaceSecret(ctx, h.own, secret, in.DryRun); err != nil || in.DryRun {
		return nil, err
	}
	// The reconciler does not watch Secrets; this triggers it.
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationSetAt, at.Format(time.RFC3339Nano))
	return nil, problem.Explain(h.callers.Patch(ctx, s, client.RawPatch(types.MergePatchType, patch)))
}

// checkStoreCredentials says what is wrong with credentials for an S3 server, and never a value. It is pure.
func checkStoreCredentials(values map[string]string) []rest.FieldError {
	known := []string{v1alpha1.BackupStoreAccessKeyID, v1alpha1.BackupStoreSecretAccessKey, v1alpha1.BackupStoreSessionToken}
	if wrong := checkCredentials(values, maxCredentialValue); len(wrong) > 0 {
		return wrong
	}
	var wrong []rest.FieldError
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, key) {
			wrong = append(wrong, rest.FieldError{Pointer: "/" + key, Detail: "is none of " + strings.Join(known, ", ")})
		}
	}
	for _, key := range known[:2] {
		if values[key] == "" {
			wrong = append(wrong, rest.FieldError{Pointer: "/" + key, Detail: "is missing"})
		}
	}
	return wrong
}

type removeStoreCredentialsInput struct {
	OfBackupStore

	DryRun bool `query:"dryRun" doc:"Check whether they may be removed; remove nothing."`
}

func (h *storeCredentials) remove(ctx context.Context, in *removeStoreCredentialsInput) (*struct{}, error) {
	s, err := h.store(ctx, in.OfBackupStore, "update")
	if err != nil {
		return nil, err
	}
	return nil, removeSecret(ctx, h.own, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: s.CredentialsSecret()}, in.DryRun)
}
