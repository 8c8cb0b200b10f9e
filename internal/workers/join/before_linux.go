package join

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"kqueen.io/kqueen/internal/workers/node"
)

// sharedFolders are those into which programs of a node write, deeper ones first. What others have in them stays.
func sharedFolders() []string {
	return []string{
		networksDir, "/etc/cni", pluginsDir, "/opt/cni", "/var/lib/cni/networks", "/var/lib/cni",
		"/var/log/pods", "/var/log/containers", "/run/containerd/s", "/run/containerd", "/run/netns",
		"/usr/libexec/kubernetes", node.KubeletDir,
	}
}

// clusterLinks are interfaces that networks of pods make on each node, and that stay when their pods are gone: of
// the plugin bridge, of flannel, of kube-proxy.
func clusterLinks() []string { return []string{"cni0", "flannel.1", "flannel-v6.1", "kube-ipvs0"} }

// Remember looks what is on the machine before it joins.
func Remember() (Before, error) {
	b := Before{Folders: map[string][]string{}, Links: []string{}}
	for _, dir := range sharedFolders() {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return b, fmt.Errorf("look at what is on the machine: %w", err)
		}
		b.Folders[dir] = []string{}
		for _, e := range entries {
			b.Folders[dir] = append(b.Folders[dir], e.Name())
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		return b, fmt.Errorf("list network interfaces: %w", err)
	}
	for _, l := range links {
		b.Links = append(b.Links, l.Attrs().Name)
	}
	if b.Mounts, err = mounts(); err != nil {
		return b, err
	}
	if b.Tables, err = tableNames(); err != nil {
		return b, err
	}
	b.Kernel, err = node.Kernel()
	return b, err
}

// added are the paths in folders that were not there before, and the folders that were not.
func (b Before) added(folders []string) ([]string, error) {
	var all []string
	for _, dir := range folders {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at what is on the machine: %w", err)
		}
		had, was := b.Folders[dir]
		if !was {
			all = append(all, dir)
			continue
		}
		for _, e := range entries {
			if at := filepath.Join(dir, e.Name()); !slices.Contains(had, e.Name()) {
				all = append(all, at)
			}
		}
	}
	return outermost(all), nil
}

// outermost leaves out what lies in another one of the paths. It is pure.
func outermost(paths []string) []string {
	var out []string
	for _, p := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		if !slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(p, o+"/") }) {
			out = append(out, p)
		}
	}
	return out
}

// links are the interfaces of the cluster's network that are there now and were not before.
func (b Before) links() ([]netlink.Link, error) {
	all, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	all = slices.DeleteFunc(all, func(l netlink.Link) bool {
		name := l.Attrs().Name
		return slices.Contains(b.Links, name) || !slices.Contains(clusterLinks(), name)
	})
	slices.SortFunc(all, func(x, y netlink.Link) int { return cmp.Compare(x.Attrs().Name, y.Attrs().Name) })
	return all, nil
}
