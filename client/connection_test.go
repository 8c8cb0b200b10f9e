package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWhoIsTrusted connects to real servers. A server that is not trusted must not see a request, least of all its token.
func TestWhoIsTrusted(t *testing.T) {
	ours, theirs := newAuthority(t, "kqueen"), newAuthority(t, "kqueen")
	renewed := ours.renewed(t)
	alone, with := ours.chain(t, nil), ours.chain(t, []*authority{ours})
	expired := ours.chain(t, []*authority{ours}, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	named := ours.chain(t, []*authority{ours}, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} })
	client := ours.chain(t, []*authority{ours}, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	ca, pin := Connection{CA: ours.pem()}, Connection{CAPin: Pin(ours.cert)}
	const good, changed, other = "good", "changed", "other"
	tests := map[string]struct {
		reason string
		served tls.Certificate
		trust  Connection
		want   string
	}{
		"CA":                 {"", alone, ca, good},
		"CAInChain":          {"", with, ca, good},
		"Pin":                {"", with, pin, good},
		"PinUpperCase":       {"", with, Connection{CAPin: "sha256:" + strings.ToUpper(Pin(ours.cert)[7:])}, good},
		"PinAndCA":           {"", alone, Connection{CAPin: Pin(ours.cert), CA: ours.pem()}, good},
		"SecondOfTwo":        {"While an authority changes, both are trusted.", alone, Connection{CA: append(theirs.pem(), ours.pem()...)}, good},
		"Renewed":            {"The key is the same.", renewed.chain(t, []*authority{renewed}), pin, good},
		"RenewedCA":          {"The key is the same.", renewed.chain(t, []*authority{renewed}), ca, good},
		"OtherCA":            {"Its name is the same, its key is not.", theirs.chain(t, []*authority{theirs}), ca, changed},
		"OtherPin":           {"", theirs.chain(t, []*authority{theirs}), pin, changed},
		"PinShown":           {"A server that sends our authority along has no certificate of it yet.", theirs.chain(t, []*authority{ours}), pin, changed},
		"PinShownLast":       {"", theirs.chain(t, []*authority{theirs, ours}), pin, changed},
		"PinWithoutCA":       {"There is nothing to compare.", alone, pin, changed},
		"PinChoosesOne":      {"The other one in the file is not trusted.", theirs.chain(t, []*authority{theirs}), Connection{CAPin: Pin(ours.cert), CA: append(theirs.pem(), ours.pem()...)}, changed},
		"SystemOnly":         {"Nothing is pinned, and no system knows our authority.", with, Connection{}, other},
		"Expired":            {"", expired, pin, other},
		"OtherName":          {"", named, pin, other},
		"OtherNameOfCA":      {"", named, ca, other},
		"ClientsCertificate": {"A user of the installation is not its server.", client, pin, other},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			server := serve(t, tc.served, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
			tc.trust.Server = server.URL
			c := newClient(t, Config{Connection: tc.trust})
			c.wait = func(context.Context, time.Duration) error { t.Error("it was tried again"); return nil }
			err := c.Call(t.Context(), Request{Method: http.MethodGet, Path: "/"}, nil)
			changedError, isChanged := errors.AsType[*PinError](err)
			got := other
			switch {
			case err == nil:
				got = good
			case isChanged:
				got = changed
			}
			if got != tc.want || (calls.Load() > 0) != (tc.want == good) {
				t.Errorf("%s want %s, got %s after %d calls: %v", tc.reason, tc.want, got, calls.Load(), err)
			}
			if isChanged && (!strings.Contains(err.Error(), changedError.Want) || !strings.Contains(err.Error(), changedError.Got) || changedError.Server != server.URL) {
				t.Errorf("the error does not name both: %v", err)
			}
		})
	}
}

func TestFirstContact(t *testing.T) {
	ours, theirs := newAuthority(t, "kqueen"), newAuthority(t, "other")
	var calls atomic.Int32
	server := serve(t, ours.chain(t, []*authority{ours}), func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	met, err := FirstContact(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if pin, err := PinOf(ours.pem()); pin != Pin(ours.cert) || err != nil {
		t.Errorf("the fingerprint of what is on disk is %s, %v", pin, err)
	}
	if pin, err := PinOf([]byte("no certificate")); pin != "" || err == nil {
		t.Errorf("the fingerprint of nothing is %s", pin)
	}
	if met.Pin != Pin(ours.cert) || !bytes.Equal(met.CA, ours.pem()) || met.Subject != "CN=kqueen" || !met.NotAfter.Equal(ours.cert.NotAfter) || met.Known {
		t.Errorf("want our authority, got %+v", met)
	}
	if calls.Load() != 0 {
		t.Error("a request was sent")
	}
	for _, trust := range []Connection{{Server: server.URL, CA: met.CA}, {Server: server.URL, CAPin: met.Pin}} {
		if err := newClient(t, Config{Connection: trust}).Call(t.Context(), Request{Method: http.MethodGet, Path: "/"}, nil); err != nil {
			t.Errorf("what was met is not trusted afterwards: %v", err)
		}
	}
	liar := serve(t, theirs.chain(t, []*authority{ours}), func(http.ResponseWriter, *http.Request) {})
	if met, err := FirstContact(t.Context(), liar.URL); err == nil {
		t.Errorf("a server shows an authority that did not sign for it: got %+v", met)
	}
}

func TestConnectionNamesTheFieldThatIsWrong(t *testing.T) {
	ours, theirs := newAuthority(t, "a"), newAuthority(t, "b")
	good := Connection{Server: "https://kqueen.test"}
	with := func(change func(*Connection)) Connection { c := good; change(&c); return c }
	tests := map[string]struct {
		connection Connection
		want       string
	}{
		"Good":      {good, ""},
		"Path":      {with(func(c *Connection) { c.Server = "https://kqueen.test/kqueen" }), ""},
		"PlainHTTP": {with(func(c *Connection) { c.Server = "http://kqueen.test" }), "server:"},
		"NoServer":  {with(func(c *Connection) { c.Server = "" }), "server:"},
		"Password":  {with(func(c *Connection) { c.Server = "https://a:hunter2@kqueen.test" }), "server:"},
		"CA":        {with(func(c *Connection) { c.CA = []byte("x") }), "ca:"},
		"CAPin":     {with(func(c *Connection) { c.CAPin = "sha256:12" }), "caPin:"},
		"PinNoHash": {with(func(c *Connection) { c.CAPin = strings.Repeat("0", 64) }), "caPin:"},
		"PinOfNone": {with(func(c *Connection) { c.CA, c.CAPin = ours.pem(), Pin(theirs.cert) }), "ca:"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(Config{Connection: tc.connection})
			if (err != nil) != (tc.want != "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("want an error of %q, got %v", tc.want, err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a password: %v", err)
			}
		})
	}
}
