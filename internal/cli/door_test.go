//go:build linux

package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	kqueenclient "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/access"
	"kqueen.io/kqueen/internal/audit"
	"kqueen.io/kqueen/internal/database"
	"kqueen.io/kqueen/internal/idempotency"
	"kqueen.io/kqueen/internal/issuer"
	"kqueen.io/kqueen/internal/kube"
	organizations "kqueen.io/kqueen/internal/organization"
	"kqueen.io/kqueen/internal/pki"
	"kqueen.io/kqueen/internal/role"
	"kqueen.io/kqueen/internal/server"
	"kqueen.io/kqueen/internal/testplane"
)

// doors makes doors over the plane, one for each script that wants one.
type doors struct {
	t      *testing.T
	cached cache.Cache
}

const goodPassword = "correct horse battery"

// newDoors fills a cache of the plane, which all doors share.
func newDoors(t *testing.T) *doors {
	t.Helper()
	cached, err := cache.New(testplane.Config(t), cache.Options{Scheme: testplane.Scheme(t)})
	if err != nil {
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
	return &doors{t: t, cached: cached}
}

// open is the script command "door [USER=ROLE]...": it starts a door for the script's organization, with users of those
// roles there; "admin" as a role makes an administrator of the installation. All have the password in the file
// "password". Without users, $SETUP is the token that makes the first one. $DOOR is the URL, $PIN the fingerprint of the
// authority and ca.pem the authority. From then on nothing reaches the plane as its owner.
func (d *doors) open(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: door [USER=ROLE]...")
	}
	db, err := database.Open(d.t.Context(), database.FileURL(ts.MkAbs("kqueen.db")))
	ts.Check(err)
	ts.Defer(func() { _ = db.Close() })
	identities, err := access.Open(d.t.Context(), access.Config{DB: db})
	ts.Check(err)
	log, err := audit.Open(d.t.Context(), db, bytes.Repeat([]byte{7}, 32))
	ts.Check(err)
	answers, err := idempotency.Open(d.t.Context(), db, bytes.Repeat([]byte{8}, 32))
	ts.Check(err)
	d.people(ts, identities, args)
	signs, err := issuer.New(issuer.Config{URL: "https://issuer.kqueen.internal", Base: "https://127.0.0.1:8443/issuer", Now: time.Now})
	ts.Check(err)
	_, err = signs.Renew(nil, func([]byte) error { return nil })
	ts.Check(err)
	config := testplane.Config(d.t)
	config.QPS = -1
	callers, err := kube.Impersonating(config, testplane.Scheme(d.t))
	ts.Check(err)
	handler, err := server.New(server.Config{
		Callers: callers, Own: testplane.Client(d.t), Cache: d.cached, Access: identities, Audit: log, Issuer: signs, Answers: answers,
		Limits: organizations.NewLimits(d.cached, time.Now), Key: bytes.Repeat([]byte{9}, 32), Version: "test",
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	ts.Check(err)
	d.serve(ts, handler)
	ts.Setenv(dataDirVariable, "")
	ts.Check(os.WriteFile(ts.MkAbs("password"), []byte(goodPassword+"\n"), 0o600))
}

// people makes the organization and its users, or a token for the first one.
func (d *doors) people(ts *testscript.TestScript, identities *access.Service, args []string) {
	o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: ts.Getenv(organizationVariable)}}
	for _, arg := range args {
		name, as, _ := strings.Cut(arg, "=")
		_, err := identities.CreateUser(d.t.Context(), access.NewUser{Name: name, Password: goodPassword, Admin: as == "admin"})
		ts.Check(err)
		if as != "admin" {
			o.Spec.Members = append(o.Spec.Members, v1alpha1.Member{User: name, Role: v1alpha1.Role(as)})
		}
	}
	plane := testplane.Client(d.t)
	ts.Check(plane.Create(d.t.Context(), o))
	rights := append(append(role.Shared(), role.Guard()...), role.Bindings(o)...)
	ts.Check(role.Keep(d.t.Context(), plane, rights))
	d.seen(ts, o)
	if len(args) > 0 {
		return
	}
	setup, err := identities.SetupToken(d.t.Context())
	ts.Check(err)
	ts.Setenv("SETUP", setup.Token.Reveal())
}

// seen waits until the cache has an organization.
func (d *doors) seen(ts *testscript.TestScript, o *v1alpha1.Organization) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for d.cached.Get(d.t.Context(), client.ObjectKeyFromObject(o), &v1alpha1.Organization{}) != nil {
		select {
		case <-d.t.Context().Done():
			ts.Fatalf("the cache does not see the organization")
		case <-ticker.C:
		}
	}
}

// serve serves as the program does: by a certificate whose authority goes along.
func (d *doors) serve(ts *testscript.TestScript, handler *server.Server) {
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "kqueen-door", Lifetime: time.Hour}},
		Leaves: []pki.Leaf{{
			Name: "door", Authority: "ca", CommonName: "kqueen-door", Usage: pki.Server, IPs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, Lifetime: time.Hour,
		}},
	}, nil, time.Now())
	ts.Check(err)
	certificate, err := tls.X509KeyPair(keys["door.crt"], keys["door.key"])
	ts.Check(err)
	block, _ := pem.Decode(keys["ca.crt"])
	authority, err := x509.ParseCertificate(block.Bytes)
	ts.Check(err)
	certificate.Certificate = append(certificate.Certificate, block.Bytes)
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // doors are left on purpose
	s.StartTLS()
	ts.Defer(func() { handler.Close(); s.Close() })
	ts.Setenv("DOOR", s.URL)
	ts.Setenv("PIN", kqueenclient.Pin(authority))
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), keys["ca.crt"], 0o600))
}

// TestClientAndDocument wants every operation that the client has to be one of the API, by the same method and path.
func TestClientAndDocument(t *testing.T) {
	handler, err := server.New(server.Config{
		Own: testplane.Client(t), Key: bytes.Repeat([]byte{9}, 32), Version: "test", Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Issuer: must(issuer.New(issuer.Config{URL: "https://issuer.kqueen.internal", Base: "https://127.0.0.1:8443/issuer", Now: time.Now}))(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for path, item := range handler.OpenAPI().Paths {
		if item.Get != nil {
			documented[item.Get.OperationID] = "GET " + path
		}
		if item.Post != nil {
			documented[item.Post.OperationID] = "POST " + path
		}
		if item.Patch != nil {
			documented[item.Patch.OperationID] = "PATCH " + path
		}
		if item.Delete != nil {
			documented[item.Delete.OperationID] = "DELETE " + path
		}
	}
	for _, o := range kqueenclient.Operations() {
		if got, want := o.Method+" /api/v1"+o.Path, documented[o.ID]; got != want {
			t.Errorf("%s: the client calls %q, the document says %q", o.ID, got, want)
		}
	}
}

// must is for calls of which a test needs the result.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
