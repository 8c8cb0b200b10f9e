//go:build linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"k8s.io/apimachinery/pkg/types"
)

// lived is a machine that there was, by which its traces are known.
type lived struct{ uid, cluster types.UID }

// traces names what machines have on the host beside their processes: links, packet filters, mounts, cgroups
// and folders.
func (w *workers) traces(t *testing.T) []string {
	t.Helper()
	names := map[string]bool{}
	var found []string
	for m := range w.lived {
		names["kqb"+short(m.cluster)], names["kqv"+short(m.uid)] = true, true
		for _, pattern := range []string{"/sys/fs/cgroup/kqueen/", "/sys/fs/cgroup/*/kqueen/"} {
			paths, err := filepath.Glob(pattern + string(m.uid))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, paths...)
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if names[l.Attrs().Name] {
			found = append(found, "link "+l.Attrs().Name)
		}
	}
	filter, err := nftables.New()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := filter.ListTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if names[table.Name] {
			found = append(found, "table "+table.Name)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, w.dir) {
			found = append(found, "mount "+line)
		}
	}
	return found
}

// short is the rule by which names of interfaces are made of UIDs.
func short(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:5])
}
