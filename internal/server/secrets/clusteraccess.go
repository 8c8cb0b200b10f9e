package secrets

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
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/tenancy/issuer"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// clusterAccess lets callers enter clusters.
type clusterAccess struct {
	callers, own client.Client
	rights       *rights.Rights
	issuer       *issuer.Issuer
	entries      Entries
	adopted      Adopted
	address      Address
}

// Address is where clients that cannot tell reach this server, and the PEM of the authority that signs its certificate.
type Address func() (url string, authority []byte)

func (h *clusterAccess) register(api huma.API) {
	const one, tag = "/organizations/{organization}/clusters/{cluster}", "Clusters"
	huma.Register(api, chain.Operation(http.MethodPost, one+"/credential", "issueCredential", "Get a short-lived credential for a cluster", tag, chain.Recorded("issue-credential")), h.issueCredential)
	huma.Register(api, chain.Operation(http.MethodPost, one+"/kubeconfig", "issueKubeconfig", "Get a kubeconfig without secrets, which fetches credentials when they are needed", tag, chain.Recorded("issue-kubeconfig")), h.issueKubeconfig)
	huma.Register(api, chain.Operation(http.MethodPost, one+"/breakglass", "breakGlass", "Get the kubeconfig of a cluster's own administrator", tag, chain.Recorded("break-glass")), h.breakGlass)
}

// OfCluster is in the path of what belongs to a cluster.
type OfCluster struct {
	chain.InOrganization
	Cluster string `path:"cluster" maxLength:"253"`
}

// accesses are the roles in clusters, from the highest.
func accesses() []string {
	return []string{v1alpha1.AccessClusterAdmin, v1alpha1.AccessEdit, v1alpha1.AccessView}
}

// mayEnter returns the cluster when the caller may have access of a kind there. With none named it is the highest
// that they may.
func (h *clusterAccess) mayEnter(ctx context.Context, in OfCluster, asked, uid string) (*v1alpha1.Cluster, string, error) {
	o, err := h.rights.Organization(ctx, in.Organization)
	if err != nil {
		return nil, "", err
	}
	r := chain.Of(ctx)
	r.Object.Kind, r.Object.Name = "Cluster", in.Cluster
	wanted := []string{asked}
	if asked == "" {
		wanted = accesses()
	}
	granted := ""
	for _, w := range wanted {
		if err = h.rights.Require(ctx, rights.Act{Verb: role.VerbAccess, Resource: "clusters", Subresource: w, Namespace: o.OwnedNamespace(), Name: in.Cluster}); err == nil {
			granted = w
			break
		}
	}
	if granted == "" {
		return nil, "", err
	}
	c := &v1alpha1.Cluster{}
	if !rights.Speakable(in.Cluster) {
		return nil, "", problem.NotFound()
	}
	if err := h.callers.Get(ctx, client.ObjectKey{Namespace: o.OwnedNamespace(), Name: in.Cluster}, c); err != nil {
		return nil, "", problem.Explain(err)
	}
	if uid != "" && uid != string(c.UID) {
		return nil, "", problem.New(http.StatusConflict, rest.CodeConflict, "the cluster of this name is another one than the kubeconfig is of; get its kubeconfig again")
	}
	r.Object.UID = string(c.UID)
	r.Detail = map[string]string{"access": granted}
	return c, granted, nil
}

type credentialRequest struct {
	OfCluster
	Body rest.CredentialRequest
}

func (h *clusterAccess) issueCredential(ctx context.Context, in *credentialRequest) (*chain.Answer[rest.ClusterCredential], error) {
	c, granted, err := h.mayEnter(ctx, in.OfCluster, in.Body.Access, in.Body.UID)
	if err != nil {
		return nil, err
	}
	r := chain.Of(ctx)
	id, audience := rand.Text(), v1alpha1.TokenAudience(c.UID)
	token, expires, err := h.issuer.Sign(issuer.Claims{
		Subject: r.Caller.Name, Groups: []string{granted}, Audience: audience, ID: id, Credential: r.Identity.Credential.ID,
		Lifetime: time.Duration(in.Body.LifetimeSeconds) * time.Second,
	})
	if err != nil {
		return nil, problem.Explain(err)
	}
	// Noted before it is out: it ends with what the caller came with. The owner came with nothing that could end.
	if r.Identity.Kind != chain.OwnerKind {
		if err := h.entries.Enter(ctx, r.Identity, audience, expires); err != nil {
			return nil, problem.ExplainAccess(err)
		}
	}
	r.Detail["credential"], r.Detail["expires"] = id, expires.UTC().Format(time.RFC3339)
	return &chain.Answer[rest.ClusterCredential]{Body: rest.ClusterCredential{Token: token, Expires: expires, Access: granted}}, nil
}

