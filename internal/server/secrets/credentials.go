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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// Bounds of a provisioner's credentials. A Secret holds 1 MiB at most, of which this is far.
const (
	maxCredentialKeys  = 32
	maxCredentialValue = 32 << 10
	maxCredentials     = 256 << 10
	// credentialTries bounds how often writing is tried again, because another caller was faster.
	credentialTries = 5
)

// credentials are those of provisioners.
type credentials struct {
	callers, own client.Client
	rights       *rights.Rights
	now          func() time.Time
}

func (h *credentials) register(api huma.API) {
	const at, tag = "/organizations/{organization}/provisioners/{provisioner}/credentials", "Provisioners"
	huma.Register(api, chain.Operation(http.MethodGet, at, "getProvisionerCredentials", "List the keys of a provisioner's credentials, without their values", tag), h.getCredentials)
	o := chain.Operation(http.MethodPut, at, "setProvisionerCredentials", "Set all credentials of a provisioner", tag, chain.Recorded("set-credentials"))
	o.DefaultStatus = http.StatusNoContent
	huma.Register(api, o, h.setCredentials)
	huma.Register(api, chain.Operation(http.MethodDelete, at, "removeProvisionerCredentials", "Remove all credentials of a provisioner", tag, chain.Recorded("remove-credentials")), h.removeCredentials)
}

// OfProvisioner is in the path of what belongs to a provisioner of an organization.
type OfProvisioner struct {
	chain.InOrganization

	Provisioner string `path:"provisioner" maxLength:"253"`
}

// provisioner returns a provisioner of the organization's own, when the caller may do that with it. Those that all
// organizations share are not among them.
func (h *credentials) provisioner(ctx context.Context, in OfProvisioner, verb string) (*v1alpha1.Provisioner, error) {
	p := &v1alpha1.Provisioner{}
	return p, h.rights.Object(ctx, h.callers, in.Organization, verb, "provisioners", in.Provisioner, p)
}

func (h *credentials) getCredentials(ctx context.Context, in *OfProvisioner) (*chain.Answer[rest.CredentialKeys], error) {
	p, err := h.provisioner(ctx, *in, "get")
	if err != nil {
		return nil, err
	}
	return keysOf(ctx, h.own, client.ObjectKey{Namespace: p.Namespace, Name: p.CredentialsSecret()})
}

// keysOf tells which credentials a Secret holds.
func keysOf(ctx context.Context, own client.Client, at client.ObjectKey) (*chain.Answer[rest.CredentialKeys], error) {
	out := rest.CredentialKeys{Keys: []string{}}
	secret := &corev1.Secret{}
	err := own.Get(ctx, at, secret)
	if apierrors.IsNotFound(err) {
		return &chain.Answer[rest.CredentialKeys]{Body: out}, nil
	}
	if err != nil {
		return nil, problem.Explain(err)
	}
	out.Keys = append(out.Keys, slices.Sorted(maps.Keys(secret.Data))...)
	if at, err := time.Parse(time.RFC3339, secret.Annotations[v1alpha1.AnnotationSetAt]); err == nil {
		out.SetAt = &at
	}
	return &chain.Answer[rest.CredentialKeys]{Body: out}, nil
}

type setCredentialsInput struct {
	OfProvisioner

	DryRun bool              `query:"dryRun" doc:"Check; change nothing."`
	Body   map[string]string `doc:"The values by their keys. Those that were there before and are not named are gone."`
}

// setCredentials writes as KQueen what no caller may read or write, after the API server has said that
// the caller may change the provisioner.
func (h *credentials) setCredentials(ctx context.Context, in *setCredentialsInput) (*struct{}, error) {
	p, err := h.provisioner(ctx, in.OfProvisioner, "update")
	if err != nil {
		return nil, err
	}
	if wrong := checkCredentials(in.Body, maxCredentialValue); len(wrong) > 0 {
		return nil, problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", wrong...)
	}
	keys := strings.Join(slices.Sorted(maps.Keys(in.Body)), ",")
	chain.Of(ctx).Detail = map[string]string{"keys": keys}
	return nil, replaceSecret(ctx, h.own, h.credentialsOf(p, in.Body), in.DryRun)
}

