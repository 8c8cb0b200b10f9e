// Package agents takes in agents in clusters that nothing can dial: they enroll with a one-time token, prove who they are, and
// keep a connection on which KQueen calls the API servers beside them (see package tunnel).
//
// It hides how the record of an agent is kept, and that an agent has no other rights: what proves who it is opens its own connection
// and nothing else. Only package server imports it.
package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/enrollment"
	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// Config is what the handlers stand on. All fields are required.
type Config struct {
	// Callers call the admin plane as the caller, and Own as KQueen.
	Callers, Own client.Client
	// Cache has the clusters.
	Cache  client.Reader
	Rights *rights.Rights
	Chain  *chain.Chain
	// Adopted knows the clusters that others run.
	Adopted Adopted
	// Sessions are the agents that are connected.
	Sessions *tunnel.Sessions
	// Server says how agents find KQueen.
	Server Server
	Now    func() time.Time
	Log    *slog.Logger
}

// Adopted knows the clusters that others run.
type Adopted interface {
	// Adopted says whether a cluster is one.
	Adopted(ctx context.Context, c *v1alpha1.Cluster) (bool, error)
}

// Server says how agents find KQueen. Its functions may be called at any time.
type Server struct {
	// Address is the URL for a caller who is on the machine itself, and the authority in PEM of its certificate.
	Address func() (url string, authority []byte)
	// Pin is the SHA-256 of the public key of the present certificate, in base64, as curl has it.
	Pin func() string
	// Image of the agent, where users name none; empty where there is none.
	Image string
}

// agentKind is the kind of an agent's identity, which is no account.
const agentKind access.Kind = "agent"

type handler struct{ Config }

// RegisterPaths adds to a mux what agents call.
func RegisterPaths(mux *http.ServeMux, c Config) {
	h := &handler{c}
	mux.Handle(rest.AgentsPath+"/", h.Chain.PlainFor(h, about, chain.WriteProblem, h.authenticate))
}

// wish is what an agent asks for.
type wish string

const (
	wishManifests wish = "manifests"
	wishEnroll    wish = "enroll"
	wishRotate    wish = "rotate"
	wishConnect   wish = "connect"
)

// methods are those of what agents call. What is not here is nothing.
func methods() map[wish]string {
	return map[wish]string{wishManifests: http.MethodGet, wishEnroll: http.MethodPost, wishRotate: http.MethodPost, wishConnect: http.MethodGet}
}

// path is what is read of a path.
type path struct {
	organization, cluster string
	wish                  wish
}

// read reads a request. It is pure; false for what does not pass.
func read(r *http.Request) (path, bool) {
	below, _ := strings.CutPrefix(r.URL.Path, rest.AgentsPath+"/")
	parts := strings.Split(below, "/")
	if len(parts) != 3 || methods()[wish(parts[2])] != r.Method {
		return path{}, false
	}
	for _, name := range parts[:2] {
		if len(content.IsPathSegmentName(name)) > 0 {
			return path{}, false
		}
	}
	return path{parts[0], parts[1], wish(parts[2])}, true
}

// about is what the audit log has: that an agent enrolled. Whether one is connected is seen at its cluster.
func about(r *http.Request) chain.About {
	p, ok := read(r)
	if !ok || p.wish != wishEnroll {
		return chain.About{}
	}
	return chain.About{
		Entry:  chain.Entry{Action: "enroll-agent", Operation: "agents:enroll", Path: chain.ObjectPath},
		Object: chain.Object{Kind: "Cluster", Organization: p.organization, Name: p.cluster},
	}
}

// visit is a request that was let in.
type visit struct {
	path
	cluster *v1alpha1.Cluster
	proof   token.Parts
	kept    *kept
}

type visitKey struct{}

// authenticate finds out whether a request brings what is good for the cluster that it names, and for what it wants. To a caller
// without that no cluster exists.
func (h *handler) authenticate(r *http.Request, known *chain.Request) error {
	p, ok := read(r)
	if !ok {
		return access.ErrUnauthenticated
	}
	proof, err := token.Parse(chain.BearerOf(r))
	if err != nil {
		return errors.Join(access.ErrUnauthenticated, err)
	}
	cluster := &v1alpha1.Cluster{}
	name := client.ObjectKey{Namespace: v1alpha1.NamespacePrefix + p.organization, Name: p.cluster}
	if err := h.Cache.Get(r.Context(), name, cluster); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the cluster: %w", err)
	} else if err != nil || !cluster.DeletionTimestamp.IsZero() {
		return access.ErrUnauthenticated
	}
	have, err := load(r.Context(), h.Own, cluster)
	if err != nil {
		return err
	}
	if !have.lets(p.wish, proof, r.Header.Get(rest.AgentInstanceHeader), h.Now()) {
		return access.ErrUnauthenticated
	}
	who := "agent:" + p.organization + "/" + p.cluster
	known.Identity = access.Identity{Kind: agentKind, Name: who, Credential: access.Credential{ID: proof.ID}}
	known.Caller = chain.Caller{Name: who}
	known.Object.UID = string(cluster.UID)
	*r = *r.WithContext(context.WithValue(r.Context(), visitKey{}, &visit{p, cluster, proof, have}))
	return nil
}

