//go:build linux

package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	kqueenclient "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/clusters/tunnel"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server"
	"kqueen.io/kqueen/internal/server/fleet"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/issuer"
	organizations "kqueen.io/kqueen/internal/tenancy/organization"
	"kqueen.io/kqueen/internal/tenancy/role"
	"kqueen.io/kqueen/internal/workers/prepare"
)

const goodPassword = "correct horse battery"

// servers serve the REST API over the plane: one of them to the owner in all scripts, and one of its own to each script
// that has users.
type servers struct {
	t      *testing.T
	cached cache.Cache
	owners *served
}

// served is one server, and the users that it knows.
type served struct {
	*server.Server

	identities *access.Service
}

// newServers fills a cache of the plane, which all servers share, and makes the one of the owner.
func newServers(t *testing.T) *servers {
	t.Helper()
	cached, err := cache.New(controlplanetest.Config(t), cache.Options{Scheme: controlplanetest.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Index(t.Context(), cached); err != nil {
		t.Fatal(err)
	}
	for _, kind := range server.Kinds() {
		if _, err := cached.GetInformer(t.Context(), kind, cache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _ = cached.Start(t.Context()) }()
	if !cached.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache is not filled")
	}
	// What all servers share is made once: scripts run side by side.
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if err := client.IgnoreAlreadyExists(controlplanetest.Client(t).Create(t.Context(), system)); err != nil {
		t.Fatal(err)
	}
	if err := role.Keep(t.Context(), controlplanetest.Client(t), append(role.Shared(), role.Guard()...)); err != nil {
		t.Fatal(err)
	}
	s := &servers{t: t, cached: cached}
	if s.owners, err = s.open(t.TempDir(), t.Cleanup); err != nil {
		t.Fatal(err)
	}
	return s
}

// open makes a server that keeps its users in a folder.
func (s *servers) open(dir string, after func(func())) (*served, error) {
	ctx := s.t.Context()
	db, err := database.Open(ctx, database.FileURL(filepath.Join(dir, "kqueen.db")))
	if err != nil {
		return nil, err
	}
	after(func() { _ = db.Close() })
	identities, err := access.Open(ctx, access.Config{DB: db})
	if err != nil {
		return nil, err
	}
	log, err := audit.Open(ctx, db, bytes.Repeat([]byte{7}, 32))
	if err != nil {
		return nil, err
	}
	answers, err := idempotency.Open(ctx, db, bytes.Repeat([]byte{8}, 32))
	if err != nil {
		return nil, err
	}
	signs, err := issuer.New(issuer.Config{URL: "https://issuer.kqueen.internal", Base: "https://127.0.0.1:8443/issuer", Now: time.Now})
	if err == nil {
		_, err = signs.Renew(nil, func([]byte) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	config := controlplanetest.Config(s.t)
	config.QPS = -1
	plane, err := kube.Impersonate(config)
	if err != nil {
		return nil, err
	}
	lists := fresh{controlplanetest.Client(s.t), s.cached}
	authority, _, err := cert.GenerateSelfSignedCertKey("kqueen.example", nil, nil)
	if err != nil {
		return nil, err
	}
	handler, err := server.New(server.Config{
		Plane: plane, Own: controlplanetest.Client(s.t), Cache: lists, Access: identities, Audit: log, Issuer: signs, Answers: answers,
		Limits: organizations.NewLimits(lists, lists, time.Now), Addons: prepare.New(prepare.Config{Settings: lists, Releases: release.NewStore(filepath.Join(dir, "releases")), Images: prepare.Upstream}), Key: bytes.Repeat([]byte{9}, 32), Version: "test",
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Adopted:    adopting(s.t, config),
		Agents:     server.Agents{Sessions: tunnel.NewSessions(8, time.Now, func(string) {}), Pin: func() string { return "PIN" }},
		Address:    func() (string, []byte) { return "https://kqueen.example", authority },
		Inventory:  &fleet.Store{Rows: observed{}, Comparisons: observed{}},
		Reach:      answering(s.t),
		ClusterLog: func(context.Context, types.UID) (*os.Root, error) { return nil, os.ErrNotExist },
	})
	if err != nil {
		return nil, err
	}
	after(handler.Close)
	return &served{handler, identities}, nil
}

// fresh reads from the plane itself, so that what scripts make beside the server is seen at once. Only who belongs to which
// organization comes from the cache, which has an index for that.
type fresh struct {
	client.Reader

	cached client.Reader
}

// List implements client.Reader.
func (f fresh) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.OrganizationList); ok {
		return f.cached.List(ctx, list, options...)
	}
	return f.Reader.List(ctx, list, options...)
}

// organization makes an organization with its namespace, and returns when the servers know it.
func (s *servers) organization(name string) error {
	plane, ctx := controlplanetest.Client(s.t), s.t.Context()
	o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreAlreadyExists(plane.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.OwnedNamespace()}})); err != nil {
		return err
	}
	if err := plane.Create(ctx, o); err != nil {
		return err
	}
	return s.seen(o)
}

