//go:build linux

package local

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
)

// Where a machine sees what of the host it may read.
const (
	insideDir      = "/usr/libexec/kqueen"
	insideProgram  = insideDir + "/kqueen"
	insideParts    = insideDir + "/node"
	insideBinaries = insideDir + "/kubernetes"
	insideAddons   = insideDir + "/addons"
	insideImages   = "/usr/share/kqueen/images"
	insideConf     = "/etc/kqueen"
)

// insidePath is a file of the machine's configuration.
func insidePath(file string) string { return filepath.Join(insideConf, file) }

func (d description) insideParts() release.NodeParts { return d.parts.At(insideParts) }

func (d description) insideBinaries() release.Binaries {
	b := d.binaries
	b.Dir, b.NodeDir = insideBinaries, ""
	return b
}

// insideAddonImages is the folder with the newest images of addons.
func (d description) insideAddonImages() string {
	if d.addons.Dir == "" {
		return ""
	}
	moved := d.addons
	moved.Dir = filepath.Join(insideAddons, filepath.Base(d.addons.Dir))
	return moved.Folder()
}

// tools are the programs of the host that those of a node call: for mounts, for the rules of Services, and for streams.
func tools() []string {
	return []string{
		"mount", "umount", "nft", "iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
		"conntrack", "ethtool", "socat",
	}
}

// tree is the file system of the machine. Nothing of it can be changed from within but the machine's own folders, and those
// that are gone with its life.
func (d description) tree() []guest.Entry {
	all := append(guest.Root(),
		guest.Entry{Kind: guest.KindFolder, Target: "/lib/modules"}, // which pods of networks ask for
		guest.Entry{Kind: guest.KindFolder, Target: "/usr/libexec/kubernetes"},
		guest.Entry{Kind: guest.KindLink, Target: "/var/run", Source: "../run"},
		guest.Entry{Kind: guest.KindLink, Target: "/var/tmp", Source: "../tmp"},
	)
	all = append(all, d.ownFolders()...)
	all = append(all, d.etc()...)
	return append(all,
		guest.Entry{Kind: guest.KindShown, Target: insideConf, Source: d.path(confDir)},
		guest.Entry{Kind: guest.KindShown, Target: insideProgram, Source: d.record.Program},
		guest.Entry{Kind: guest.KindShown, Target: insideParts, Source: d.parts.Dir},
		guest.Entry{Kind: guest.KindShown, Target: insideBinaries, Source: cmp.Or(d.binaries.NodeDir, d.binaries.Dir)},
		guest.Entry{Kind: guest.KindShown, Target: insideImages, Source: d.images},
		// As a whole: what is built later appears in it.
		guest.Entry{Kind: guest.KindShown, Target: insideAddons, Source: d.addonsDir},
	)
}

// ownFolders last as long as the machine.
func (d description) ownFolders() []guest.Entry {
	var all []guest.Entry
	for _, own := range []struct{ target, name string }{
		{"/var/lib", "lib"}, {"/var/log", "log"}, {"/opt", "opt"}, {"/mnt", "mnt"}, {"/srv", "srv"}, {"/home", "home"},
	} {
		all = append(all, guest.Entry{Kind: guest.KindOwn, Target: own.target, Source: d.path(filepath.Join("root", own.name))})
	}
	return append(all,
		guest.Entry{Kind: guest.KindOwn, Target: "/root", Source: d.path("root/root"), Mode: 0o700},
		guest.Entry{Kind: guest.KindOwn, Target: "/tmp", Source: d.path("root/tmp"), Mode: 0o1777},
	)
}

// etc is made anew in each life of the machine.
func (d description) etc() []guest.Entry {
	id := sha256.Sum256([]byte(d.UID))
	text := func(name, format string, args ...any) guest.Entry {
		return guest.Entry{Kind: guest.KindText, Target: "/etc/" + name, Text: fmt.Sprintf(format, args...)}
	}
	all := []guest.Entry{
		{Kind: guest.KindTmpfs, Target: "/etc"},
		{Kind: guest.KindTmpfs, Target: "/run"},
		text("hostname", "%s\n", d.Name),
		text("hosts", "127.0.0.1 localhost\n::1 localhost\n%s %s\n", d.address(), d.Name),
		text("machine-id", "%s\n", hex.EncodeToString(id[:16])),
		text("passwd", "root:x:0:0:root:/root:/sbin/nologin\n"),
		text("group", "root:x:0:\n"),
		text("resolv.conf", "%s", d.facts.resolvConf),
		{Kind: guest.KindLink, Target: "/etc/mtab", Source: "../proc/self/mounts"},
	}
	for _, file := range []string{
		"/etc/os-release", "/etc/localtime", "/etc/protocols", "/etc/services", "/etc/ethertypes",
		// Where a Go program looks for the authorities of registries.
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
	} {
		all = append(all, guest.Entry{Kind: guest.KindCopy, Target: file, Source: file, Optional: true})
	}
	// What the operator has said of registries.
	for _, dir := range []string{"/etc/containerd/certs.d", "/etc/docker/certs.d"} {
		all = append(all, guest.Entry{Kind: guest.KindShown, Target: dir, Source: dir, Optional: true})
	}
	return all
}
