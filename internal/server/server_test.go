package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server/clusterapi"
	"kqueen.io/kqueen/internal/server/fleet"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/access/password"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/issuer"
	"kqueen.io/kqueen/internal/tenancy/organization"
	"kqueen.io/kqueen/internal/tenancy/role"
)

func TestMain(m *testing.M) {
	code := controlplanetest.Run(m)
	if undocumented := answered.undocumented(); code == 0 && len(undocumented) > 0 {
		fmt.Fprintln(os.Stderr, "statuses that the document of the API does not have:\n"+strings.Join(undocumented, "\n"))
		code = 1
	}
	os.Exit(code)
}

// fixture is a server over a real admin plane and a real database, with two organizations, blue and red, and a member of
// each role in blue.
type fixture struct {
	*httptest.Server
	api     *Server
	access  *access.Service
	audit   *audit.Log
	answers *idempotency.Store
	plane   client.WithWatch
	db      *database.DB
	cached  client.Reader
	// observed is what was seen in clusters.
	observed observations
	// asked are the clusters that were asked themselves.
	asked askedClusters
	// key is what the server proves its forms and cursors with.
	key []byte
	// starting says that the server is not ready.
	starting atomic.Bool
	// socket is the path of the local socket.
	socket string
	// logs is the folder with the audit log of every cluster.
	logs string
	// admin is how the plane is reached as its administrator.
	admin *restclient.Config
	// agents are those that are connected.
	agents *tunnel.Sessions
	// endings are the ids of what credentials for clusters were got with that has ended.
	endings atomic.Pointer[[]string]
	// hosted is the way to clusters that KQueen hosts.
	hosted func() (clusterapi.Way, error)
	// said is what the server logs.
	said said
	// tokens are sessions by who they are of: a role in blue, "admin", "red" (an owner there) or the name of one who belongs nowhere.
	tokens map[string]string
}

const secret = "correct horse battery"

// said keeps what is written to it.
type said struct {
	mu   sync.Mutex
	text []byte
}

func (s *said) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, data...)
	return len(data), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{plane: controlplanetest.Client(t), tokens: map[string]string{}, key: bytes.Repeat([]byte{9}, 32), logs: t.TempDir()}
	h.organizations(t)
	h.clear(t)
	db, err := database.Open(t.Context(), database.FileURL(filepath.Join(t.TempDir(), "kqueen.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	h.db = db
	if h.access, err = access.Open(t.Context(), access.Config{DB: db, PasswordCost: password.Cost{Memory: 64, Passes: 1, Lanes: 1}}); err != nil {
		t.Fatal(err)
	}
	if h.audit, err = audit.Open(t.Context(), db, bytes.Repeat([]byte{7}, 32)); err != nil {
		t.Fatal(err)
	}
	if h.answers, err = idempotency.Open(t.Context(), db, bytes.Repeat([]byte{8}, 32)); err != nil {
		t.Fatal(err)
	}
	h.users(t)
	h.open(t)
	return h
}

// clear removes what the tests before have left in the organizations, and providers: each begins with none.
func (h *fixture) clear(t *testing.T) {
	t.Helper()
	for _, o := range []client.Object{&v1alpha1.IdentityProvider{}, &v1alpha1.BackupStore{}} {
		if err := h.plane.DeleteAllOf(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range []string{"org-blue", "org-red"} {
		for _, o := range []client.Object{&v1alpha1.Cluster{}, &v1alpha1.NodePool{}, &v1alpha1.Machine{}, &v1alpha1.ControlPlane{}, &v1alpha1.Provisioner{}, &v1alpha1.Backup{}, &v1alpha1.BackupSchedule{}, &v1alpha1.Restore{}, &v1alpha1.Upgrade{}, &v1alpha1.Rehearsal{}, &v1alpha1.Rotation{}} {
			if err := h.plane.DeleteAllOf(t.Context(), o, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// organizations puts them and their rights into the plane.
func (h *fixture) organizations(t *testing.T) {
	t.Helper()
	ensure := func(o client.Object) {
		if err := h.plane.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
	ensure(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}})
	rights := append(role.Shared(), role.Guard()...)
	for name, members := range map[string][]v1alpha1.Member{
		"blue": {
			{User: "owner", Role: v1alpha1.RoleOwner}, {User: "operator", Role: v1alpha1.RoleOperator},
			{User: "developer", Role: v1alpha1.RoleDeveloper}, {User: "viewer", Role: v1alpha1.RoleViewer},
		},
		"red": {{User: "red", Role: v1alpha1.RoleOwner}},
	} {
		o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.OrganizationSpec{Members: members}}
		ensure(o)
		if err := h.plane.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
			t.Fatal(err)
		}
		ensure(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.OwnedNamespace()}})
		rights = append(rights, role.Bindings(o)...)
	}
	ensure(&v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "hosted"}, Spec: v1alpha1.ProvisionerSpec{Driver: "hosted"}})
	ensure(&v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "v1.36.3"}, Spec: v1alpha1.ReleaseSpec{Source: v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}}}})
	if err := role.Keep(t.Context(), h.plane, rights); err != nil {
		t.Fatal(err)
	}
	h.guarded(t)
}

