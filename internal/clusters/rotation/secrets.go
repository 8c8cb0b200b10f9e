package rotation

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
)

const (
	// secretsFolder is where an API server stores Secrets, which are what it encrypts.
	secretsFolder = "secrets/"
	// encrypted is before the name of the key in what is encrypted by one of these keys.
	encrypted = "k8s:enc:secretbox:v1:"
	// mostAtOnce is how many Secrets one run writes again, and rewriteTimeout how long it may take for that: no cluster is trusted to answer.
	mostAtOnce     = 500
	rewriteTimeout = 10 * time.Second
	// rewritePace is the time between two writes: an API server has other work.
	rewritePace = 5 * time.Millisecond
	readTimeout = time.Minute
)

// State is what a control plane stores. datastore.State offers it.
type State interface {
	Below(ctx context.Context, folder string) iter.Seq2[datastore.Entry, error]
}

// Rewrite has the API server that a client leads to write a Secret as it is: whatever was encrypted by another key than the first one is
// encrypted again. Nothing of it is read but its metadata. One that is gone meanwhile needs nothing, nor does one that others write.
func Rewrite(ctx context.Context, c client.Client, namespace, name string) error {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	o.Namespace, o.Name = namespace, name
	err := c.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte("{}")))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// behindKey are the names of Secrets that are not encrypted with the key of a name, at most so many, and how many there are.
func behindKey(entries iter.Seq2[datastore.Entry, error], key string, most int) (names []string, count int, err error) {
	want := encrypted + key + ":"
	for e, err := range entries {
		if err != nil {
			return nil, 0, fmt.Errorf("read which Secrets are encrypted: %w", err)
		}
		if strings.HasPrefix(string(e.Value[:min(len(e.Value), len(want))]), want) {
			continue
		}
		if count++; len(names) < most {
			names = append(names, strings.TrimPrefix(e.Key, secretsFolder))
		}
	}
	return names, count, nil
}

// encrypt has Secrets written again until none is left that the new key has not encrypted; nil then. What is left is asked of the data store
// each time: nothing that is done has to be remembered, and what a restore has written is found.
func (r *reconciler) encrypt(ctx context.Context, o *v1alpha1.Rotation, s subject) *operator.Outcome {
	refuse := func(out operator.Outcome) *operator.Outcome { return &out }
	names, outcome := r.pending(ctx, o, s)
	if outcome != nil || len(names) == 0 {
		return outcome
	}
	if err := r.rewrite(ctx, s, names); err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonRotationFailed, fmt.Errorf("%s still to be encrypted with the new key: %w", text.Count(int(o.Status.PendingSecrets), "Secret"), err)))
	}
	return refuse(operator.Wait(v1alpha1.ReasonRotatingSecrets, text.Count(int(o.Status.PendingSecrets), "Secret")+" were still to be encrypted with the new key at the last look", atOnce))
}

// pending are the Secrets that the new key has not encrypted, the first of them.
func (r *reconciler) pending(ctx context.Context, o *v1alpha1.Rotation, s subject) ([]string, *operator.Outcome) {
	refuse := func(err error) ([]string, *operator.Outcome) {
		out := operator.Retry(v1alpha1.ReasonRotationFailed, err)
		return nil, &out
	}
	if o.Status.NewFingerprint == "" {
		return refuse(fmt.Errorf("control plane %s does not say yet which key is the new one", s.plane.Name))
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	state, err := r.State(ctx, s.plane)
	if err != nil {
		return refuse(err)
	}
	names, count, err := behindKey(state.Below(ctx, secretsFolder), pki.EncryptionKeyName(o.Status.NewFingerprint), mostAtOnce)
	if err != nil {
		return refuse(err)
	}
	o.Status.PendingSecrets = int32(count)
	return names, nil
}

// rewrite has as many of the Secrets written again as there is time for. One that fails does not hold up the others.
func (r *reconciler) rewrite(ctx context.Context, s subject, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, rewriteTimeout)
	defer cancel()
	rewrite, err := r.Rewriter(ctx, s.cluster)
	if err != nil {
		return err
	}
	pace := time.NewTicker(rewritePace)
	defer pace.Stop()
	var first error
	for n, of := range names {
		namespace, name, _ := strings.Cut(of, "/")
		if err := rewrite(ctx, namespace, name); err != nil && first == nil && (n == 0 || ctx.Err() == nil) {
			first = fmt.Errorf("write Secret %s again: %w", text.Cut(of, 300), err)
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return first
		}
	}
	return first
}

// countBackups counts the backups that need the old key.
func (r *reconciler) countBackups(ctx context.Context, o *v1alpha1.Rotation) error {
	all := &v1alpha1.BackupList{}
	if err := r.Reader.List(ctx, all, client.InNamespace(o.Namespace)); err != nil {
		return fmt.Errorf("list backups: %w", err)
	}
	o.Status.OlderBackups = 0
	for i := range all.Items {
		if b := &all.Items[i]; b.Status.ClusterUID == o.Status.ClusterUID && b.IsTaken() && b.CreationTimestamp.Before(o.Status.SignsTime) {
			o.Status.OlderBackups++
		}
	}
	return nil
}
