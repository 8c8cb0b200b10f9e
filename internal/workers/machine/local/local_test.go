//go:build linux

package local_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local"
	"kqueen.io/kqueen/internal/workers/machine/machinetest"
)

func TestContract(t *testing.T) {
	controlplanetest.Real(t)
	if os.Geteuid() != 0 {
		t.Skip("only root makes machines")
	}
	machinetest.Run(t, func(t *testing.T) machinetest.Subject {
		if _, err := controlplanetest.NodeParts(t.Context()); err != nil {
			t.Fatal(err)
		}
		kubernetes, err := controlplanetest.Kubernetes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := &host{dir: t.TempDir()}
		t.Cleanup(func() { h.close(t) })
		return machinetest.Subject{
			Provider: h.open(t),
			Again: func(t *testing.T) machine.Provider {
				if err := h.runner.Close(); err != nil {
					t.Fatal(err)
				}
				return h.open(t)
			},
			Version: kubernetes.Version.String(),
			CA:      []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
			Left:    h.left,
		}
	})
}

// host is one installation's part of this host.
type host struct {
	dir    string
	runner *supervise.Supervisor
}

func (h *host) open(t *testing.T) *local.Provider {
	t.Helper()
	program, err := controlplanetest.Kqueen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h.runner, err = supervise.New(supervise.Config{Dir: h.dir}); err != nil {
		t.Fatal(err)
	}
	releases, err := release.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.New(t.Context(), local.Config{
		Runner: h.runner, Releases: release.NewStore(releases), Program: program,
		Range:  netip.MustParsePrefix("10.222.0.0/16"), // not that of the product: a real installation may run here
		Listen: netip.MustParseAddr("127.0.0.1"), Images: filepath.Join(h.dir, "images"), InUse: local.HostNetworks,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (h *host) close(t *testing.T) {
	if h.runner == nil {
		return
	}
	if err := h.runner.Close(); err != nil {
		t.Error(err)
	}
}

// left looks for what machines have on a host: directories, cgroups, links, bridges, mounts and processes.
func (h *host) left(t *testing.T, refs ...machine.Ref) []string {
	t.Helper()
	var found []string
	for _, ref := range refs {
		for _, pattern := range []string{
			filepath.Join(h.dir, "workloads", string(ref.UID)),
			"/sys/fs/cgroup/kqueen/" + string(ref.UID),
			"/sys/fs/cgroup/*/kqueen/" + string(ref.UID),
		} {
			paths, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, paths...)
		}
		links, err := netlink.LinkList()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			if name := l.Attrs().Name; name == "kqb"+short(string(ref.Cluster)) || name == "kqv"+short(string(ref.UID)) {
				found = append(found, "link "+name)
			}
		}
		found = append(found, mentioning(t, string(ref.UID))...)
	}
	return found
}

// short is the rule by which the provider makes names of interfaces.
func short(uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:5])
}

// mentioning names the processes and the mounts in which the text stands.
func mentioning(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "/proc/self/mountinfo") {
		data, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(data), text) {
			found = append(found, file)
		}
	}
	return found
}
