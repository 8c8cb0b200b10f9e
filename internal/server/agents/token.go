package agents

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/manifests"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/socket"
)

// Register adds the operation for users.
func Register(api huma.API, c Config) {
	h := &handler{c}
	huma.Register(api, chain.Operation(http.MethodPost, "/organizations/{organization}/clusters/{cluster}/agent", "createAgentToken",
		"Get a one-time token and the manifests with which an agent in an adopted cluster enrolls", "Clusters", chain.Recorded("create-agent-token")), h.issue)
}

type issueInput struct {
	chain.InOrganization

	Cluster string `path:"cluster" maxLength:"253"`
	Body    rest.AgentTokenRequest
}

func (h *handler) issue(ctx context.Context, in *issueInput) (*chain.Answer[rest.AgentToken], error) {
	c := &v1alpha1.Cluster{}
	if err := h.Rights.Object(ctx, h.Callers, in.Organization, "update", "clusters", in.Cluster, c); err != nil {
		return nil, err
	}
	if !c.DeletionTimestamp.IsZero() {
		return nil, problem.New(http.StatusConflict, rest.CodeConflict, "the cluster is being deleted")
	}
	if adopted, err := h.Adopted.Adopted(ctx, c); err != nil {
		return nil, problem.Explain(err)
	} else if !adopted {
		return nil, problem.New(http.StatusConflict, rest.CodeConflict, "the cluster was created by KQueen, which reaches it without an agent")
	}
	if _, err := h.imageFor(in.Body); err != nil {
		return nil, err
	}
	var out rest.AgentToken
	err := change(ctx, h.Own, c, func(k *kept) error {
		secret, expires := k.record.Issue(h.Now())
		out.Token, out.ExpiresAt = secret.Reveal(), expires
		return nil
	})
	if err != nil {
		return nil, problem.Explain(err)
	}
	base, _ := h.Server.Address()
	if _, local := socket.PeerOf(ctx); !local {
		base = chain.Of(ctx).Base()
	}
	if out.Manifests, err = h.render(base, in.Organization, c.Name, out.Token, in.Body); err != nil {
		return nil, problem.Explain(err)
	}
	out.Command = command(base, h.Server.Pin(), in.Organization, c.Name, out.Token, in.Body)
	chain.Of(ctx).Detail = map[string]string{"members": strconv.FormatBool(in.Body.Members)}
	return &chain.Answer[rest.AgentToken]{Body: out}, nil
}

func (h *handler) render(base, organization, cluster, token string, as rest.AgentTokenRequest) (string, error) {
	_, authority := h.Server.Address()
	image, err := h.imageFor(as)
	if err != nil {
		return "", err
	}
	return manifests.ForAgent(manifests.Agent{
		Image: image, Server: base, Authority: string(authority), Organization: organization, Cluster: cluster, Token: token,
	}, as.Members)
}

// imageFor is the image of an agent.
func (h *handler) imageFor(as rest.AgentTokenRequest) (string, error) {
	image := cmp.Or(as.Image, h.Server.Image)
	if image == "" {
		return "", problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", rest.FieldError{
			Pointer: "/image", Detail: "this installation has no image of the agent; name one that the nodes of the cluster can pull, or have kqueen up --agent-image name it for all",
		})
	}
	return image, nil
}

// command is a line for a shell. The certificate is told by its key: curl does not know KQueen's authority. It is pure.
func command(base, pin, organization, cluster, token string, as rest.AgentTokenRequest) string {
	at := base + rest.AgentsPath + "/" + organization + "/" + cluster + "/" + string(wishManifests)
	query := url.Values{}
	if as.Members {
		query.Set("members", "true")
	}
	if as.Image != "" {
		query.Set("image", as.Image)
	}
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	return strings.Join([]string{
		"curl -fsSk", "--pinnedpubkey", quote("sha256//" + pin), "-H", quote("Authorization: Bearer " + token), quote(at), "| kubectl apply -f -",
	}, " ")
}

// quote makes one word of a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// manifests hands out what is applied to the cluster, to the holder of the one-time token, which is in it.
func (h *handler) manifests(w http.ResponseWriter, r *http.Request, v *visit) error {
	as := rest.AgentTokenRequest{Members: r.URL.Query().Get("members") == "true", Image: r.URL.Query().Get("image")}
	text, err := h.render(chain.Of(r.Context()).Base(), v.organization, v.path.cluster, v.proof.Text().Reveal(), as)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, err = w.Write([]byte(text)) //nolint:gosec // YAML for kubectl, in which what the caller says is quoted
	if err != nil {
		chain.Of(r.Context()).Failure = err // the caller has gone away
	}
	return nil
}
