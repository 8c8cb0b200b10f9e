//go:build linux

package connection

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/egress"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// server is an API server of a user, and the kubeconfig for it.
func server(t *testing.T, answer http.HandlerFunc) (*Kubeconfig, netip.AddrPort) {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	text := written("server: "+s.URL+", certificate-authority-data: "+base64.StdEncoding.EncodeToString(ca), goodUser)
	k, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k, netip.MustParseAddrPort(s.Listener.Addr().String())
}

func opened(to ...netip.AddrPort) []egress.Destination {
	var all []egress.Destination
	for _, target := range to {
		all = append(all, egress.Destination{Range: netip.PrefixFrom(target.Addr(), target.Addr().BitLen()), Port: target.Port()})
	}
	return all
}

// TestGuardRefuses: what a name leads to is judged, whatever notation it has.
func TestGuardRefuses(t *testing.T) {
	own, err := egress.HostAddresses()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		addrs []string
		as    string
	}{
		"Loopback":     {[]string{"127.0.0.1"}, "loopback"},
		"LoopbackFar":  {[]string{"127.9.9.9"}, "loopback"},
		"Loopback6":    {[]string{"::1"}, "loopback"},
		"LinkLocal":    {[]string{"169.254.1.1"}, "link-local"},
		"LinkLocal6":   {[]string{"fe80::1"}, "link-local"},
		"Metadata":     {[]string{"169.254.169.254"}, "link-local"},
		"MetadataEC2":  {[]string{"fd00:ec2::254"}, "metadata"},
		"Alibaba":      {[]string{"100.100.100.200"}, "metadata"},
		"Unspecified":  {[]string{"0.0.0.0"}, "a host that has none yet"},
		"Unspecified6": {[]string{"::"}, "IPv4 addresses in IPv6"},
		"Multicast":    {[]string{"224.0.0.1"}, "groups"},
		"Broadcast":    {[]string{"255.255.255.255"}, "groups"},
		"Wrapped":      {[]string{"::ffff:127.0.0.1"}, "loopback"},
		"NAT64":        {[]string{"64:ff9b::7f00:1"}, "IPv4 addresses in IPv6"},
		"6to4":         {[]string{"2002:7f00:1::"}, "IPv4 addresses in IPv6"},
		"Machines":     {[]string{"198.51.100.9"}, "network of machines"},
		"OneOfTwo":     {[]string{"192.0.2.7", "127.0.0.1"}, "loopback"},
	}
	for i, addr := range own {
		if !addr.IsLoopback() && !addr.IsLinkLocalUnicast() {
			tests[fmt.Sprintf("Own%d", i)] = struct {
				addrs []string
				as    string
			}{[]string{addr.String()}, "KQueen's host"}
		}
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := &Guard{Machines: netip.MustParsePrefix("198.51.100.0/24"), Lookup: func(context.Context, string) ([]netip.Addr, error) {
				var all []netip.Addr
				for _, a := range tc.addrs {
					all = append(all, netip.MustParseAddr(a))
				}
				return all, nil
			}}
			conn, err := g.DialContext(t.Context(), "tcp", "cluster.example:6443")
			refused, ok := errors.AsType[*RefusedError](err)
			if !ok || conn != nil || !strings.Contains(refused.As, tc.as) || !strings.Contains(err.Error(), "--import-allow") {
				t.Errorf("got %v; want a refusal for %q", err, tc.as)
			}
			if len(tc.addrs) > 1 {
				return
			}
			if err := g.control("tcp", netip.AddrPortFrom(netip.MustParseAddr(tc.addrs[0]), 6443).String(), nil); !errors.As(err, new(*RefusedError)) {
				t.Errorf("dialed all the same: %v", err)
			}
		})
	}
}

