package controlplane

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/runner"
)

// TestSizes: a larger control plane gets more of everything, and one of KQueen's own has no limit.
func TestSizes(t *testing.T) {
	type got struct {
		Memory, Share      int64
		Inflight, Mutating string
		Essential          bool
	}
	cases := map[string]struct {
		change func(*Description)
		want   got
	}{
		"nothing is said": {func(*Description) {}, got{3072 << 20, 160, "200", "100", false}},
		"small":           {func(d *Description) { d.Size = v1alpha1.ControlPlaneSmall }, got{1536 << 20, 80, "100", "50", false}},
		"medium":          {func(d *Description) { d.Size = v1alpha1.ControlPlaneMedium }, got{3072 << 20, 160, "200", "100", false}},
		"large":           {func(d *Description) { d.Size = v1alpha1.ControlPlaneLarge }, got{8192 << 20, 320, "400", "200", false}},
		"KQueen's own":    {func(d *Description) { d.Own = true }, got{0, 800, "", "", true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := description(t)
			tc.change(&d)
			w, err := Describe(d)
			if err != nil {
				t.Fatal(err)
			}
			if !w.Unprivileged {
				t.Error("it has privileges")
			}
			have := got{
				Inflight: argument(w.Components[0], "--max-requests-inflight="), Mutating: argument(w.Components[0], "--max-mutating-requests-inflight="),
				Essential: w.Essential,
			}
			for _, c := range w.Components {
				have.Memory += c.Resources.Limits.Memory
				have.Share += c.Resources.Requests.MilliCPU
				collects := slices.ContainsFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "GOMEMLIMIT=") })
				if collects != (c.Resources.Limits.Memory > 0) {
					t.Errorf("%s of %d bytes has the environment %v", c.Name, c.Resources.Limits.Memory, c.Env)
				}
			}
			if diff := cmp.Diff(tc.want, have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReaches: what the components connect to is known by address, or it is not limited.
func TestReaches(t *testing.T) {
	store, issuer := netip.MustParseAddrPort("127.0.0.1:2379"), netip.MustParseAddrPort("192.0.2.1:8443")
	cases := map[string]struct {
		change func(*Description)
		want   []netip.AddrPort
	}{
		"a store and an issuer":       {func(d *Description) { d.Store.Endpoints = d.Store.Endpoints[:1] }, []netip.AddrPort{store, issuer}},
		"no issuer":                   {func(d *Description) { d.Store.Endpoints, d.Issuer = d.Store.Endpoints[:1], nil }, []netip.AddrPort{store}},
		"a store by name":             {func(d *Description) { d.Store.Endpoints = []string{"https://etcd.example:2379"} }, nil},
		"an issuer at the usual port": {func(d *Description) { d.Store.Endpoints = nil; d.Issuer.DiscoveryURL = "https://[2001:db8::1]/keys" }, []netip.AddrPort{netip.MustParseAddrPort("[2001:db8::1]:443")}},
		"without an egress":           {func(d *Description) { d.Cluster = "" }, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := description(t)
			tc.change(&d)
			if got := d.reaches(); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// argument is what follows a prefix among a component's arguments.
func argument(c runner.Component, prefix string) string {
	for _, a := range c.Args {
		if value, ok := strings.CutPrefix(a, prefix); ok {
			return value
		}
	}
	return ""
}
