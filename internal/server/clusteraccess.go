package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/tenancy/issuer"
	"kqueen.io/kqueen/internal/tenancy/role"
)

func (s *Server) registerClusterAccess() {
	const one, tag = "/organizations/{organization}/clusters/{cluster}", "Clusters"
	huma.Register(s.api, operation(http.MethodPost, one+"/credential", "issueCredential", "Get a short-lived credential for a cluster", tag, recorded("issue-credential")), s.issueCredential)
	huma.Register(s.api, operation(http.MethodPost, one+"/kubeconfig", "issueKubeconfig", "Get a kubeconfig that asks for credentials by itself", tag, recorded("issue-kubeconfig")), s.issueKubeconfig)
	huma.Register(s.api, operation(http.MethodPost, one+"/breakglass", "breakGlass", "Get the kubeconfig of a cluster's own administrator", tag, recorded("break-glass")), s.breakGlass)
}

// OfCluster is in the path of what belongs to a cluster.
type OfCluster struct {
	InOrganization
	Cluster string `path:"cluster" maxLength:"253"`
}

// accesses are the roles in clusters, from the highest.
func accesses() []string {
	return []string{v1alpha1.AccessClusterAdmin, v1alpha1.AccessEdit, v1alpha1.AccessView}
}

// mayEnter returns the cluster when the caller may have access of a kind there. With none named it is the highest
// that they may.
func (s *Server) mayEnter(ctx context.Context, in OfCluster, access string) (*v1alpha1.Cluster, string, error) {
	o, err := s.organization(ctx, in.Organization)
	if err != nil {
		return nil, "", err
	}
	r := requestOf(ctx)
	r.object.kind, r.object.name = "Cluster", in.Cluster
	wanted := []string{access}
	if access == "" {
		wanted = accesses()
	}
	granted := ""
	for _, w := range wanted {
		if err = s.mayHere(ctx, role.VerbAccess, "clusters", w, o.OwnedNamespace(), in.Cluster); err == nil {
			granted = w
			break
		}
	}
	if granted == "" {
		return nil, "", err
	}
	c := &v1alpha1.Cluster{}
	if !speakable(in.Cluster) {
		return nil, "", notFound()
	}
	if err := s.Callers.Get(ctx, client.ObjectKey{Namespace: o.OwnedNamespace(), Name: in.Cluster}, c); err != nil {
		return nil, "", explain(err)
	}
	r.object.uid = string(c.UID)
	r.detail = map[string]string{"access": granted}
	return c, granted, nil
}

type credentialRequest struct {
	OfCluster
	Body rest.CredentialRequest
}

func (s *Server) issueCredential(ctx context.Context, in *credentialRequest) (*ok[rest.ClusterCredential], error) {
	c, granted, err := s.mayEnter(ctx, in.OfCluster, in.Body.Access)
	if err != nil {
		return nil, err
	}
	r := requestOf(ctx)
	id, audience := rand.Text(), v1alpha1.TokenAudience(c.UID)
	token, expires, err := s.Issuer.Sign(issuer.Claims{
		Subject: r.caller.Name, Groups: []string{granted}, Audience: audience, ID: id, Credential: r.identity.Credential.ID,
		Lifetime: time.Duration(in.Body.LifetimeSeconds) * time.Second,
	})
	if err != nil {
		return nil, explain(err)
	}
	// Noted before it is out: it ends with what the caller came with. The owner came with nothing that could end.
	if r.identity.Kind != ownerKind {
		if err := s.Access.Enter(ctx, r.identity, audience, expires); err != nil {
			return nil, explainAccess(err)
		}
	}
	r.detail["credential"], r.detail["expires"] = id, expires.UTC().Format(time.RFC3339)
	return &ok[rest.ClusterCredential]{Body: rest.ClusterCredential{Token: token, Expires: expires, Access: granted}}, nil
}

type kubeconfigRequest struct {
	OfCluster
	Body rest.KubeconfigRequest
}

func (s *Server) issueKubeconfig(ctx context.Context, in *kubeconfigRequest) (*ok[rest.Kubeconfig], error) {
	c, granted, err := s.mayEnter(ctx, in.OfCluster, in.Body.Access)
	if err != nil {
		return nil, err
	}
	admin, err := s.adminKubeconfig(ctx, c)
	if err != nil {
		return nil, err
	}
	way, err := clientcmd.RESTConfigFromKubeConfig(admin)
	if err != nil {
		return nil, explain(fmt.Errorf("read the kubeconfig of cluster %s: %w", c.Name, err))
	}
	name := in.Organization + "-" + in.Cluster
	args := []string{"cluster", "credential", in.Cluster, "--org", in.Organization, "--access", granted}
	if in.Body.LifetimeSeconds > 0 {
		args = append(args, "--lifetime", strconv.Itoa(in.Body.LifetimeSeconds)+"s")
	}
	if in.Body.Context != "" {
		args = append(args, "--context", in.Body.Context)
	}
	made, err := pki.Kubeconfig(pki.KubeconfigParams{
		Cluster: name, Context: name, User: name, Server: way.Host, TLSServerName: way.ServerName, CA: way.CAData,
		Exec: &pki.ExecUser{Command: "kqueen", Args: args, InstallHint: "Install kqueen, and sign in with: kqueen login"},
	})
	if err != nil {
		return nil, explain(fmt.Errorf("write the kubeconfig of cluster %s: %w", c.Name, err))
	}
	return &ok[rest.Kubeconfig]{Body: rest.Kubeconfig{Kubeconfig: string(made), Access: granted}}, nil
}

func (s *Server) breakGlass(ctx context.Context, in *OfCluster) (*ok[rest.Kubeconfig], error) {
	c, granted, err := s.mayEnter(ctx, *in, role.AccessBreakGlass)
	if err != nil {
		return nil, err
	}
	admin, err := s.adminKubeconfig(ctx, c)
	if err != nil {
		return nil, err
	}
	return &ok[rest.Kubeconfig]{Body: rest.Kubeconfig{Kubeconfig: string(admin), Access: granted}}, nil
}

// adminKubeconfig reads what nobody but KQueen may read.
func (s *Server) adminKubeconfig(ctx context.Context, c *v1alpha1.Cluster) ([]byte, error) {
	secret := &corev1.Secret{}
	err := s.Own.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.KubeconfigSecret()}, secret)
	if apierrors.IsNotFound(err) || err == nil && len(secret.Data[v1alpha1.KubeconfigKey]) == 0 {
		p := newProblem(http.StatusConflict, rest.CodeConflict, "the cluster has no kubeconfig yet; wait until its condition KubeconfigReady is true")
		return nil, p
	}
	if err != nil {
		return nil, explain(err)
	}
	return secret.Data[v1alpha1.KubeconfigKey], nil
}
