//go:build linux

package app

import (
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/workers/machine"
)

// TestSettingsHold: what was chosen once holds until the operator says something else, which then holds.
func TestSettingsHold(t *testing.T) {
	chosen := settings{
		Listen: netip.MustParseAddr("192.0.2.7"), Domain: "k.example", Database: "postgres://db", MachineNetwork: netip.MustParsePrefix("10.9.0.0/16"), Images: "upstream", AgentImage: "a.example/agent:1",
		EgressAllowed:  []egress.Destination{{Range: netip.MustParsePrefix("192.0.2.0/24"), Port: 443}, {Range: netip.MustParsePrefix("2001:db8::7/128"), Port: 8443}},
		OwnBackupEvery: NoOwnBackups, OwnBackupsKept: 9,
		GatewayPort: 7443, IngressPort: 7080, APIPort: 9443, AdminVersion: "v1.36.9",
	}
	said := Config{
		Listen: netip.MustParseAddr("::1"), Domain: "other.example", Database: "postgres://other", MachineNetwork: netip.MustParsePrefix("10.8.0.0/20"), Images: "bundled", AgentImage: "b.example/agent:2",
		EgressAllowed:  []egress.Destination{{Range: netip.MustParsePrefix("198.51.100.7/32"), Port: 443}},
		OwnBackupEvery: time.Hour, OwnBackupsKept: 2,
	}
	closing := said
	closing.EgressAllowed = []egress.Destination{}
	cases := map[string]struct {
		before settings
		said   Config
		want   Config
	}{
		"nothing, ever": {settings{}, Config{}, Config{Listen: defaultListen, Domain: defaultDomain, MachineNetwork: defaultMachineNetwork, OwnBackupEvery: usualOwnBackupEvery, OwnBackupsKept: usualOwnBackupsKept}},
		"nothing now":   {chosen, Config{}, Config{Listen: chosen.Listen, Domain: chosen.Domain, Database: chosen.Database, MachineNetwork: chosen.MachineNetwork, Images: chosen.Images, AgentImage: chosen.AgentImage, EgressAllowed: chosen.EgressAllowed, OwnBackupEvery: NoOwnBackups, OwnBackupsKept: 9}},
		"now":           {settings{}, said, said},
		"something new": {chosen, said, said},
		"nothing more":  {chosen, closing, closing},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := c.before
			same := cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}
			if diff := cmp.Diff(c.want, s.merge(c.said), same); diff != "" {
				t.Errorf("it runs with (-want +got):\n%s", diff)
			}
			dir := t.TempDir()
			if err := s.save(dir); err != nil {
				t.Fatal(err)
			}
			next, err := loadSettings(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, next.merge(Config{}), same); diff != "" {
				t.Errorf("the next start runs with (-want +got):\n%s", diff)
			}
			// What New and the engine choose is not the operator's to repeat.
			if next.GatewayPort != c.before.GatewayPort || next.IngressPort != c.before.IngressPort || next.APIPort != c.before.APIPort || next.AdminVersion != c.before.AdminVersion {
				t.Errorf("the next start has forgotten ports or versions: %+v", next)
			}
		})
	}
}