// seen waits until the cache has an organization as it is.
func (s *servers) seen(o *v1alpha1.Organization) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		known := &v1alpha1.Organization{}
		if s.cached.Get(s.t.Context(), client.ObjectKeyFromObject(o), known) == nil && known.ResourceVersion == o.ResourceVersion {
			return nil
		}
		select {
		case <-s.t.Context().Done():
			return errors.New("the cache does not see the organization")
		case <-ticker.C:
		}
	}
}

// local serves the owner on the socket in a data directory, as the program does. A server that did so before is replaced.
func (s *servers) local(dir string, by *served, after func(func())) error {
	l, err := socket.Listen(filepath.Join(dir, "api.sock"), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	h := &http.Server{Handler: by, ConnContext: socket.With, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.Serve(l) }()
	after(func() { _ = h.Close() })
	return nil
}

// command is the script command "server [USER=ROLE]...": it starts a server for the script's organization, with users of
// those roles there; "admin" as a role makes an administrator of the installation. All have the password in the file
// "password". Without users, $SETUP is the token that makes the first one. $SERVER is the URL, $PIN the fingerprint of the
// authority and ca.pem the authority. The owner has the same server by --data-dir data, and from then on by nothing else.
func (s *servers) command(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: server [USER=ROLE]...")
	}
	dir := ts.MkAbs(".")
	by, err := s.open(dir, ts.Defer)
	ts.Check(err)
	ts.Check(s.members(ts, by, args))
	ts.Check(s.local(filepath.Join(dir, "data"), by, ts.Defer))
	ts.Check(s.serve(ts, by))
	ts.Check(os.WriteFile(filepath.Join(dir, "password"), []byte(goodPassword+"\n"), 0o600))
	ts.Setenv(connection.DataDirVariable, "")
}

// age is the script command "age": the users of the script's server signed in long ago.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: age")
	}
	ctx := context.Background()
	db, err := database.Open(ctx, database.FileURL(ts.MkAbs("kqueen.db")))
	ts.Check(err)
	defer db.Close()
	_, err = db.ExecContext(ctx, `UPDATE access_credentials SET proved = 1`)
	ts.Check(err)
}

// members makes users and members of the organization, or a token for the first user.
func (s *servers) members(ts *testscript.TestScript, by *served, users []string) error {
	plane, ctx := controlplanetest.Client(s.t), s.t.Context()
	o := &v1alpha1.Organization{}
	if err := plane.Get(ctx, client.ObjectKey{Name: ts.Getenv(connection.OrganizationVariable)}, o); err != nil {
		return err
	}
	for _, user := range users {
		name, as, _ := strings.Cut(user, "=")
		if _, err := by.identities.Users.Create(ctx, access.NewUser{Name: name, Password: goodPassword, Admin: as == "admin"}); err != nil {
			return err
		}
		if as != "admin" {
			o.Spec.Members = append(o.Spec.Members, v1alpha1.Member{User: name, Role: v1alpha1.Role(as)})
		}
	}
	if err := plane.Update(ctx, o); err != nil {
		return err
	}
	if err := errors.Join(role.Keep(ctx, plane, role.Bindings(o)), s.seen(o)); err != nil {
		return err
	}
	if len(users) > 0 {
		return nil
	}
	setup, err := by.identities.Setup.Token(ctx)
	if err == nil {
		ts.Setenv("SETUP", setup.Token.Reveal())
	}
	return err
}

// serve serves members as the program does: by a certificate whose authority goes along.
func (s *servers) serve(ts *testscript.TestScript, by *served) error {
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "kqueen-api", Lifetime: time.Hour}},
		Leaves: []pki.Leaf{{
			Name: "api", Authority: "ca", CommonName: "kqueen-api", Usage: pki.Server, IPs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, Lifetime: time.Hour,
		}},
	}, nil, time.Now())
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(keys["api.crt"], keys["api.key"])
	if err != nil {
		return err
	}
	block, _ := pem.Decode(keys["ca.crt"])
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	certificate.Certificate = append(certificate.Certificate, block.Bytes)
	h := httptest.NewUnstartedServer(by)
	h.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	h.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // connections are left on purpose
	h.StartTLS()
	ts.Defer(func() { by.Close(); h.Close() })
	ts.Setenv("SERVER", h.URL)
	ts.Setenv("PIN", kqueenclient.Pin(authority))
	return os.WriteFile(ts.MkAbs("ca.pem"), keys["ca.crt"], 0o600)
}
