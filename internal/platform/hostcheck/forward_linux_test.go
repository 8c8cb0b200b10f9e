package hostcheck

import (
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"k8s.io/utils/ptr"
)

func TestDropsForwarded(t *testing.T) {
	drop, accept := ptr.To(nftables.ChainPolicyDrop), ptr.To(nftables.ChainPolicyAccept)
	of := func(family nftables.TableFamily, table string, hook *nftables.ChainHook, policy *nftables.ChainPolicy) *nftables.Chain {
		return &nftables.Chain{Name: "FORWARD", Table: &nftables.Table{Family: family, Name: table}, Type: nftables.ChainTypeFilter, Hooknum: hook, Policy: policy}
	}
	for name, tc := range map[string]struct {
		chain *nftables.Chain
		want  bool
	}{
		"Docker's":    {of(nftables.TableFamilyIPv4, "filter", nftables.ChainHookForward, drop), true},
		"Both":        {of(nftables.TableFamilyINet, "firewall", nftables.ChainHookForward, drop), true},
		"Accepts":     {of(nftables.TableFamilyIPv4, "filter", nftables.ChainHookForward, accept), false},
		"Input":       {of(nftables.TableFamilyIPv4, "filter", nftables.ChainHookInput, drop), false},
		"IPv6":        {of(nftables.TableFamilyIPv6, "filter", nftables.ChainHookForward, drop), false},
		"KQueen's":    {of(nftables.TableFamilyINet, "kqb0123456789", nftables.ChainHookForward, drop), false},
		"No hook":     {of(nftables.TableFamilyIPv4, "filter", nil, nil), false},
		"Unspecified": {of(nftables.TableFamilyIPv4, "filter", nftables.ChainHookForward, nil), false},
	} {
		if got := dropsForwarded(tc.chain); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestNamesBridge(t *testing.T) {
	for data, want := range map[string]bool{"kqb": true, "kqb0123456789\x00\x00\x00": true, "docker0\x00": false, "": false} {
		rule := &nftables.Rule{Exprs: []expr.Any{&expr.Meta{Key: expr.MetaKeyIIFNAME}, &expr.Cmp{Data: []byte(data)}}}
		if got := namesBridge(rule); got != want {
			t.Errorf("%q: got %t", data, got)
		}
	}
}