// TestGuardOpens: a list of the administrator opens one port of the host, not its neighbour.
func TestGuardOpens(t *testing.T) {
	k, at := server(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Authorization")) })
	answers, err := (&Guard{Allowed: opened(at)}).Ask(t.Context(), k, "test", "/version")
	if err != nil || len(answers) != 1 || answers[0].Status != http.StatusOK || string(answers[0].Body) != "Bearer "+canary {
		t.Errorf("got %v, %v", answers, err)
	}
	beside := netip.AddrPortFrom(at.Addr(), at.Port()-1)
	if _, err := (&Guard{Allowed: opened(beside)}).Ask(t.Context(), k, "test", "/version"); !errors.As(err, new(*RefusedError)) {
		t.Errorf("the port beside it opens it: %v", err)
	}
}

// TestGuardOwn: what KQueen itself serves to be adopted is open, and its neighbour is not.
func TestGuardOwn(t *testing.T) {
	k, at := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	if _, err := (&Guard{Own: func(target netip.AddrPort) bool { return target == at }}).Ask(t.Context(), k, "test", "/version"); err != nil {
		t.Error(err)
	}
	beside := netip.AddrPortFrom(at.Addr(), at.Port()-1)
	_, err := (&Guard{Own: func(target netip.AddrPort) bool { return target == beside }}).Ask(t.Context(), k, "test", "/version")
	if !errors.As(err, new(*RefusedError)) {
		t.Errorf("the port beside it opens it: %v", err)
	}
}

// TestGuardRebinding: a name that leads elsewhere at its second question is judged again.
func TestGuardRebinding(t *testing.T) {
	_, at := server(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was called") })
	asked := 0
	g := &Guard{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		if asked++; asked == 1 {
			return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, nil
		}
		return []netip.Addr{at.Addr()}, nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	address := net.JoinHostPort("cluster.example", fmt.Sprint(at.Port()))
	if _, err := g.DialContext(ctx, "tcp", address); err == nil || errors.As(err, new(*RefusedError)) {
		t.Errorf("the first call goes to nowhere, and got %v", err)
	}
	if _, err := g.DialContext(t.Context(), "tcp", address); !errors.As(err, new(*RefusedError)) {
		t.Errorf("the second call got %v, want a refusal", err)
	}
}

// TestHostile: what a server does costs no more than its share, and takes KQueen nowhere.
func TestHostile(t *testing.T) {
	var elsewhere atomic.Int32
	_, other := server(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	redirect := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "https://"+other.String()+"/", code) }
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("x"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	headers := func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("a", 4096))
		}
	}
	tests := map[string]struct {
		answer http.HandlerFunc
		want   func(error) bool
	}{
		"Moved":     {redirect(301), func(err error) bool { return errors.Is(err, ErrRedirected) }},
		"Found":     {redirect(302), func(err error) bool { return errors.Is(err, ErrRedirected) }},
		"Temporary": {redirect(307), func(err error) bool { return errors.Is(err, ErrRedirected) }},
		"Permanent": {redirect(308), func(err error) bool { return errors.Is(err, ErrRedirected) }},
		"Endless":   {endless, func(err error) bool { return errors.Is(err, ErrTooLarge) }},
		"Drip":      {drip, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"Headers":   {headers, func(err error) bool { return err != nil }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			k, at := server(t, tc.answer)
			// The other server is open, too: it is the redirect that is not followed.
			config := connectionTo(t, k, &Guard{Allowed: opened(at, other)})
			by, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			within := 30 * time.Second
			if name == "Drip" {
				within = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/api", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := by.Do(req)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if !tc.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("another server was called %d times", n)
	}
}

// TestOtherHost: a client that is handed a config for one cluster sends nothing to another server.
func TestOtherHost(t *testing.T) {
	k, at := server(t, func(http.ResponseWriter, *http.Request) {})
	w, err := (&Guard{Allowed: opened(at)}).transport(k)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"https://192.0.2.7:6443/", "http://" + at.String()} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := w.RoundTrip(&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}); err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s was called", address)
		}
	}
}

// adopted is a cluster whose credentials are that kubeconfig, and the admin plane with it.
func adopted(t *testing.T, k *Kubeconfig) (*v1alpha1.Cluster, client.Client) {
	t.Helper()
	plane := controlplanetest.Client(t)
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: controlplanetest.Namespace(t, plane), Name: "demo"}}
	c.Spec.Version = "v1.36.3"
	if err := plane.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	data, err := k.Encode()
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.CredentialsSecret(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind("Cluster"))},
		},
		Data: map[string][]byte{v1alpha1.CredentialKubeconfig: data},
	}
	if err := plane.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	return c, plane
}

func connectionTo(t *testing.T, k *Kubeconfig, g *Guard) *rest.Config {
	t.Helper()
	c, plane := adopted(t, k)
	config, err := New(Config{Secrets: plane, Guard: g, Version: "test"}).Config(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestConnections: the same config until the credentials change; an adopted one has no secrets; one that is not the cluster's own
// counts for nothing.
func TestConnections(t *testing.T) {
	k, at := server(t, func(http.ResponseWriter, *http.Request) {})
	cluster, plane := adopted(t, k)
	now := time.Now()
	all := New(Config{Secrets: plane, Guard: &Guard{Allowed: opened(at)}, Version: "test", Now: func() time.Time { return now }})
	ask := func() *rest.Config {
		t.Helper()
		config, err := all.Config(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	first := ask()
	if first.BearerToken != "" || first.Transport == nil || len(first.TLSClientConfig.KeyData) > 0 {
		t.Errorf("the config has secrets, or no transport: %v", first)
	}
	now = now.Add(2 * fresh)
	if ask() != first {
		t.Error("another config, and nothing has changed")
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.CredentialsSecret()}
	change := func(f func()) {
		t.Helper()
		if err := plane.Get(t.Context(), key, secret); err != nil {
			t.Fatal(err)
		}
		f()
		if err := plane.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * fresh)
	}
	change(func() { secret.Data["other"] = []byte("x") })
	if ask() == first {
		t.Error("the same config, and the credentials are others")
	}
	change(func() {
		secret.Data[v1alpha1.CredentialKubeconfig] = []byte(written(goodServer, "exec: {command: sh}"))
	})
	if _, err := all.Config(t.Context(), cluster); err == nil || !strings.Contains(err.Error(), "users[0].user.exec") {
		t.Errorf("a Secret with a program in it: got %v", err)
	}
	change(func() { secret.OwnerReferences = nil })
	if _, err := all.Config(t.Context(), cluster); !errors.Is(err, ErrNoCredentials) {
		t.Errorf("a Secret of nothing: got %v", err)
	}
}
