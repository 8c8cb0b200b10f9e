package secrets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// clusterCredentials are those by which KQueen reaches clusters that others run.
type clusterCredentials struct {
	callers, own client.Client
	rights       *rights.Rights
	adopted      Adopted
	now          func() time.Time
}

func (h *clusterCredentials) register(api huma.API) {
	const at, tag = "/organizations/{organization}/clusters/{cluster}/credentials", "Clusters"
	huma.Register(api, chain.Operation(http.MethodGet, at, "getClusterCredentials", "List the keys of the credentials by which an adopted cluster is reached, without their values", tag), h.get)
	o := chain.Operation(http.MethodPut, at, "setClusterCredentials", "Set the credentials by which an adopted cluster is reached, after the cluster has taken them", tag, chain.Recorded("set-credentials"))
	o.DefaultStatus = http.StatusNoContent
	huma.Register(api, o, h.set)
	huma.Register(api, chain.Operation(http.MethodDelete, at, "removeClusterCredentials", "Remove the credentials by which an adopted cluster is reached", tag, chain.Recorded("remove-credentials")), h.remove)
}

// cluster returns a cluster when the caller may do that with it.
func (h *clusterCredentials) cluster(ctx context.Context, in OfCluster, verb string) (*v1alpha1.Cluster, error) {
	c := &v1alpha1.Cluster{}
	return c, h.rights.Object(ctx, h.callers, in.Organization, verb, "clusters", in.Cluster, c)
}

func (h *clusterCredentials) get(ctx context.Context, in *OfCluster) (*chain.Answer[rest.CredentialKeys], error) {
	c, err := h.cluster(ctx, *in, "get")
	if err != nil {
		return nil, err
	}
	return keysOf(ctx, h.own, client.ObjectKey{Namespace: c.Namespace, Name: c.CredentialsSecret()})
}

type setClusterCredentialsInput struct {
	OfCluster

	DryRun bool              `query:"dryRun" doc:"Check, also with the cluster; change nothing."`
	Force  bool              `query:"force" doc:"Set them also when the cluster refuses them or does not answer."`
	Body   map[string]string `doc:"The values by their keys: of an adopted cluster a kubeconfig with the key kubeconfig."`
}

// set replaces the credentials by those that the cluster takes: bad ones do not take the place of good ones unasked.
func (h *clusterCredentials) set(ctx context.Context, in *setClusterCredentialsInput) (*struct{}, error) {
	c, err := h.cluster(ctx, in.OfCluster, "update")
	if err != nil {
		return nil, err
	}
	if !c.DeletionTimestamp.IsZero() {
		return nil, problem.New(http.StatusConflict, rest.CodeConflict, "the cluster is being deleted")
	}
	if wrong := checkCredentials(in.Body, maxCredentials); len(wrong) > 0 {
		return nil, problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", wrong...)
	}
	chain.Of(ctx).Detail = map[string]string{"keys": strings.Join(slices.Sorted(maps.Keys(in.Body)), ",")}
	values := make(map[string][]byte, len(in.Body))
	for key, value := range in.Body {
		values[key] = []byte(value)
	}
	kept, err := h.adopted.CheckCredentials(ctx, c, values)
	if err != nil && (kept == nil || !in.Force) {
		return nil, refusedCredentials(err, kept != nil)
	}
	secret := c.NewCredentialsSecret(kept)
	secret.Annotations = map[string]string{v1alpha1.AnnotationSetAt: h.now().UTC().Format(time.RFC3339)}
	return nil, replaceSecret(ctx, h.own, secret, in.DryRun)
}

// refusedCredentials explains why credentials were not set. tried says that the cluster was asked. It is pure.
func refusedCredentials(err error, tried bool) error {
	if tried {
		return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, fmt.Sprintf("the credentials were not set: %v; to set them all the same, use force", err))
	}
	bad, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		return problem.Explain(err)
	}
	// What the caller wrote is one text by its key; the field within it has a notation of its own.
	key, within, _ := strings.Cut(strings.TrimPrefix(bad.Field, "credentials."), ".")
	detail := bad.Detail()
	if within != "" {
		detail = within + ": " + detail
	}
	at := rest.FieldError{Detail: detail}
	if key != "" {
		at.Pointer = "/" + key
	}
	return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", at)
}

type removeClusterCredentialsInput struct {
	OfCluster

	DryRun bool `query:"dryRun" doc:"Check whether they may be removed; remove nothing."`
}

func (h *clusterCredentials) remove(ctx context.Context, in *removeClusterCredentialsInput) (*struct{}, error) {
	c, err := h.cluster(ctx, in.OfCluster, "update")
	if err != nil {
		return nil, err
	}
	return nil, removeSecret(ctx, h.own, client.ObjectKey{Namespace: c.Namespace, Name: c.CredentialsSecret()}, in.DryRun)
}