// replaceSecret writes a Secret whatever is there, and explains why it could not.
func replaceSecret(ctx context.Context, own client.Client, want *corev1.Secret, dry bool) error {
	for try := 1; ; try++ {
		err := writeSecret(ctx, own, want.DeepCopy(), dry)
		if err == nil || try == credentialTries || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			return withoutSecret(err)
		}
	}
}

// credentialsOf is the Secret that holds the credentials. It goes with the provisioner.
func (h *credentials) credentialsOf(p *v1alpha1.Provisioner, values map[string]string) *corev1.Secret {
	data := make(map[string][]byte, len(values))
	for key, value := range values {
		data[key] = []byte(value)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.CredentialsSecret(), Annotations: map[string]string{v1alpha1.AnnotationSetAt: h.now().UTC().Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p, v1alpha1.GroupVersion.WithKind("Provisioner"))},
		},
		Type: v1alpha1.SecretTypeProvisionerCredentials, Data: data,
	}
}

func writeSecret(ctx context.Context, own client.Client, want *corev1.Secret, dry bool) error {
	have := &corev1.Secret{}
	err := own.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		options := []client.CreateOption{}
		if dry {
			options = append(options, client.DryRunAll)
		}
		return own.Create(ctx, want, options...)
	}
	if err != nil {
		return err
	}
	want.ResourceVersion = have.ResourceVersion
	options := []client.UpdateOption{}
	if dry {
		options = append(options, client.DryRunAll)
	}
	return own.Update(ctx, want, options...)
}

// withoutSecret explains what writing a Secret ended with. Of the API server's words only its verdict is handed on,
// because they may quote what was written.
func withoutSecret(err error) error {
	if err == nil {
		return nil
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the admin plane does not take the credentials")
	}
	return problem.Explain(err)
}

// checkCredentials says what is wrong with credentials, and never a value. It is pure.
func checkCredentials(values map[string]string, most int) []rest.FieldError {
	if len(values) == 0 || len(values) > maxCredentialKeys {
		return []rest.FieldError{{Detail: fmt.Sprintf("has %d keys; want 1 to %d (to remove all of them, DELETE)", len(values), maxCredentialKeys)}}
	}
	var wrong []rest.FieldError
	sum := 0
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		value := values[key]
		sum += len(value)
		switch {
		case len(key) > 64 || len(validation.IsConfigMapKey(key)) > 0:
			wrong = append(wrong, rest.FieldError{Pointer: at, Detail: "is not a key; want at most 64 letters, digits, '-', '_' and '.'"})
		case value == "":
			wrong = append(wrong, rest.FieldError{Pointer: at, Detail: "is empty; leave it out"})
		case len(value) > most:
			wrong = append(wrong, rest.FieldError{Pointer: at, Detail: fmt.Sprintf("has %d bytes; want at most %d", len(value), most)})
		}
	}
	if sum > maxCredentials {
		wrong = append(wrong, rest.FieldError{Detail: fmt.Sprintf("has %d bytes of values; want at most %d", sum, maxCredentials)})
	}
	return wrong
}

type removeCredentialsInput struct {
	OfProvisioner

	DryRun bool `query:"dryRun" doc:"Check whether they may be removed; remove nothing."`
}

func (h *credentials) removeCredentials(ctx context.Context, in *removeCredentialsInput) (*struct{}, error) {
	p, err := h.provisioner(ctx, in.OfProvisioner, "update")
	if err != nil {
		return nil, err
	}
	return nil, removeSecret(ctx, h.own, client.ObjectKey{Namespace: p.Namespace, Name: p.CredentialsSecret()}, in.DryRun)
}

func removeSecret(ctx context.Context, own client.Client, at client.ObjectKey, dry bool) error {
	options := []client.DeleteOption{}
	if dry {
		options = append(options, client.DryRunAll)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}}
	return problem.Explain(client.IgnoreNotFound(own.Delete(ctx, secret, options...)))
}
