package server

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
	"kqueen.io/kqueen/internal/workers/machine"
)

func (s *Server) registerJoin() {
	o := operation(http.MethodPost, "/organizations/{organization}/machines/{machine}/join", "createJoinToken",
		"Get what a machine that you bring joins with", "Machines", recorded("create-join-token"))
	huma.Register(s.api, o, s.createJoinToken)
}

// OfMachine is in the path of what belongs to a machine.
type OfMachine struct {
	InOrganization

	Machine string `path:"machine" maxLength:"253"`
}

// createJoinToken hands out the token that KQueen has made for the machine. Whoever may change the machine may have it:
// with the token one becomes this node, and nothing else.
func (s *Server) createJoinToken(ctx context.Context, in *OfMachine) (*ok[rest.JoinToken], error) {
	o, err := s.organization(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	r := requestOf(ctx)
	r.object.kind, r.object.name = "Machine", in.Machine
	if err := s.mayHere(ctx, "update", "machines", "", o.OwnedNamespace(), in.Machine); err != nil {
		return nil, err
	}
	m := &v1alpha1.Machine{}
	if err := s.Callers.Get(ctx, client.ObjectKey{Namespace: o.OwnedNamespace(), Name: in.Machine}, m); err != nil {
		return nil, explain(err)
	}
	r.object.uid = string(m.UID)
	r.detail = map[string]string{"cluster": m.Spec.ClusterName}
	if why := joinedByNobody(m); why != "" {
		return nil, newProblem(http.StatusConflict, rest.CodeConflict, why)
	}
	c := &v1alpha1.Cluster{}
	if err := s.Callers.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.ClusterName}, c); err != nil {
		return nil, explain(err)
	}
	if c.Status.Join == nil {
		return nil, newProblem(http.StatusConflict, rest.CodeConflict, "the cluster cannot be joined yet; wait until it is ready")
	}
	hashes, err := machine.KeyHashes(c.Status.Join.CA)
	if err != nil {
		return nil, explain(fmt.Errorf("status.join.ca of cluster %s: %w", c.Name, err))
	}
	found := rest.JoinToken{Machine: m.Name, Cluster: c.Name, Version: m.Spec.Version, Server: c.Status.Join.Server, CACertHashes: hashes}
	if err := s.readJoinToken(ctx, m, &found); err != nil {
		return nil, err
	}
	return &ok[rest.JoinToken]{Body: found}, nil
}

// joinedByNobody says why nobody has to join a machine, or nothing when somebody has. It is pure.
func joinedByNobody(m *v1alpha1.Machine) string {
	switch {
	case m.Spec.Provider != v1alpha1.ProviderManual:
		return "the machine is made by the provider " + m.Spec.Provider + ", which joins it"
	case m.DeletionTimestamp != nil:
		return "the machine is being removed"
	case m.Status.JoinedAt != nil:
		return "the machine has joined already"
	}
	return ""
}

// readJoinToken reads what nobody but KQueen may read.
func (s *Server) readJoinToken(ctx context.Context, m *v1alpha1.Machine, into *rest.JoinToken) error {
	secret := &corev1.Secret{}
	err := s.Own.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.JoinSecret()}, secret)
	if client.IgnoreNotFound(err) != nil {
		return explain(err)
	}
	data := secret.Data
	token := bootstraputil.TokenFromIDAndSecret(string(data[bootstrapapi.BootstrapTokenIDKey]), string(data[bootstrapapi.BootstrapTokenSecretKey]))
	expires, unread := time.Parse(time.RFC3339, string(data[bootstrapapi.BootstrapTokenExpirationKey]))
	if unread != nil || !bootstraputil.IsValidBootstrapToken(token) || !s.Now().Before(expires) {
		p := newProblem(http.StatusConflict, rest.CodeConflict, "what the machine joins with is not there yet; wait until its condition Bootstrapped is true")
		return p
	}
	into.Token, into.Expires = token, expires.UTC()
	return nil
}
