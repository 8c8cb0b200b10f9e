package controlplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/hosting/runner/process"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/tenancy/issuer"
)

// patience bounds every wait. The machine of a test may be slow; the work itself takes seconds.
const patience = time.Minute

// issuerServer serves the issuer's keys, over real TLS. While it is shut, connections end without an answer.
type issuerServer struct {
	*httptest.Server

	inner atomic.Pointer[http.Handler]
	open  atomic.Bool
}

func newIssuerServer(t *testing.T) *issuerServer {
	t.Helper()
	d := &issuerServer{}
	d.Server = httptest.NewUnstartedServer(http.StripPrefix("/issuer", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.open.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path == pathElsewhere {
			t.Error("an API server asked where a token told it to")
		}
		(*d.inner.Load()).ServeHTTP(brief{w}, r)
	})))
	d.EnableHTTP2 = false
	d.StartTLS()
	t.Cleanup(d.Close)
	return d
}

func (d *issuerServer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw})
}

// brief lets an API server remember the keys for a second, where the issuer says a minute: upstream asks again 30
// seconds before they expire.
type brief struct{ http.ResponseWriter }

// WriteHeader shortens what may be remembered.
func (b brief) WriteHeader(code int) {
	b.Header().Set("Cache-Control", "max-age=31")
	b.ResponseWriter.WriteHeader(code)
}

func (b brief) Write(data []byte) (int, error) {
	b.Header().Set("Cache-Control", "max-age=31")
	return b.ResponseWriter.Write(data)
}

// signer is an issuer whose clock the test moves, and its file.
type signer struct {
	*issuer.Issuer
	now  time.Time
	file []byte
}

func newSigner(t *testing.T, url, base string, now time.Time) *signer {
	t.Helper()
	s := &signer{now: now}
	i, err := issuer.New(issuer.Config{URL: url, Base: base, Now: func() time.Time { return s.now }})
	if err != nil {
		t.Fatal(err)
	}
	s.Issuer = i
	return s
}

