//go:build linux

package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	kqueenclient "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/issuer"
	organizations "kqueen.io/kqueen/internal/tenancy/organization"
	"kqueen.io/kqueen/internal/tenancy/role"
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
	// What all doors share is made once: scripts run side by side.
	if err := role.Keep(t.Context(), controlplanetest.Client(t), append(role.Shared(), role.Guard()...)); err != nil {
		t.Fatal(err)
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
	_, err := d.start(place{ts.MkAbs("."), ts.Getenv(connection.OrganizationVariable), ts.Defer, ts.Setenv}, d.cached, args)
	ts.Check(err)
}

// place is where a script runs.
type place struct {
	dir, organization string
	after             func(func())
	setenv            func(name, value string)
}

// start starts a door in a place. lists is what it reads lists from.
func (d *doors) start(p place, lists client.Reader, users []string) (*access.Service, error) {
	ctx := d.t.Context()
	db, err := database.Open(ctx, database.FileURL(filepath.Join(p.dir, "kqueen.db")))
	if err != nil {
		return nil, err
	}
	p.after(func() { _ = db.Close() })
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
	if err := d.members(p, identities, users); err != nil {
		return nil, err
	}
	signs, err := issuer.New(issuer.Config{URL: "https://issuer.kqueen.internal", Base: "https://127.0.0.1:8443/issuer", Now: time.Now})
	if err == nil {
		_, err = signs.Renew(nil, func([]byte) error { return nil })
	}
	if err != nil {
		return nil, err
	}
	config := controlplanetest.Config(d.t)
	config.QPS = -1
	callers, err := kube.Impersonating(config, controlplanetest.Scheme(d.t))
	if err != nil {
		return nil, err
	}
	handler, err := server.New(server.Config{
		Callers: callers, Own: controlplanetest.Client(d.t), Cache: lists, Access: identities, Audit: log, Issuer: signs, Answers: answers,
		Limits: organizations.NewLimits(lists, time.Now), Key: bytes.Repeat([]byte{9}, 32), Version: "test",
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	p.setenv(connection.DataDirVariable, "")
	return identities, errors.Join(d.serve(p, handler), os.WriteFile(filepath.Join(p.dir, "password"), []byte(goodPassword+"\n"), 0o600))
}

// members makes the organization and its users, or a token for the first one.
func (d *doors) members(p place, identities *access.Service, users []string) error {
	o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: p.organization}}
	for _, user := range users {
		name, as, _ := strings.Cut(user, "=")
		if _, err := identities.Users.Create(d.t.Context(), access.NewUser{Name: name, Password: goodPassword, Admin: as == "admin"}); err != nil {
			return err
		}
		if as != "admin" {
			o.Spec.Members = append(o.Spec.Members, v1alpha1.Member{User: name, Role: v1alpha1.Role(as)})
		}
	}
	plane := controlplanetest.Client(d.t)
	if err := plane.Create(d.t.Context(), o); err != nil {
		return err
	}
	if err := errors.Join(role.Keep(d.t.Context(), plane, role.Bindings(o)), d.seen(o)); err != nil {
		return err
	}
	if len(users) > 0 {
		return nil
	}
	setup, err := identities.Setup.Token(d.t.Context())
	if err == nil {
		p.setenv("SETUP", setup.Token.Reveal())
	}
	return err
}

// seen waits until the cache has an organization.
func (d *doors) seen(o *v1alpha1.Organization) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for d.cached.Get(d.t.Context(), client.ObjectKeyFromObject(o), &v1alpha1.Organization{}) != nil {
		select {
		case <-d.t.Context().Done():
			return errors.New("the cache does not see the organization")
		case <-ticker.C:
		}
	}
	return nil
}

// serve serves as the program does: by a certificate whose authority goes along.
func (d *doors) serve(p place, handler *server.Server) error {
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "kqueen-door", Lifetime: time.Hour}},
		Leaves: []pki.Leaf{{
			Name: "door", Authority: "ca", CommonName: "kqueen-door", Usage: pki.Server, IPs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, Lifetime: time.Hour,
		}},
	}, nil, time.Now())
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(keys["door.crt"], keys["door.key"])
	if err != nil {
		return err
	}
	block, _ := pem.Decode(keys["ca.crt"])
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	certificate.Certificate = append(certificate.Certificate, block.Bytes)
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // doors are left on purpose
	s.StartTLS()
	p.after(func() { handler.Close(); s.Close() })
	p.setenv("DOOR", s.URL)
	p.setenv("PIN", kqueenclient.Pin(authority))
	return os.WriteFile(filepath.Join(p.dir, "ca.pem"), keys["ca.crt"], 0o600)
}