// lets says whether a proof is good for a wish.
func (k *kept) lets(w wish, proof token.Parts, instance string, now time.Time) bool {
	if w == wishManifests || w == wishEnroll {
		return k.record.Knows(proof, now)
	}
	record := k.record // as it is: what is taken is noted by who does it
	_, err := record.Accept(proof, instance)
	return err == nil || errors.Is(err, enrollment.ErrElsewhere)
}

// ServeHTTP serves what a good proof asks for.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, ok := r.Context().Value(visitKey{}).(*visit)
	if !ok { // authenticate has put it there
		chain.WriteProblem(w, r, problem.NotFound())
		return
	}
	var err error
	switch v.wish {
	case wishManifests:
		err = h.manifests(w, r, v)
	case wishEnroll:
		err = h.enroll(w, r, v)
	case wishRotate:
		err = h.rotate(w, r, v)
	case wishConnect:
		err = h.connect(w, r, v)
	}
	if err != nil {
		chain.Of(r.Context()).Failure = err
		chain.WriteProblem(w, r, refused(err))
	}
}

// refused says what an error means to an agent. It is pure.
func refused(err error) *problem.Problem {
	switch {
	case errors.Is(err, enrollment.ErrElsewhere):
		return problem.New(http.StatusConflict, rest.CodeConflict, "the agent's identity was made in another cluster; enroll this one by itself: kqueen cluster import --agent")
	case errors.Is(err, enrollment.ErrUnknown):
		return problem.New(http.StatusUnauthorized, rest.CodeUnauthenticated, err.Error())
	case errors.Is(err, enrollment.ErrInstance), errors.Is(err, errBody):
		return problem.New(http.StatusBadRequest, rest.CodeInvalid, err.Error())
	case errors.Is(err, tunnel.ErrFull):
		return problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, err.Error())
	}
	return problem.Of(problem.Explain(err))
}

// errBody says that a request does not hold what an agent sends.
var errBody = errors.New("the body: want an identity of an agent in JSON")

// identityOf reads what an agent wants to prove itself with.
func identityOf(r *http.Request) (token.Parts, error) {
	var body rest.AgentIdentity
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return token.Parts{}, errBody
	}
	parts, err := token.Parse(body.Identity)
	if err != nil || parts.Kind != token.Agent {
		return token.Parts{}, errBody
	}
	return parts, nil
}

func (h *handler) enroll(w http.ResponseWriter, r *http.Request, v *visit) error {
	identity, err := identityOf(r)
	if err != nil {
		return err
	}
	err = change(r.Context(), h.Own, v.cluster, func(k *kept) error {
		k.dropKubeconfig()
		return k.record.Enroll(v.proof, identity, r.Header.Get(rest.AgentInstanceHeader), h.Now())
	})
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (h *handler) rotate(w http.ResponseWriter, r *http.Request, v *visit) error {
	next, err := identityOf(r)
	if err != nil {
		return err
	}
	err = change(r.Context(), h.Own, v.cluster, func(k *kept) error {
		if _, err := k.record.Accept(v.proof, r.Header.Get(rest.AgentInstanceHeader)); err != nil {
			return err
		}
		return k.record.Rotate(next)
	})
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// connect keeps a connection of an agent. It is no request any more then, and counted among the agents.
func (h *handler) connect(w http.ResponseWriter, r *http.Request, v *visit) error {
	record := v.kept.record
	promoted, err := record.Accept(v.proof, r.Header.Get(rest.AgentInstanceHeader))
	if err == nil && promoted {
		err = change(r.Context(), h.Own, v.cluster, func(k *kept) error {
			_, err := k.record.Accept(v.proof, r.Header.Get(rest.AgentInstanceHeader))
			return err
		})
	}
	if err != nil {
		return err
	}
	if !h.Sessions.Takes(string(v.cluster.UID)) {
		return tunnel.ErrFull
	}
	session, err := tunnel.Accept(w, r, h.Log)
	if err != nil {
		h.Log.Debug("an agent does not come in", "cluster", v.cluster.Name, "error", err)
		return nil // what there is to say the library has said
	}
	ctx, cancel := h.Chain.Detach(r)
	defer cancel()
	h.Log.Info("an agent is connected", "organization", v.organization, "cluster", v.path.cluster, "version", r.UserAgent())
	err = h.Sessions.Hold(ctx, string(v.cluster.UID), session, func(ctx context.Context) bool { return h.still(ctx, v) })
	h.Log.Info("an agent is not connected any more", "organization", v.organization, "cluster", v.path.cluster, "error", err)
	return nil
}

// still says whether an agent that is connected may go on. One of which that cannot be found out goes on.
func (h *handler) still(ctx context.Context, v *visit) bool {
	now, err := load(ctx, h.Own, v.cluster)
	if err != nil {
		return true
	}
	_, err = now.record.Accept(v.proof, now.record.Instance)
	return err == nil
}