type kubeconfigRequest struct {
	OfCluster
	Body rest.KubeconfigRequest
}

func (h *clusterAccess) issueKubeconfig(ctx context.Context, in *kubeconfigRequest) (*chain.Answer[rest.Kubeconfig], error) {
	c, granted, err := h.mayEnter(ctx, in.OfCluster, in.Body.Access, in.Body.UID)
	if err != nil {
		return nil, err
	}
	way, err := h.way(ctx, in.Organization, c)
	if err != nil {
		return nil, err
	}
	name := in.Organization + "-" + in.Cluster
	args := []string{"cluster", "credential", in.Cluster, "--org", in.Organization, "--access", granted, "--uid", string(c.UID)}
	if in.Body.LifetimeSeconds > 0 {
		args = append(args, "--lifetime", strconv.Itoa(in.Body.LifetimeSeconds)+"s")
	}
	if in.Body.Context != "" {
		args = append(args, "--context", in.Body.Context)
	}
	made, err := pki.Kubeconfig(pki.KubeconfigParams{
		Cluster: name, Context: name, User: name, Server: way.server, TLSServerName: way.serverName, CA: way.authority,
		Exec: &pki.ExecUser{Command: "kqueen", Args: args, InstallHint: "Install kqueen, and sign in with: kqueen login"},
	})
	if err != nil {
		return nil, problem.Explain(fmt.Errorf("write the kubeconfig of cluster %s: %w", c.Name, err))
	}
	return &chain.Answer[rest.Kubeconfig]{Body: rest.Kubeconfig{Kubeconfig: string(made), Access: granted, UID: string(c.UID)}}, nil
}

// way is how a member reaches the Kubernetes API of a cluster.
type way struct {
	server, serverName string
	authority          []byte
}

// way is the cluster's own for one that KQueen hosts, and by this server for one that exists without KQueen and takes no credential of it.
func (h *clusterAccess) way(ctx context.Context, organization string, c *v1alpha1.Cluster) (way, error) {
	adopted, err := h.adopted.Adopted(ctx, c)
	if err != nil {
		return way{}, problem.Explain(err)
	}
	if adopted {
		base, authority := h.address()
		if _, local := socket.PeerOf(ctx); !local {
			base = chain.Of(ctx).Base()
		}
		return way{server: base + rest.ClustersPath + "/" + organization + "/" + c.Name, authority: authority}, nil
	}
	admin, err := h.adminKubeconfig(ctx, c)
	if err != nil {
		return way{}, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(admin)
	if err != nil {
		return way{}, problem.Explain(fmt.Errorf("read the kubeconfig of cluster %s: %w", c.Name, err))
	}
	return way{config.Host, config.ServerName, config.CAData}, nil
}

func (h *clusterAccess) breakGlass(ctx context.Context, in *OfCluster) (*chain.Answer[rest.Kubeconfig], error) {
	c, granted, err := h.mayEnter(ctx, *in, role.AccessBreakGlass, "")
	if err != nil {
		return nil, err
	}
	if err := chain.RequireFresh(ctx); err != nil {
		return nil, err
	}
	adopted, err := h.adopted.Adopted(ctx, c)
	if err != nil {
		return nil, problem.Explain(err)
	}
	if adopted {
		return nil, problem.New(http.StatusConflict, rest.CodeConflict, "the cluster was adopted, and the credentials that were set for it are KQueen's alone; those of its administrator are where it was created")
	}
	admin, err := h.adminKubeconfig(ctx, c)
	if err != nil {
		return nil, err
	}
	return &chain.Answer[rest.Kubeconfig]{Body: rest.Kubeconfig{Kubeconfig: string(admin), Access: granted, UID: string(c.UID)}}, nil
}

// adminKubeconfig reads what only KQueen may read.
func (h *clusterAccess) adminKubeconfig(ctx context.Context, c *v1alpha1.Cluster) ([]byte, error) {
	secret := &corev1.Secret{}
	err := h.own.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.KubeconfigSecret()}, secret)
	if apierrors.IsNotFound(err) || err == nil && len(secret.Data[v1alpha1.KubeconfigKey]) == 0 {
		p := problem.New(http.StatusConflict, rest.CodeConflict, "the cluster has no kubeconfig yet; wait until its condition KubeconfigReady is true")
		return nil, p
	}
	if err != nil {
		return nil, problem.Explain(err)
	}
	return secret.Data[v1alpha1.KubeconfigKey], nil
}
