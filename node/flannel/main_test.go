package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestConf compares the network configuration with testdata, and writes it where another one is.
func TestConf(t *testing.T) {
	dir := t.TempDir()
	file, golden := filepath.Join(dir, "10-flannel.conflist"), filepath.Join("testdata", "conflist.golden")
	for range 2 { // the second time, one is there
		if err := writeConf(file, netip.MustParsePrefix("10.244.3.0/24"), 1450); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, got, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !json.Valid(got) {
		t.Error("it is no JSON")
	}
	wantFiles(t, dir, map[string]string{"10-flannel.conflist": "-rw-r--r--"})
	if err := writeConf(filepath.Join(dir, "none", "x"), netip.MustParsePrefix("10.244.3.0/24"), 1450); !os.IsNotExist(err) {
		t.Errorf("into a folder that is not there: %v", err)
	}
}

// wantFiles wants these files with their modes, and nothing that was written in between.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		got[entry.Name()] = info.Mode().String()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestInstallPlugins(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for file, content := range map[string]string{
		filepath.Join(from, "bridge"): "ours", filepath.Join(from, "portmap"): "ours", filepath.Join(to, "bridge"): "the machine's own",
	} {
		if err := os.WriteFile(file, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := run(t.Context(), []string{"install-plugins", from, to}); err != nil {
			t.Fatal(err)
		}
	}
	wantFiles(t, to, map[string]string{"bridge": "-rwx------", "portmap": "-rwxr-xr-x"})
	for file, want := range map[string]string{"bridge": "the machine's own", "portmap": "ours"} {
		if got, err := os.ReadFile(filepath.Join(to, file)); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", file, got, err, want)
		}
	}
	if err := run(t.Context(), []string{"install-plugins", from, filepath.Join(to, "none")}); err == nil {
		t.Error("a folder that is not there was taken")
	}
}

func TestRunRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"NoAddress": {nil, "-node-ip: "},
		"IPv6":      {[]string{"-node-ip", "fd00::1"}, "-node-ip: "},
		"NoFolders": {[]string{"install-plugins"}, "is not understood"},
		"Flag":      {[]string{"-backend", "udp"}, "not defined"},
		"Port":      {[]string{"-node-ip", "192.0.2.1", "-ready-listen", "nowhere"}, "listen for the kubelet"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestJoinRefuses: what this program does not have must not end in another network than the configuration says.
func TestJoinRefuses(t *testing.T) {
	for name, config := range map[string]subnet.Config{
		"Backend": {BackendType: "host-gw", EnableIPv4: true},
		"IPv6":    {BackendType: "vxlan", EnableIPv6: true},
		"Both":    {BackendType: "vxlan", EnableIPv4: true, EnableIPv6: true},
	} {
		if _, err := join(t.Context(), nil, nil, &config, "192.0.2.1"); err == nil || !strings.Contains(err.Error(), "is not in this program") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrefix(t *testing.T) {
	_, network, err := net.ParseCIDR("10.244.3.0/24")
	if err != nil {
		t.Fatal(err)
	}
	if got := prefix(ip.FromIPNet(network)); got.String() != "10.244.3.0/24" {
		t.Errorf("got %s", got)
	}
}

func TestReady(t *testing.T) {
	const address = "127.0.0.1:0"
	l, err := net.Listen("tcp", address) // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := listenReady(free)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	ask := func() int {
		resp, err := http.Get("http://" + free + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	before := ask()
	r.now()
	if after := ask(); before != http.StatusServiceUnavailable || after != http.StatusOK {
		t.Errorf("before: %d, after: %d", before, after)
	}
}

// TestMasquerade writes the rule into a network of its own, twice, and reads it back from the kernel.
func TestMasquerade(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root writes to a packet filter")
	}
	rules := make(chan []*nftables.Rule, 1)
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread is not to be used again
		failed <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			for range 2 {
				if err := masquerade(netip.MustParsePrefix("10.244.3.0/24"), netip.MustParsePrefix("10.244.0.0/16")); err != nil {
					return err
				}
			}
			got, err := rulesOf(table)
			rules <- got
			return err
		}()
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	got := <-rules
	if len(got) != 1 {
		t.Fatalf("%d rules, want one", len(got))
	}
	var compared []string
	last := ""
	for _, e := range got[0].Exprs {
		last = fmt.Sprintf("%T", e)
		if c, ok := e.(*expr.Cmp); ok {
			compared = append(compared, map[expr.CmpOp]string{expr.CmpOpEq: "= ", expr.CmpOpNeq: "!= "}[c.Op]+net.IP(c.Data).String())
		}
	}
	want := []string{"= 10.244.3.0", "!= 10.244.0.0", "!= 224.0.0.0"}
	if diff := cmp.Diff(want, compared); diff != "" || last != "*expr.Masq" {
		t.Errorf("the rule ends with %s and compares (-want +got):\n%s", last, diff)
	}
}

// rulesOf are all rules of a table.
func rulesOf(name string) ([]*nftables.Rule, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, err
	}
	chains, err := c.ListChains()
	if err != nil {
		return nil, err
	}
	var all []*nftables.Rule
	for _, chain := range chains {
		if chain.Table.Name != name {
			continue
		}
		rules, err := c.GetRules(chain.Table, chain)
		if err != nil {
			return nil, err
		}
		all = append(all, rules...)
	}
	return all, nil
}
