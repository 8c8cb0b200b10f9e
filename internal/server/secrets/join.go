package secrets

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	corev1 "k8s.io/api/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/workers/machine"
)

// join lets machines join clusters.
type join struct {
	callers, own client.Client
	rights       *rights.Rights
	now          func() time.Time
}

func (h *join) register(api huma.API) {
	o := chain.Operation(http.MethodPost, "/organizations/{organization}/machines/{machine}/join", "createJoinToken",
		"Get what a machine that you bring joins with", "Machines", chain.Recorded("create-join-token"))
	huma.Register(api, o, h.createJoinToken)
}

// OfMachine is in the path of what belongs to a machine.
type OfMachine struct {
	chain.InOrganization

	Machine string `path:"machine" maxLength:"253"`
}

// createJoinToken hands out the token that KQueen has made for the machine. A caller who may change the machine may have it:
// with the token one becomes this node, and nothing else.
func (h *join) createJoinToken(ctx context.Context, in *OfMachine) (*chain.Answer[rest.JoinToken], error) {
	m := &v1alpha1.Machine{}
	if err := h.rights.Object(ctx, h.callers, in.Organization, "update", "machines", in.Machine, m); err != nil {
		return nil, err
	}
	r := chain.Of(ctx)
	r.Detail = map[string]string{"cluster": m.Spec.ClusterName}
	if why := notJoinable(m); why != "" {
		return nil, problem.New(http.StatusConflict, rest.CodeConflict, why)
	}
	c := &v1alpha1.Cluster{}
	if err := h.callers.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.ClusterName}, c); err != nil {
		return nil, problem.Explain(err)
	}
	if c.Status.Join == nil {
		return nil, problem.New(http.StatusConflict, rest.CodeConflict, "the cluster cannot be joined yet; wait until it is ready")
	}
	hashes, err := machine.KeyHashes(c.Status.Join.CA)
	if err != nil {
		return nil, problem.Explain(fmt.Errorf("status.join.ca of cluster %s: %w", c.Name, err))
	}
	found := rest.JoinToken{Machine: m.Name, Cluster: c.Name, Version: m.Spec.Version, Server: c.Status.Join.Server, CACertHashes: hashes}
	if err := h.readJoinToken(ctx, m, &found); err != nil {
		return nil, err
	}
	return &chain.Answer[rest.JoinToken]{Body: found}, nil
}

// notJoinable says why no operator has to join a machine, or nothing when one has. It is pure.
func notJoinable(m *v1alpha1.Machine) string {
	switch {
	case m.Spec.Provider != v1alpha1.ProviderManual:
		return "the machine is created by the provider " + m.Spec.Provider + ", which joins it"
	case m.DeletionTimestamp != nil:
		return "the machine is being removed"
	case m.Status.JoinTime != nil:
		return "the machine has joined already"
	}
	return ""
}

// readJoinToken reads what only KQueen may read.
func (h *join) readJoinToken(ctx context.Context, m *v1alpha1.Machine, into *rest.JoinToken) error {
	secret := &corev1.Secret{}
	err := h.own.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.JoinSecret()}, secret)
	if client.IgnoreNotFound(err) != nil {
		return problem.Explain(err)
	}
	data := secret.Data
	token := bootstraputil.TokenFromIDAndSecret(string(data[bootstrapapi.BootstrapTokenIDKey]), string(data[bootstrapapi.BootstrapTokenSecretKey]))
	expires, unread := time.Parse(time.RFC3339, string(data[bootstrapapi.BootstrapTokenExpirationKey]))
	if unread != nil || !bootstraputil.IsValidBootstrapToken(token) || !h.now().Before(expires) {
		p := problem.New(http.StatusConflict, rest.CodeConflict, "what the machine joins with is not there yet; wait until its condition Bootstrapped is true")
		return p
	}
	into.Token, into.Expires = token, expires.UTC()
	return nil
}
