package backup

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backupstore"
)

// look notes what it is asked about.
func (p *place) look(_ context.Context, at backupstore.Place, owner string) (int64, error) {
	place := (&v1alpha1.BackupStore{Spec: v1alpha1.BackupStoreSpec{Directory: at.Directory, S3: at.S3}}).Place()
	p.looked = append(p.looked, fmt.Sprintf("%s %s %s", owner[:4], place, at.Credentials[v1alpha1.BackupStoreAccessKeyID]))
	return p.free, nil
}

// TestBucketStore: the bucket of an S3 server is looked at with the credentials that are there now, and waits for those that are not.
func TestBucketStore(t *testing.T) {
	p := newPlace(t)
	store := &v1alpha1.BackupStore{}
	store.Name = p.namespace + "-s3"
	store.Spec.S3 = &v1alpha1.BackupStoreS3{Endpoint: "https://s3.example.com", Bucket: "vault", Prefix: "clusters"}
	if err := p.client.Create(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	p.settle(t, store)
	c := apimeta.FindStatusCondition(store.Status.Conditions, v1alpha1.ConditionStoreUsable)
	if c == nil || c.Reason != v1alpha1.ReasonStoreUnusable || !strings.Contains(c.Message, "kqueen backupstore credentials set "+store.Name) || store.Status.NextRetryTime == nil {
		t.Errorf("without credentials: %+v", c)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: store.CredentialsSecret()}}
	for _, key := range []string{"one", "two"} {
		secret.Data = map[string][]byte{v1alpha1.BackupStoreAccessKeyID: []byte(key), v1alpha1.BackupStoreSecretAccessKey: []byte("s")}
		if _, err := controllerutil.CreateOrUpdate(t.Context(), p.client, secret, func() error {
			secret.Data[v1alpha1.BackupStoreAccessKeyID] = []byte(key)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		p.looked = nil
		p.settle(t, store)
		if diff := cmp.Diff([]string{"age1 s3://vault/clusters " + key}, p.looked); diff != "" {
			t.Errorf("looks (-want +got):\n%s", diff)
		}
	}
	if err := p.client.Delete(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	p.settle(t, store)
	for _, name := range []string{store.CredentialsSecret(), store.KeysSecret()} {
		if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: name}, secret); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}
