package identityprovider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/access/oidc/oidctest"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

const base = "https://kqueen.example.com:8443"

// subject is one provider and a real issuer behind it.
type subject struct {
	client client.WithWatch
	issuer *oidctest.Issuer
	name   string
}

func newSubject(t *testing.T, public bool) *subject {
	t.Helper()
	s := &subject{client: controlplanetest.Client(t), issuer: oidctest.New(t, time.Now)}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if err := s.client.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	p := &v1alpha1.IdentityProvider{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "corp-"},
		Spec: v1alpha1.IdentityProviderSpec{
			Issuer: s.issuer.URL, ClientID: oidctest.ClientID, CABundle: s.issuer.CA, PublicClient: public, GroupsClaim: "groups",
		},
	}
	if err := s.client.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	s.name = p.Name
	return s
}

func (s *subject) get(ctx context.Context) (*v1alpha1.IdentityProvider, error) {
	p := &v1alpha1.IdentityProvider{}
	return p, s.client.Get(ctx, client.ObjectKey{Name: s.name}, p)
}

func (s *subject) source() Source { return Source{s.client, s.client} }

func (s *subject) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: s.name}}
}

// says tells whether a condition has a reason.
func (s *subject) says(condition, reason string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		p, err := s.get(ctx)
		c := apimeta.FindStatusCondition(p.Status.Conditions, condition)
		return c != nil && c.Reason == reason, err
	}
}

// run reconciles once and returns what a condition says.
func (s *subject) run(t *testing.T, r reconcile.Reconciler, condition string) metav1.Condition {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), s.request()); err != nil {
		t.Fatal(err)
	}
	p, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := apimeta.FindStatusCondition(p.Status.Conditions, condition)
	if c == nil {
		t.Fatalf("there is no condition %s: %+v", condition, p.Status.Conditions)
	}
	return *c
}

func (s *subject) reconciler() reconcile.Reconciler {
	return New(Config{Client: s.client, Secrets: s.client, Check: oidc.NewClient(time.Now, time.Minute).Check})
}

func (s *subject) world() operatortest.World {
	return operatortest.World{
		Request: s.request(),
		Reconciler: func(inj *operatortest.Injector) reconcile.Reconciler {
			check := oidc.NewClient(time.Now, time.Minute).Check
			return New(Config{Client: inj.Client(s.client), Secrets: inj.Client(s.client), Check: func(ctx context.Context, p oidc.Provider) error {
				return inj.Read("issuer.Check", func() error { return check(ctx, p) })
			}})
		},
		Object: func(ctx context.Context) (operator.Object, error) { return s.get(ctx) },
		Done:   s.says(v1alpha1.ConditionReady, v1alpha1.ReasonReady),
		Snapshot: func(ctx context.Context) (any, error) {
			p, err := s.get(ctx)
			var end []string
			for _, c := range p.Status.Conditions {
				end = append(end, fmt.Sprint(c.Type, "=", c.Status, " ", c.Reason, " ", c.Message))
			}
			slices.Sort(end) // conditions stand in the order in which they were first said
			return append(end, fmt.Sprint("next retry ", p.Status.NextRetryTime)), err
		},
	}
}

func TestUnderFaults(t *testing.T) {
	operatortest.Run(t, func(t *testing.T) operatortest.World {
		s := newSubject(t, false)
		p, err := s.get(t.Context())
		if err == nil {
			err = s.source().SetSecret(t.Context(), p, oidctest.ClientSecret)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.world()
	})
}

// TestStatus: what is wrong is said, and what was put right is seen.
func TestStatus(t *testing.T) {
	s := newSubject(t, false)
	r := s.reconciler()
	if c := s.run(t, r, v1alpha1.ConditionSecretReady); c.Reason != v1alpha1.ReasonSecretMissing || !strings.Contains(c.Message, "kqueen identityprovider secret "+s.name) {
		t.Errorf("without a secret: %+v", c)
	}
	p, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.source().SetSecret(t.Context(), p, oidctest.ClientSecret); err != nil {
		t.Fatal(err)
	}
	s.issuer.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusTeapot)
		return true
	}
	if c := s.run(t, r, v1alpha1.ConditionDiscovered); c.Reason != v1alpha1.ReasonDiscoveryFailed || !strings.Contains(c.Message, "status 418") {
		t.Errorf("with an issuer that is none: %+v", c)
	}
	if p, err = s.get(t.Context()); err != nil || p.Status.NextRetryTime == nil {
		t.Errorf("the status does not say when it is tried again: %+v (%v)", p.Status, err)
	}
	s.issuer.Answer = nil
	if c := s.run(t, r, v1alpha1.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("when all is right: %+v", c)
	}
	// An issuer that stops answering is seen at the next look, though it was known before.
	s.issuer.Answer = func(http.ResponseWriter, *http.Request) bool { return true }
	if c := s.run(t, r, v1alpha1.ConditionReady); c.Status != metav1.ConditionFalse {
		t.Errorf("with an issuer that stopped answering: %+v", c)
	}
	if p, err = s.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Spec.CABundle = "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----"
	if err := s.client.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if c := s.run(t, r, v1alpha1.ConditionDiscovered); c.Reason != v1alpha1.ReasonProviderInvalid || !strings.Contains(c.Message, "caBundle") {
		t.Errorf("with an authority that is none: %+v", c)
	}
}

func TestPublicClient(t *testing.T) {
	s := newSubject(t, true)
	if c := s.run(t, s.reconciler(), v1alpha1.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("%+v", c)
	}
	got, err := s.source().Get(t.Context(), s.name, base)
	if err != nil || got.ClientSecret != "" || got.RedirectURL != base+"/signin/"+s.name+"/callback" {
		t.Errorf("%+v %v", got, err)
	}
}

// TestSecretOfAnother: what an earlier provider of that name has left is not sent.
func TestSecretOfAnother(t *testing.T) {
	s := newSubject(t, false)
	old, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.source().SetSecret(t.Context(), old, "marker-old"); err != nil {
		t.Fatal(err)
	}
	next := &v1alpha1.IdentityProvider{ObjectMeta: metav1.ObjectMeta{Name: old.Name}, Spec: old.Spec}
	if err := s.client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if _, err := s.source().Get(t.Context(), s.name, base); !errors.Is(err, ErrNotFound) {
		t.Errorf("a provider that is gone: %v", err)
	}
	next.Spec.Issuer = "https://evil.example.com"
	if err := s.client.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	var refused *oidc.RefusedError
	if got, err := s.source().Get(t.Context(), s.name, base); !errors.As(err, &refused) || got.ClientSecret != "" {
		t.Errorf("the next one got %q (%v)", got.ClientSecret.Reveal(), err)
	}
	if c := s.run(t, s.reconciler(), v1alpha1.ConditionSecretReady); c.Reason != v1alpha1.ReasonSecretForeign {
		t.Errorf("%+v", c)
	}
	for _, text := range []string{"marker-new", "marker-newer"} {
		if err := s.source().SetSecret(t.Context(), next, token.Secret(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.source().Get(t.Context(), s.name, base); err != nil || got.ClientSecret.Reveal() != text {
			t.Errorf("after it was set: %q %v", got.ClientSecret.Reveal(), err)
		}
	}
	secret := &corev1.Secret{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: next.SecretName()}, secret); err != nil || !metav1.IsControlledBy(secret, next) {
		t.Errorf("the Secret does not go with the provider: %+v (%v)", secret.OwnerReferences, err)
	}
}