// TestDamagedSettings: settings that cannot be read are an error, and stay as they are: a start without them would choose
// other ports, and an empty database beside the one that is used.
func TestDamagedSettings(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "torn": `{"listen": "127.0.`, "another type": `{"gatewayPort": "7443"}`, "no address": `{"listen": "here"}`, "no network": `{"machineNetwork": "10.9"}`,
		"no destination": `{"egressAllowed": ["10.9"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(settingsFile(dir), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := New(t.Context(), Config{Engine: existing{}, Dir: dir, Log: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), settingsFile(dir)) || !strings.Contains(err.Error(), "correct it") {
				t.Errorf("got %v, want an error that names the file and what to do", err)
			}
			if left, err := os.ReadFile(settingsFile(dir)); err != nil || string(left) != text {
				t.Errorf("the file is %q, %v", left, err)
			}
			if _, err := os.Stat(runDir(dir)); !os.IsNotExist(err) {
				t.Errorf("something began to run: %v", err)
			}
		})
	}
}

// TestDirRefused: a data directory that cannot hold keys is refused before anything is in it.
func TestDirRefused(t *testing.T) {
	top := t.TempDir()
	file, open := filepath.Join(top, "file"), filepath.Join(top, "open")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o750); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		open:                       "(mode 0750) and is to hold keys; run: chmod 700 " + open,
		file:                       "choose another with --data-dir",
		filepath.Join(file, "dir"): "choose another with --data-dir",
	} {
		_, err := New(t.Context(), Config{Engine: existing{}, Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", dir, err, want)
		}
	}
	if entries, err := os.ReadDir(open); err != nil || len(entries) > 0 {
		t.Errorf("%v is in it, %v", entries, err)
	}
}

// TestNewGivesUp: an installation whose port is taken gives back what it had, so that the next start finds nothing in its
// way, and remembers no port that it did not get.
func TestNewGivesUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	c := Config{Engine: existing{}, Dir: dir, Log: slog.New(slog.DiscardHandler), GatewayPort: taken(t)}
	if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "choose another with --gateway-port") {
		t.Fatalf("got %v, want that the port is taken", err)
	}
	if Used(dir) {
		t.Error("the settings of a start that failed are kept")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.GatewayPort = free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if s, err := loadSettings(dir); err != nil || s.GatewayPort != c.GatewayPort {
		t.Errorf("the port that is remembered is %+v, %v", s, err)
	}
}

// TestOpenAPIGivesUp: an API whose port is taken has no address, and leaves neither a database nor a socket in the way of the
// next start.
func TestOpenAPIGivesUp(t *testing.T) {
	a, err := New(t.Context(), Config{Engine: existing{}, Dir: filepath.Join(t.TempDir(), "data"), Log: slog.New(slog.DiscardHandler), APIPort: taken(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.openAPI(t.Context()); err == nil || !strings.Contains(err.Error(), "choose another with --api-port") {
		t.Fatalf("got %v, want that the port is taken", err)
	}
	if got := a.apiAddress(); got != "" {
		t.Errorf("the API is said to be at %s", got)
	}
	a.APIPort = 0
	d, err := a.openAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a.apiAddress() == "" || d.certificate.Load() == nil || len(d.trust().CA) == 0 {
		t.Errorf("the API is at %q, and not whole", a.apiAddress())
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}

// TestAddresses: others are told of this host what they can dial, or nothing.
func TestAddresses(t *testing.T) {
	for listen, want := range map[string]struct{ advertised, gateway, api string }{
		"127.0.0.1": {machine.NoAddress().String(), "127.0.0.1:6443", "https://127.0.0.1:8443"},
		"::1":       {machine.NoAddress().String(), "[::1]:6443", "https://[::1]:8443"},
		"192.0.2.7": {"192.0.2.7", "192.0.2.7:6443", "https://192.0.2.7:8443"},
	} {
		a := &App{Config: Config{Listen: netip.MustParseAddr(listen)}, settings: &settings{GatewayPort: 6443}}
		if got := a.apiAddress(); got != "" {
			t.Errorf("%s: before it has a port the API is at %q", listen, got)
		}
		a.settings.APIPort = 8443
		if got := advertiseAddress(a.Listen).String(); got != want.advertised || a.gatewayAddress() != want.gateway || a.apiAddress() != want.api {
			t.Errorf("%s: got %s, %s, %s, want %v", listen, got, a.gatewayAddress(), a.apiAddress(), want)
		}
	}
}

// TestReset: all that an installation has put into its data directory goes, and what its owner has put there stays.
func TestReset(t *testing.T) {
	for name, tc := range map[string]struct{ mine, left []string }{
		"with the owner's files": {[]string{"notes.txt", "images/mine.tar"}, []string{"images", "images/mine.tar", "notes.txt"}},
		"with an empty folder":   {[]string{"images/"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range slices.Concat(contents, tc.mine) {
				folder, base := filepath.Split(filepath.Join(dir, file))
				if strings.HasSuffix(file, "/") {
					folder, base = filepath.Join(dir, file), ""
				}
				if file == "run" || file == "etcd" || file == "keys" {
					folder, base = filepath.Join(dir, file), "x"
				}
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				if base != "" {
					if err := os.WriteFile(filepath.Join(folder, base), []byte("{}"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !Used(dir) {
				t.Error("it is not seen that the directory is used")
			}
			var steps []string
			err := Reset(t.Context(), existing{}, dir, slog.New(slog.DiscardHandler), done(&steps))
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
				if inside, _ := filepath.Rel(dir, path); inside != "." {
					left = append(left, inside)
				}
				return err
			})
			if diff := cmp.Diff(tc.left, left); diff != "" || err != nil {
				t.Errorf("%v, left (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff([]string{"Stop 0 machines", "Stop 0 control planes", "Stop the gateways", "Delete all data"}, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if Used(dir) {
				t.Error("the directory is still used")
			}
		})
	}
}