// renew returns when there is something to renew again.
func (s *signer) renew(t *testing.T) time.Time {
	t.Helper()
	next, err := s.Renew(s.file, func(data []byte) error { s.file = data; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func (s *signer) sign(t *testing.T, audience string, groups ...string) string {
	t.Helper()
	token, _, err := s.Sign(issuer.Claims{Subject: "alice", UID: "u-1", Groups: groups, Audience: audience, ID: "credential-1"})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// forge signs whatever it is told with the issuer's own first key: what a fault in the issuer would be.
func (s *signer) forge(t *testing.T, claims map[string]any) string {
	t.Helper()
	var stored struct {
		Keys []struct {
			ID      string `json:"id"`
			Private []byte `json:"private"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(s.file, &stored); err != nil {
		t.Fatal(err)
	}
	private, err := x509.ParsePKCS8PrivateKey(stored.Keys[0].Private)
	if err != nil {
		t.Fatal(err)
	}
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: stored.Keys[0].ID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := made.Sign(data)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// tenant is a control plane that runs: what Describe says, over a real etcd, by the real runner.
type tenant struct {
	Description

	supervisor *supervise.Supervisor
	runner     *process.Runner
	place      runner.Place
	calls      *http.Client
}

// newTenant prepares a control plane that trusts an issuer, and starts its etcd.
func newTenant(t *testing.T, trusted TokenIssuer) *tenant {
	t.Helper()
	controlplanetest.Real(t)
	kubernetes, err := controlplanetest.Kubernetes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := &tenant{Description: description(t)}
	if made.supervisor, err = supervise.New(supervise.Config{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	made.runner = process.New(made.supervisor, func(p runner.Program) (process.Program, error) {
		return process.Program{Path: kubernetes.Path(p.Name), HandsOver: kubernetes.HandsOver}, nil
	})
	t.Cleanup(func() { made.stop(t) })
	set, err := pki.Store(pki.StoreParams{Name: "default"})
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := pki.Issue(nil, set, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	keyspace, err := datastore.NewKeyspace(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	made.AdvertiseAddress = netip.MustParseAddr("192.0.2.1")
	if set, err = pki.ControlPlane(pki.ControlPlaneParams{
		UID: made.ID, DNSDomain: made.Network.DNSDomain, ServiceCIDR: made.Network.ServiceCIDR, SNIHost: made.ServerName,
		StoreAuthority: storeAuthority, StoreUser: keyspace.User(),
	}); err != nil {
		t.Fatal(err)
	}
	if made.Keys, _, err = pki.Issue(nil, set, store.Signer("ca", storeAuthority), time.Now()); err != nil {
		t.Fatal(err)
	}
	if made.place, err = made.runner.Reserve(t.Context(), made.ID, Ports()); err != nil {
		t.Fatal(err)
	}
	made.Store = StoreAccess{Endpoints: []string{made.etcd(t, store)}, CA: store["ca.crt"], Keyspace: keyspace}
	made.Version, made.Issuer = kubernetes.Version.String(), &trusted
	// Of the controllers, only the one that fills in what "view" and "edit" are is needed.
	made.WithoutScheduler, made.Controllers = true, []string{"clusterrole-aggregation"}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(made.Keys["ca.crt"])
	made.calls = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}}
	t.Cleanup(made.calls.CloseIdleConnections)
	return made
}

// etcd starts a data store and returns its endpoint.
func (n *tenant) etcd(t *testing.T, keys pki.Bundle) string {
	t.Helper()
	program, err := controlplanetest.Kqueen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	place, err := n.supervisor.Reserve(t.Context(), "store", []string{"client", "peer", "http"})
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(place.Dir, name) }
	args, err := datastore.ServerArgs(datastore.ServerConfig{
		Name: "default", DataDir: filepath.Join(t.TempDir(), "etcd"),
		ClientPort: place.Port["client"], PeerPort: place.Port["peer"], HTTPPort: place.Port["http"],
		CertFile: file("server.crt"), KeyFile: file("server.key"), ClientCAFile: file("ca.crt"),
		PeerCertFile: file("peer.crt"), PeerKeyFile: file("peer.key"), PeerCAFile: file("peer-ca.crt"),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := supervise.Workload{ID: "store", Files: map[string]supervise.File{}, Components: []supervise.Component{{Name: "etcd", Path: program, Args: append([]string{"etcd"}, args...)}}}
	for name, data := range keys {
		w.Files[name] = supervise.File{Data: data}
	}
	if err := n.supervisor.Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return "https://127.0.0.1:" + strconv.Itoa(place.Port["client"])
}

// apply runs what is described, or brings it up to date, and returns when it is ready. It returns the process of the
// API server.
func (n *tenant) apply(t *testing.T) int {
	t.Helper()
	w, err := Describe(n.Description)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.runner.Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	var status health.Status
	defer func() {
		for _, c := range status.Components {
			if t.Failed() {
				t.Logf("%s is %s: %s", c.Name, c.State, c.Trouble())
				if c.LastExit != nil {
					t.Log(c.LastExit.Log)
				}
			}
		}
	}()
	eventually(t, "the control plane is ready", func() bool {
		status, err = n.runner.Status(t.Context(), n.ID)
		return err == nil && status.Ready()
	})
	processes, err := n.supervisor.Status(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	server, ok := processes.Component(APIServer)
	if !ok {
		t.Fatal("there is no API server")
	}
	return server.PID
}

// stop ends everything: programs of this runner outlive it otherwise.
func (n *tenant) stop(t *testing.T) {
	t.Helper()
	for _, id := range []string{n.ID, "store"} {
		eventually(t, id+" is removed", func() bool {
			gone, err := n.supervisor.Remove(context.WithoutCancel(t.Context()), id, 0)
			return err == nil && gone
		})
	}
	if err := n.supervisor.Close(); err != nil {
		t.Error(err)
	}
}

// admin is the administrator of the control plane.
func (n *tenant) admin(t *testing.T) client.Client {
	t.Helper()
	kubeconfig, err := pki.Kubeconfig(pki.KubeconfigParams{
		Cluster: "demo", Context: "demo", User: "admin", Server: LocalServer(n.place),
		CA: n.Keys["ca.crt"], ClientCert: n.Keys["admin.crt"], ClientKey: n.Keys["admin.key"],
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := kube.NewRemotes(nil, controlplanetest.Scheme(t), "test").Direct(n.ID, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// call calls the API server with a token. body is the JSON of what is to be created; empty to get.
func (n *tenant) call(t *testing.T, token, path, body string) (int, []byte) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, LocalServer(n.place)+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := n.calls.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, data
}

// eventually asks until it is true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s", patience, what)
		case <-tick.C:
		}
	}
}
