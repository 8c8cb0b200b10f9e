//go:build linux

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	reviewv1 "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"kqueen.io/kqueen/internal/platform/osthread"
)

// callAllowed: what an administrator of the installation allows to an organization its API servers call, at that port, and no other
// organization's do; and no more when that is taken back. Nothing is restarted for it.
func callAllowed(t *testing.T, i *installation, a, b *party) {
	needRoot(t)
	hook := newOutsideHook(t, i.lan())
	mine, other := clientset(t, a.config), clientset(t, b.config)
	before := i.supervised(func(workloadStatus, componentStatus) bool { return true })

	validating(t, mine, "outside.kqueen.test", hook.config(hook.listed))
	eventuallyRefused(t, mine, "outside.kqueen.test")
	for _, wrong := range []string{"127.0.0.1:443", hook.gateway.String() + ":443", "hooks.example.com:443"} {
		if r := i.kqueen("organization", "update", a.organization, "--egress-allow", wrong); r.code == 0 || !strings.Contains(r.stderr, "spec.egress.allow[0]") {
			t.Errorf("%s is allowed: %s", wrong, r.stderr)
		}
	}
	i.ok("organization", "update", a.organization, "--egress-allow", hook.listed.String())
	eventually(t, "the webhook is called", func(ctx context.Context) error {
		if err := create(ctx, mine); err != nil {
			return err
		}
		if hook.calls.Load() == 0 {
			return errors.New("it was not called")
		}
		return nil
	})

	validating(t, other, "others.kqueen.test", hook.config(hook.listed))
	eventuallyRefused(t, other, "others.kqueen.test")
	t.Run("another port", func(t *testing.T) {
		mutating(t, mine, "unlisted.kqueen.test", hook.config(hook.unlisted))
		eventuallyRefused(t, mine, "unlisted.kqueen.test")
	})
	i.ok("organization", "update", a.organization, "--egress-allow", "")
	eventuallyRefused(t, mine, "outside.kqueen.test")
	if after := i.supervised(func(workloadStatus, componentStatus) bool { return true }); !cmp.Equal(before, after) {
		t.Errorf("what runs has changed (-before +after):\n%s", cmp.Diff(before, after))
	}
	if n := hook.others.Load(); n > 0 {
		t.Errorf("the port that was not allowed was called %d times", n)
	}
}

// outsideHook is a webhook that allows everything, on a host beside this one, at two ports.
type outsideHook struct {
	*lan
	ca               []byte
	listed, unlisted netip.AddrPort
	calls, others    atomic.Int32
}

func newOutsideHook(t *testing.T, l *lan) *outsideHook {
	t.Helper()
	h := &outsideHook{lan: l}
	b := l.box()
	b.wire()
	listeners := beside(t, b)
	certificate := selfSigned(t, b.address)
	h.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	for n, counter := range []*atomic.Int32{&h.calls, &h.others} {
		server := httptest.NewUnstartedServer(allowAll(counter))
		if err := server.Listener.Close(); err != nil {
			t.Fatal(err)
		}
		server.Listener, server.TLS = listeners[n], &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		server.Config.SetKeepAlivesEnabled(false) // each call connects
		server.StartTLS()
		t.Cleanup(server.Close)
	}
	h.listed, h.unlisted = addressOf(listeners[0]), addressOf(listeners[1])
	return h
}

func addressOf(l net.Listener) netip.AddrPort { return l.Addr().(*net.TCPAddr).AddrPort() }

func (h *outsideHook) config(at netip.AddrPort) admissionv1.WebhookClientConfig {
	where := "https://" + at.String() + "/hook"
	return admissionv1.WebhookClientConfig{URL: &where, CABundle: h.ca}
}

// allowAll answers reviews of admission.
func allowAll(counter *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counter.Add(1)
		review := &reviewv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		review.Response = &reviewv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(review) // who does not hear it says so
	})
}

// beside opens two ports in a network of their own: that of a box in which no program runs.
func beside(t *testing.T, b *box) [2]net.Listener {
	t.Helper()
	peer, err := netlink.LinkByName(b.link + "p")
	if err != nil {
		t.Fatal(err)
	}
	var opened [2]net.Listener
	thread, moved, ended := make(chan int, 1), make(chan error, 1), make(chan error, 1)
	osthread.Spend(func() {
		err := unix.Unshare(unix.CLONE_NEWNET)
		thread <- unix.Gettid()
		if err = errors.Join(err, <-moved); err == nil {
			opened, err = b.listen()
		}
		ended <- err
	})
	moved <- netlink.LinkSetNsPid(peer, <-thread)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return opened
}

// listen opens two ports at the address of the box, in whose network the calling thread is.
func (b *box) listen() (opened [2]net.Listener, err error) {
	link, err := netlink.LinkByName(b.link + "p")
	if err != nil {
		return opened, err
	}
	at := &netlink.Addr{IPNet: &net.IPNet{IP: b.address.AsSlice(), Mask: net.CIDRMask(24, 32)}}
	if err := errors.Join(netlink.AddrAdd(link, at), netlink.LinkSetUp(link)); err != nil {
		return opened, err
	}
	for n := range opened {
		if opened[n], err = net.Listen("tcp", netip.AddrPortFrom(b.address, 0).String()); err != nil {
			return opened, err
		}
	}
	return opened, nil
}

// selfSigned is the certificate of a server at an address.
func selfSigned(t *testing.T, at netip.Addr) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{at.AsSlice()}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
