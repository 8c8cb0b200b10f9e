package server

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	apirest "kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/agent"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/server/agents"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

const agentPath = "/api/v1/organizations/blue/clusters/adopted/agent"

// agentToken gets what an agent of the adopted cluster enrolls with.
func (h *fixture) agentToken(t *testing.T, body string) (made apirest.AgentToken) {
	t.Helper()
	a := h.do(t.Context(), t, "operator", "POST", agentPath, body)
	if err := json.Unmarshal(a.body, &made); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return made
}

// secure serves the fixture by HTTPS, as agents want it.
func (h *fixture) secure(t *testing.T) (url string, authority []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(h.api)
	s.Listener = chain.LimitConnections(s.Listener, 64, 64)
	s.Config.ConnContext = chain.WithConnection
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// memory keeps an identity.
type memory struct {
	mu   sync.Mutex
	have agent.Identity
}

func (m *memory) Load(context.Context) (agent.Identity, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.have, nil
}

func (m *memory) current() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.have.Current
}

func (m *memory) Save(_ context.Context, i agent.Identity) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.have = i
	return nil
}

// runAgent runs an agent for the adopted cluster, for which it takes the admin plane, until the function that it returns is called.
func (h *fixture) runAgent(t *testing.T, url string, authority []byte, oneTime string, keeps agent.Store) (stop func()) {
	t.Helper()
	a, err := agent.New(agent.Config{
		Server: url, Authority: authority, Organization: "blue", Cluster: "adopted", Token: func() (string, error) { return oneTime, nil },
		API: controlplanetest.Config(t), Identity: keeps, Version: "test", Log: slog.New(slog.DiscardHandler), Heartbeat: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (h *fixture) isConnected(c *v1alpha1.Cluster) func() bool {
	return func() bool { _, err := h.agents.Of(string(c.UID)); return err == nil }
}

// TestAgent: an agent enrolls once, carries calls to the API server beside it, comes again with what it has made itself, and is out as
// soon as it was revoked.
func TestAgent(t *testing.T) {
	h := newFixture(t)
	c := h.adopt(t)
	h.followAgents(t)
	url, authority := h.secure(t)
	keeps, made := &memory{}, h.agentToken(t, `{}`)
	stop := h.runAgent(t, url, authority, made.Token, keeps)
	h.await(t, h.isConnected(c))
	by := connection.New(connection.Config{Secrets: h.plane, Guard: &connection.Guard{}, Agents: h.agents, Version: "test"})
	config, err := by.Config(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := client.New(config, client.Options{Scheme: controlplanetest.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	got, want := &corev1.NamespaceList{}, &corev1.NamespaceList{}
	if err := errors.Join(inside.List(t.Context(), got), h.plane.List(t.Context(), want)); err != nil || len(got.Items) != len(want.Items) || len(want.Items) == 0 {
		t.Fatalf("by the agent there are %d namespaces, want %d: %v", len(got.Items), len(want.Items), err)
	}
	stop()
	h.await(t, func() bool { return !h.isConnected(c)() })
	if err := inside.List(t.Context(), got); !errors.Is(err, tunnel.ErrOffline) {
		t.Errorf("without an agent: %v", err)
	}

	// The token was used: what connects again is the identity.
	version, err := by.Version(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	h.runAgent(t, url, authority, "", keeps)
	h.await(t, h.isConnected(c))
	if again, err := by.Version(t.Context(), c); err != nil || again != version {
		t.Errorf("the same agent is another way: %q, %q, %v", version, again, err)
	}
	session, err := h.agents.Of(string(c.UID))
	if err != nil {
		t.Fatal(err)
	}
	if a := h.do(t.Context(), t, "operator", "DELETE", "/api/v1/organizations/blue/clusters/adopted/credentials", ""); a.status != http.StatusNoContent {
		t.Fatalf("revoke: %d %s", a.status, a.body)
	}
	<-session.Done()
	if _, err := by.Version(t.Context(), c); !errors.Is(err, connection.ErrNoCredentials) {
		t.Errorf("after it was revoked: %v", err)
	}
	req := h.asAgent(t, "GET", "connect", keeps.current(), instanceOf(t, h), "")
	if req.status != http.StatusUnauthorized {
		t.Errorf("a revoked agent is answered with %d", req.status)
	}
}

// followAgents has revoked agents end, as KQueen has.
func (h *fixture) followAgents(t *testing.T) {
	t.Helper()
	mgr, err := ctrl.NewManager(controlplanetest.Config(t), ctrl.Options{
		Scheme: controlplanetest.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: agents.Watched()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := agents.Revoke(t.Context(), mgr, h.agents); err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := mgr.Start(t.Context()); err != nil {
			t.Errorf("the manager ends: %v", err)
		}
	}()
	if !mgr.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache is not filled")
	}
}

func instanceOf(t *testing.T, h *fixture) string {
	t.Helper()
	namespace := &corev1.Namespace{}
	if err := h.plane.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, namespace); err != nil {
		t.Fatal(err)
	}
	return string(namespace.UID)
}

// asAgent calls what agents call.
func (h *fixture) asAgent(t *testing.T, method, wish, proof, instance, body string) answer {
	t.Helper()
	return h.do(t.Context(), t, "", method, apirest.AgentsPath+"/blue/adopted/"+wish, body, "Authorization", "Bearer "+proof, apirest.AgentInstanceHeader, instance)
}

func identity() string { return token.New(token.Agent, time.Now()).Text().Reveal() }

func bodyOf(identity string) string { return `{"identity":"` + identity + `"}` }

// TestAgentRefused: what an agent has opens its own connection and nothing else, and nothing else opens that.
func TestAgentRefused(t *testing.T) {
	h := newFixture(t)
	h.adopt(t)
	other := &v1alpha1.Cluster{}
	other.Namespace, other.Name = "org-blue", "other"
	other.Spec.ProvisionerRef = v1alpha1.ProvisionerReference{Name: "imported", Namespace: v1alpha1.SystemNamespace}
	if err := h.plane.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	h.await(t, func() bool {
		return h.cached.Get(t.Context(), client.ObjectKeyFromObject(other), other) == nil
	})
	mine, made := identity(), h.agentToken(t, `{}`)
	call := func(name, method, path, proof, instance, body string, want int) {
		t.Helper()
		a := h.do(t.Context(), t, "", method, path, body, "Authorization", "Bearer "+proof, apirest.AgentInstanceHeader, instance)
		if a.status != want {
			t.Errorf("%s: %d, want %d: %s", name, a.status, want, a.body)
		}
	}
	const here, elsewhere = apirest.AgentsPath + "/blue/adopted/", apirest.AgentsPath + "/blue/other/"
	call("a body that is none", "POST", here+"enroll", made.Token, "i", "{", 400)
	call("a session as an identity", "POST", here+"enroll", made.Token, "i", bodyOf(h.tokens["owner"]), 400)
	call("without an instance", "POST", here+"enroll", made.Token, "", bodyOf(mine), 400)
	call("the token for another cluster", "POST", elsewhere+"enroll", made.Token, "i", bodyOf(mine), 401)
	call("a session in the place of a token", "POST", here+"enroll", h.tokens["owner"], "i", bodyOf(mine), 401)
	call("the token in the place of an identity", "GET", here+"connect", made.Token, "i", "", 401)
	call("before it has enrolled", "GET", here+"connect", mine, "i", "", 401)
	call("enroll", "POST", here+"enroll", made.Token, "i", bodyOf(mine), 204)
	call("enroll once more", "POST", here+"enroll", made.Token, "i", bodyOf(mine), 204)
	call("enroll another one", "POST", here+"enroll", made.Token, "i", bodyOf(identity()), 401)
	call("another cluster's path", "GET", elsewhere+"connect", mine, "i", "", 401)
	call("from another cluster", "GET", here+"connect", mine, "j", "", 409)
	call("the identity enrolls nothing", "POST", here+"enroll", mine, "i", bodyOf(identity()), 401)
	call("manifests by the identity", "GET", here+"manifests", mine, "i", "", 401)
	call("the REST API", "GET", "/api/v1/organizations", mine, "i", "", 401)
	call("the cluster", "GET", apirest.ClustersPath+"/blue/adopted/version", mine, "i", "", 401)
	call("the admin plane", "GET", apirest.KubernetesPath+"/api", mine, "i", "", 401)
	call("no such path", "GET", here+"other", mine, "i", "", 401)
	call("no such cluster", "GET", apirest.AgentsPath+"/blue/none/connect", mine, "i", "", 401)
	call("no WebSocket", "GET", here+"connect", mine, "i", "", 426)

	// What is next takes the place of the identity when it is used; until then both are taken.
	next := identity()
	call("rotate", "POST", here+"rotate", mine, "i", bodyOf(next), 204)
	call("the former one still", "GET", here+"connect", mine, "i", "", 426)
	call("the next one", "GET", here+"connect", next, "i", "", 426)
	call("the former one", "GET", here+"connect", mine, "i", "", 401)
	call("rotate by it", "POST", here+"rotate", mine, "i", bodyOf(identity()), 401)
}

// TestAgentToken: what starts an agent is printed and fetched in the same words, for clusters alone that others run.
func TestAgentToken(t *testing.T) {
	h := newFixture(t)
	h.adopt(t)
	made := h.agentToken(t, `{"members":true}`)
	if !strings.Contains(made.Command, "sha256//PIN") || !strings.Contains(made.Command, "/agents/blue/adopted/manifests?members=true") || !strings.Contains(made.Command, made.Token) {
		t.Errorf("the command is %s", made.Command)
	}
	for _, part := range []string{`"registry.example/kqueen-agent:test"`, "kind: Deployment", "kqueen-import-members", made.Token} {
		if !strings.Contains(made.Manifests, part) {
			t.Errorf("the manifests do not have %s:\n%s", part, made.Manifests)
		}
	}
	a := h.asAgent(t, "GET", "manifests?members=true", made.Token, "", "")
	// Fetched from elsewhere, they lead there.
	base := "http://" + h.Listener.Addr().String()
	want := strings.ReplaceAll(made.Manifests, `"`+base+`"`, `"https://`+h.Listener.Addr().String()+`"`)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/yaml" || string(a.body) != want {
		t.Errorf("fetched is %d %s:\n%s\nwant:\n%s", a.status, a.header.Get("Content-Type"), a.body, want)
	}
	if a := h.do(t.Context(), t, "operator", "POST", agentPath, `{"image":"mine:1"}`); !strings.Contains(string(a.body), "mine:1") {
		t.Errorf("with an image: %d %s", a.status, a.body)
	}
	hosted := &v1alpha1.Cluster{}
	hosted.Namespace, hosted.Name = "org-blue", "hosted"
	hosted.Spec.Version = "v1.36.3"
	hosted.Spec.ProvisionerRef = v1alpha1.ProvisionerReference{Name: "hosted", Namespace: v1alpha1.SystemNamespace}
	if err := h.plane.Create(t.Context(), hosted); err != nil {
		t.Fatal(err)
	}
	if a := h.do(t.Context(), t, "operator", "POST", strings.Replace(agentPath, "adopted", "hosted", 1), `{}`); a.status != http.StatusConflict {
		t.Errorf("for a cluster of KQueen's own: %d %s", a.status, a.body)
	}
}