// guarded waits until the API server holds the guard of organizations, which it does some moments after it was told.
func (h *fixture) guarded(t *testing.T) {
	t.Helper()
	plane, err := kube.Impersonate(controlplanetest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	callers, err := plane.Client(controlplanetest.Scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := kube.WithAs(t.Context(), kube.As{User: "owner", Groups: []string{role.Group("blue", v1alpha1.RoleOwner)}})
	h.await(t, func() bool {
		o := &v1alpha1.Organization{}
		if err := h.plane.Get(ctx, client.ObjectKey{Name: "blue"}, o); err != nil {
			t.Fatal(err)
		}
		o.Spec.Quota = &v1alpha1.Quota{Clusters: ptr.To[int32](9999)}
		return apierrors.IsForbidden(callers.Update(ctx, o, client.DryRunAll))
	})
}

// users makes users and signs them in.
func (h *fixture) users(t *testing.T) {
	t.Helper()
	for _, name := range []string{"admin", "owner", "operator", "developer", "viewer", "red", "nobody"} {
		_, err := h.access.Users.Create(t.Context(), access.NewUser{Name: name, Password: secret, Admin: name == "admin"})
		if err != nil {
			t.Fatal(err)
		}
		issued, err := h.access.Passwords.SignIn(t.Context(), name, secret, access.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		h.tokens[name] = issued.Token.Reveal()
	}
}

func (h *fixture) open(t *testing.T) {
	t.Helper()
	config := controlplanetest.Config(t)
	config.QPS = -1
	h.admin = config
	plane, err := kube.Impersonate(config)
	if err != nil {
		t.Fatal(err)
	}
	cached, err := cache.New(config, cache.Options{Scheme: controlplanetest.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := Index(t.Context(), cached); err != nil {
		t.Fatal(err)
	}
	for _, o := range Kinds() {
		if _, err := cached.GetInformer(t.Context(), o, cache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
	}
	h.cached = cached
	go func() { _ = cached.Start(t.Context()) }()
	if !cached.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache is not filled")
	}
	signs, err := issuer.New(issuer.Config{URL: "https://issuer.kqueen.internal", Base: "https://127.0.0.1:8443/issuer", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signs.Renew(nil, func([]byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	h.agents = tunnel.NewSessions(8, time.Now, func(string) {})
	h.api, err = New(Config{
		Agents: Agents{Sessions: h.agents, Pin: func() string { return "PIN" }, Image: "registry.example/kqueen-agent:test"},
		Issuer: signs, Answers: h.answers, ClusterLog: h.clusterLog, Addons: someAddons{cached}, Adopted: someAdopted{}, Inventory: &fleet.Store{Rows: &h.observed, Comparisons: &h.observed},
		Reach: h.asked.reach(t), DryRun: dryRun, Lead: h.lead, Ended: h.ended, Address: func() (string, []byte) { return "https://192.0.2.1:8443", config.CAData },
		Plane: plane, Own: h.plane, Cache: cached, Access: h.access, Audit: h.audit, Limits: organization.NewLimits(cached, h.plane, time.Now),
		Key: h.key, Version: "test", Log: slog.New(slog.NewTextHandler(&h.said, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: time.Now, Ready: h.isReady,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Server = httptest.NewServer(answered.recorded(h.api))
	t.Cleanup(func() { h.api.Close(); h.Server.Close() })
	h.openSocket(t)
}

func (h *fixture) isReady(context.Context) error {
	if h.starting.Load() {
		return errors.New("KQueen starts")
	}
	return nil
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) problem(t *testing.T) rest.Problem {
	t.Helper()
	var p rest.Problem
	if err := json.Unmarshal(a.body, &p); err != nil || a.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%d %s is no problem: %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	return p
}

func (a answer) object(t *testing.T) rest.Object {
	t.Helper()
	var o rest.Object
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Fatalf("%d is no object: %s", a.status, a.body)
	}
	return o
}

// do makes a request as a caller; headers are pairs.
func (h *fixture) do(ctx context.Context, t *testing.T, who, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, h.urlOf(who)+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	if token := h.tokens[who]; token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.clientOf(who).Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, data}
}

func TestObjects(t *testing.T) {
	h := newFixture(t)
	ctx := t.Context()
	const clusters = "/api/v1/organizations/blue/clusters"
	made := h.do(ctx, t, "operator", "POST", clusters, `{"name":"demo","labels":{"env":"test"},"spec":{"version":"v1.36.3"}}`)
	if made.status != http.StatusCreated || made.header.Get("Location") != clusters+"/demo" || made.header.Get("ETag") == "" {
		t.Fatalf("create: %d %v %s", made.status, made.header, made.body)
	}
	got := h.do(ctx, t, "viewer", "GET", clusters+"/demo", "")
	if o := got.object(t); got.status != http.StatusOK || o.Kind != "Cluster" || o.Organization != "blue" || o.Name != "demo" || o.UID == "" {
		t.Fatalf("get: %d %s", got.status, got.body)
	}
	etag := got.header.Get("ETag")
	if a := h.do(ctx, t, "viewer", "GET", clusters+"/demo", "", "If-None-Match", etag); a.status != http.StatusNotModified || len(a.body) > 0 {
		t.Errorf("unchanged: %d %s", a.status, a.body)
	}
	const merge = "application/merge-patch+json"
	if a := h.do(ctx, t, "operator", "PATCH", clusters+"/demo", `{"labels":{"env":null}}`, "Content-Type", merge); a.status != http.StatusPreconditionRequired {
		t.Errorf("patch without If-Match: %d %s", a.status, a.body)
	}
	if a := h.do(ctx, t, "operator", "PATCH", clusters+"/demo", `{"labels":{"env":null}}`, "Content-Type", merge, "If-Match", `"1"`); a.status != http.StatusPreconditionFailed {
		t.Errorf("patch of what has changed: %d %s", a.status, a.body)
	}
	a := h.do(ctx, t, "operator", "PATCH", clusters+"/demo", `{"labels":{"env":null,"tier":"web"}}`, "Content-Type", merge, "If-Match", etag)
	if o := a.object(t); a.status != http.StatusOK || o.Labels["tier"] != "web" || o.Labels["env"] != "" {
		t.Errorf("patch: %d %s", a.status, a.body)
	}
	if a := h.do(ctx, t, "viewer", "DELETE", clusters+"/demo", "", "If-Match", "*"); a.status != http.StatusForbidden || a.problem(t).Code != rest.CodeForbidden {
		t.Errorf("delete as a viewer: %d %s", a.status, a.body)
	}
	if a := h.do(ctx, t, "operator", "DELETE", clusters+"/demo", "", "If-Match", "*"); a.status != http.StatusAccepted {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	if a := h.do(ctx, t, "operator", "GET", clusters+"/demo", ""); a.status != http.StatusNotFound {
		t.Errorf("get what is gone: %d %s", a.status, a.body)
	}
}
