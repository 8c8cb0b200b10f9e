package machinecontroller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/workers/addons"
)

const (
	// tokenTTL is how long a token is good when we start the machine, joinedTTL when a user has to go to it.
	tokenTTL, joinedTTL = time.Hour, 24 * time.Hour
)

// joining is what a machine joins with.
type joining struct {
	secret  *corev1.Secret // in the admin plane
	id, key string         // empty when the Secret cannot be read
	expires time.Time
}

// token is what the machine is given.
func (j *joining) token() string { return bootstraputil.TokenFromIDAndSecret(j.id, j.key) }

// good says whether the token can still be used.
func (j *joining) good(now time.Time) bool {
	return j != nil && bootstraputil.IsValidBootstrapToken(j.token()) && now.Before(j.expires)
}

// joiningOf reads what a machine joins with; nil when there is nothing.
func (r *reconciler) joiningOf(ctx context.Context, m *v1alpha1.Machine) (*joining, error) {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.JoinSecret()}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", m.JoinSecret(), err)
	}
	j := &joining{secret: secret, id: string(secret.Data[bootstrapapi.BootstrapTokenIDKey]), key: string(secret.Data[bootstrapapi.BootstrapTokenSecretKey])}
	if !bootstraputil.IsValidBootstrapToken(j.token()) {
		j.id, j.key = "", ""
	}
	// A time that cannot be read is long ago.
	j.expires, err = time.Parse(time.RFC3339, string(secret.Data[bootstrapapi.BootstrapTokenExpirationKey]))
	if err != nil {
		j.expires = time.Time{}
	}
	return j, nil
}

// bootstrap sees that the machine has what it takes to join, and that nothing of it stays once it has.
func (r *reconciler) bootstrap(ctx context.Context, m *v1alpha1.Machine) operator.Outcome {
	cluster, refused := r.target(ctx, m)
	if refused != nil {
		return *refused
	}
	have, err := r.joiningOf(ctx, m)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonBootstrapPending, err)
	}
	joined := m.Status.JoinTime != nil
	if joined && have == nil {
		return operator.Done(v1alpha1.ReasonJoined, "the node is in the cluster")
	}
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	c, err := r.Clusters.Client(ctx, cluster)
	if err != nil {
		if joined { // the machine is looked at all the same
			return operator.Warn(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err).Error())
		}
		return operator.Unknown(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err), 0)
	}
	if joined {
		return r.revoke(ctx, c, cluster, have)
	}
	return r.issue(ctx, c, cluster, m, have)
}

// issue sees that there is a good token in the admin plane and in the cluster. The admin plane comes first: it
// remembers the token that a crash would leave in the cluster.
func (r *reconciler) issue(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, m *v1alpha1.Machine, have *joining) operator.Outcome {
	away := func(err error) operator.Outcome {
		return operator.Unknown(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err), 0)
	}
	if !have.good(r.Now()) {
		if have != nil {
			if err := dropToken(ctx, c, have.id); err != nil {
				return away(err)
			}
		}
		renewed, err := r.renew(ctx, m, have)
		if err != nil {
			return operator.Retry(v1alpha1.ReasonBootstrapPending, err)
		}
		have = renewed
	}
	if err := installToken(ctx, c, bootstrapToken(m, have)); err != nil {
		return away(err)
	}
	return operator.Done(v1alpha1.ReasonBootstrapped, "the machine has a token to join with")
}

// revoke takes the token from the cluster and then from the admin plane, which remembers it until then. It
// does not keep later phases from looking at the machine.
func (r *reconciler) revoke(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, have *joining) operator.Outcome {
	if err := dropToken(ctx, c, have.id); err != nil {
		return operator.Warn(v1alpha1.ReasonClusterUnreachable, unreachable(cluster, err).Error())
	}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, have.secret)); err != nil {
		return operator.Retry(v1alpha1.ReasonBootstrapPending, fmt.Errorf("delete Secret %s: %w", have.secret.Name, err))
	}
	return operator.Done(v1alpha1.ReasonJoined, "the node is in the cluster")
}

// installToken makes the token in the cluster, or makes it again as it should be.
func installToken(ctx context.Context, c client.Client, want *corev1.Secret) error {
	is := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKeyFromObject(want), is)
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, want)
	}
	if err != nil || maps.EqualFunc(is.Data, want.Data, slices.Equal) {
		return err
	}
	is.Data = want.Data
	return c.Update(ctx, is)
}

// renew writes another token into the admin plane.
func (r *reconciler) renew(ctx context.Context, m *v1alpha1.Machine, old *joining) (*joining, error) {
	token, err := bootstraputil.GenerateBootstrapToken()
	if err != nil {
		return nil, fmt.Errorf("create a token: %w", err)
	}
	j := &joining{expires: r.Now().Add(ttl(r.userJoins(m))).UTC().Truncate(time.Second)}
	j.id, j.key, _ = strings.Cut(token, ".")
	data := map[string][]byte{
		bootstrapapi.BootstrapTokenIDKey:         []byte(j.id),
		bootstrapapi.BootstrapTokenSecretKey:     []byte(j.key),
		bootstrapapi.BootstrapTokenExpirationKey: []byte(j.expires.Format(time.RFC3339)),
	}
	if old != nil {
		j.secret = old.secret.DeepCopy()
		j.secret.Data = data
		if err := r.Client.Update(ctx, j.secret); err != nil {
			return nil, fmt.Errorf("renew Secret %s: %w", m.JoinSecret(), err)
		}
		return j, nil
	}
	j.secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.JoinSecret(),
			Labels: map[string]string{v1alpha1.LabelCluster: m.Spec.ClusterName},
		},
		Data: data,
	}
	if err := controllerutil.SetControllerReference(m, j.secret, r.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("own Secret %s: %w", m.JoinSecret(), err)
	}
	if err := r.Client.Create(ctx, j.secret); err != nil {
		return nil, fmt.Errorf("make Secret %s: %w", m.JoinSecret(), err)
	}
	return j, nil
}

// ttl is how long a token is good for a machine that a user joins, or not. It is pure.
func ttl(userJoins bool) time.Duration {
	if userJoins {
		return joinedTTL
	}
	return tokenTTL
}

// dropToken takes a token from the cluster.
func dropToken(ctx context.Context, c client.Client, id string) error {
	if id == "" {
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: bootstraputil.BootstrapTokenSecretName(id)}}
	return client.IgnoreNotFound(c.Delete(ctx, secret))
}

// bootstrapToken is the token as the cluster's API server wants it.
// See https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/.
func bootstrapToken(m *v1alpha1.Machine, j *joining) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: bootstraputil.BootstrapTokenSecretName(j.id)},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:               []byte(j.id),
			bootstrapapi.BootstrapTokenSecretKey:           []byte(j.key),
			bootstrapapi.BootstrapTokenExpirationKey:       []byte(j.expires.UTC().Format(time.RFC3339)),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenUsageSigningKey:     []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(addons.TokenGroup),
			bootstrapapi.BootstrapTokenDescriptionKey:      []byte("Joins machine " + m.Name + " of KQueen, and no other."),
		},
	}
}
