package identityprovider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

var (
	errNoSecret = errors.New("the client has no secret")
	errForeign  = errors.New("the Secret was created for something else")
	// ErrNotFound says that there is no provider of that name, or one that is being deleted.
	ErrNotFound = errors.New("there is no identity provider of that name")
)

// maxClientSecret is how long a client's secret may be, in bytes.
const maxClientSecret = 4096

// Source hands out providers.
type Source struct {
	// Providers reads IdentityProviders, from a cache.
	Providers client.Reader
	// Secrets reads and writes Secrets, as KQueen itself.
	Secrets client.Client
}

// List returns the providers that users may choose from, ordered by name.
func (s Source) List(ctx context.Context) ([]v1alpha1.IdentityProvider, error) {
	list := &v1alpha1.IdentityProviderList{}
	if err := s.Providers.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list identity providers: %w", err)
	}
	all := slices.DeleteFunc(list.Items, func(p v1alpha1.IdentityProvider) bool { return !p.DeletionTimestamp.IsZero() })
	slices.SortFunc(all, func(a, b v1alpha1.IdentityProvider) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Stands says whether a user whom a provider proved, with this issuer, is still one of a provider that there is.
func (s Source) Stands(ctx context.Context, name, issuer string) (bool, error) {
	p := &v1alpha1.IdentityProvider{}
	err := s.Providers.Get(ctx, client.ObjectKey{Name: name}, p)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read identity provider %s: %w", name, err)
	}
	return p.DeletionTimestamp.IsZero() && p.Spec.Issuer == issuer, nil
}

// Get returns a provider with its secret. base is the address of the API server as the browser has it: "https://HOST:PORT".
// Errors: ErrNotFound; *oidc.RefusedError when it cannot be used.
func (s Source) Get(ctx context.Context, name, base string) (oidc.Provider, error) {
	p := &v1alpha1.IdentityProvider{}
	err := s.Providers.Get(ctx, client.ObjectKey{Name: name}, p)
	if apierrors.IsNotFound(err) || err == nil && !p.DeletionTimestamp.IsZero() {
		return oidc.Provider{}, ErrNotFound
	}
	if err != nil {
		return oidc.Provider{}, fmt.Errorf("read identity provider %s: %w", name, err)
	}
	if p.Spec.PublicClient {
		return describe(p, "", base), nil
	}
	secret, err := secretOf(ctx, s.Secrets, p)
	if errors.Is(err, errNoSecret) || errors.Is(err, errForeign) {
		return oidc.Provider{}, &oidc.RefusedError{Provider: name, Reason: err.Error() + "; see the conditions of the identity provider"}
	}
	if err != nil {
		return oidc.Provider{}, err
	}
	return describe(p, secret, base), nil
}

// SetSecret keeps the secret of a provider's client. The Secret belongs to the provider and goes with it.
func (s Source) SetSecret(ctx context.Context, p *v1alpha1.IdentityProvider, text token.Secret) error {
	secret := &corev1.Secret{}
	err := s.Secrets.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: p.SecretName()}, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the client's secret: %w", err)
	}
	// What another provider of that name has left is on its way out: it is not taken over, nor waited for.
	if err == nil && !belongs(secret, p) {
		if err := client.IgnoreNotFound(s.Secrets.Delete(ctx, secret, client.Preconditions{UID: &secret.UID})); err != nil {
			return fmt.Errorf("delete what another provider has left: %w", err)
		}
		secret = &corev1.Secret{}
	}
	secret.Namespace, secret.Name = v1alpha1.SystemNamespace, p.SecretName()
	secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p, v1alpha1.GroupVersion.WithKind("IdentityProvider"))}
	secret.Data = map[string][]byte{v1alpha1.IdentityProviderSecretKey: []byte(text.Reveal())}
	if secret.ResourceVersion == "" {
		err = s.Secrets.Create(ctx, secret)
	} else {
		err = s.Secrets.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("keep the client's secret: %w", err)
	}
	return nil
}

// secretOf reads the secret of a provider's client. Errors: errNoSecret, errForeign.
func secretOf(ctx context.Context, from client.Reader, p *v1alpha1.IdentityProvider) (token.Secret, error) {
	secret := &corev1.Secret{}
	err := from.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: p.SecretName()}, secret)
	if apierrors.IsNotFound(err) {
		return "", errNoSecret
	}
	if err != nil {
		return "", fmt.Errorf("read the client's secret: %w", err)
	}
	if !belongs(secret, p) {
		return "", errForeign
	}
	text := secret.Data[v1alpha1.IdentityProviderSecretKey]
	if len(text) == 0 || len(text) > maxClientSecret {
		return "", errNoSecret
	}
	return token.Secret(text), nil
}

// belongs says whether a Secret may be used for a provider: it was made for it, or by hand and for none in
// particular. What an earlier provider of that name has left must not be sent to the issuer of this one.
func belongs(secret *corev1.Secret, p *v1alpha1.IdentityProvider) bool {
	return secret.DeletionTimestamp.IsZero() && (len(secret.OwnerReferences) == 0 || metav1.IsControlledBy(secret, p))
}

// describe is a provider as the protocol wants it.
func describe(p *v1alpha1.IdentityProvider, secret token.Secret, base string) oidc.Provider {
	return oidc.Provider{
		Name: p.Name, DisplayName: p.Spec.DisplayName, Issuer: p.Spec.Issuer, ClientID: p.Spec.ClientID, ClientSecret: secret,
		CA: p.Spec.CABundle, Scopes: p.Spec.Scopes, UsernameClaim: p.Spec.UsernameClaim, GroupsClaim: p.Spec.GroupsClaim,
		AdminGroups: p.Spec.AdminGroups, RedirectURL: base + rest.CallbackPath(p.Name),
	}
}
