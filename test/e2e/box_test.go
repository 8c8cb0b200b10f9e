//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"

	"kqueen.io/kqueen/internal/platform/links"
)

// lan is a bridge of this host to which machines are connected that are not KQueen's.
type lan struct {
	*installation
	id      byte
	bridge  string
	gateway netip.Addr // the host's
	boxes   byte
}

// lan makes one.
func (i *installation) lan() *lan {
	i.t.Helper()
	id := freeNetwork(i.t)
	l := &lan{installation: i, id: id, bridge: fmt.Sprintf("kqe2e%d", id), gateway: netip.AddrFrom4([4]byte{10, 221, id, 1})}
	i.t.Cleanup(func() { l.unlink(l.bridge) })
	attrs := netlink.NewLinkAttrs()
	attrs.Name = l.bridge
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil {
		i.t.Fatal(err)
	}
	host := &netlink.Addr{IPNet: &net.IPNet{IP: l.gateway.AsSlice(), Mask: net.CIDRMask(24, 32)}}
	if err := errors.Join(netlink.AddrAdd(bridge, host), netlink.LinkSetUp(bridge)); err != nil {
		i.t.Fatal(err)
	}
	return l
}

func (l *lan) unlink(name string) {
	if err := links.Remove(links.Here(), name); err != nil {
		l.t.Error(err)
	}
}

// box is a machine that is not KQueen's: process 1 of namespaces of its own, with a link to a bridge of the host.
type box struct {
	*lan
	address   netip.Addr
	link, dir string
	cgroup    string // of its pods, below each hierarchy
	init      *exec.Cmd
	in        io.WriteCloser // while it is open, the machine runs
}

// box is a machine that does not run yet.
func (l *lan) box() *box {
	l.t.Helper()
	l.boxes++
	n := l.boxes + 1
	b := &box{
		lan: l, address: netip.AddrFrom4([4]byte{10, 221, l.id, n}), link: fmt.Sprintf("%s-%d", l.bridge, n),
		dir: filepath.Join(l.base, fmt.Sprintf("box%d", n)),
	}
	l.t.Cleanup(b.end)
	return b
}

// wire makes the link to the machine. The other end goes into it when it starts.
func (b *box) wire() {
	b.t.Helper()
	bridge, err := netlink.LinkByName(b.bridge)
	if err != nil {
		b.t.Fatal(err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = b.link, bridge.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: b.link + "p"}
	if err := errors.Join(netlink.LinkAdd(pair), netlink.LinkSetUp(pair)); err != nil {
		b.t.Fatal(err)
	}
}

// end takes the machine away, with all that runs in it.
func (b *box) end() {
	if b.init != nil && b.t.Failed() {
		b.logs()
	}
	b.stop()
}

// stop switches the machine off. Its files stay.
func (b *box) stop() {
	if b.init != nil {
		_ = b.init.Process.Kill() // with process 1 of its namespace every process ends
		_ = b.init.Wait()         // it was killed
		b.init = nil
	}
	b.unlink(b.link)
	if b.cgroup != "" {
		b.removeCgroups()
	}
}

// start starts the machine under the name that its node will have.
func (b *box) start(script, node string, env ...string) {
	b.t.Helper()
	b.wire()
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	scripts, err := filepath.Abs(filepath.Join("testdata", "workers"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.init = exec.Command("/bin/sh", filepath.Join(scripts, script))
	b.init.Dir = "/"
	b.init.Env = slices.Concat(env, []string{
		"PATH=" + os.Getenv("PATH"), "MACHINE=" + filepath.Join(scripts, "machine.sh"), "DIR=" + b.dir,
		"ADDRESS=" + b.address.String(), "GATEWAY=" + b.gateway.String(), "NODE=" + node, "LINK=" + b.link + "p",
	})
	b.init.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	log, err := os.Create(filepath.Join(b.dir, "init.log"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	b.init.Stdout, b.init.Stderr = log, log
	if b.in, err = b.init.StdinPipe(); err != nil {
		b.t.Fatal(err)
	}
	if err := b.init.Start(); err != nil {
		b.init = nil
		b.t.Fatal(err)
	}
	peer, err := netlink.LinkByName(b.link + "p")
	if err == nil {
		err = netlink.LinkSetNsPid(peer, b.init.Process.Pid)
	}
	if err == nil {
		_, err = io.WriteString(b.in, "go\n")
	}
	if err != nil {
		b.t.Fatal(err)
	}
	up := filepath.Join(b.dir, "up")
	eventually(b.t, "the machine is up", func(context.Context) error { _, err := os.Stat(up); return err })
	if err := os.Remove(up); err != nil {
		b.t.Fatal(err)
	}
}

// within runs a command in the machine.
func (b *box) within(command ...string) result {
	b.t.Helper()
	args := []string{"--target", strconv.Itoa(b.init.Process.Pid), "--pid", "--mount", "--net", "--uts", "--ipc", "--"}
	return b.run(b.command("nsenter", append(args, command...)...))
}

func (b *box) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

// logs shows what the machine said last.
func (b *box) logs() {
	var all []string
	for _, pattern := range []string{"*.log", "lib/kqueen-node/logs/*.log", "lib/kqueen-node/workloads/node/logs/*.log"} {
		found, _ := filepath.Glob(filepath.Join(b.dir, pattern)) // the pattern is good
		all = append(all, found...)
	}
	for _, name := range all {
		if data, err := os.ReadFile(name); err == nil {
			b.t.Logf("the end of %s:\n%s", name, data[max(0, len(data)-4<<10):])
		}
	}
}

const cgroupRoot = "/sys/fs/cgroup"

// unified says that the host has cgroups of version 2 alone.
func unified() bool {
	_, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers"))
	return err == nil
}

// cgroups are the directories of the machine's cgroup: one, or one for each controller of version 1.
func (b *box) cgroups() []string {
	if unified() {
		return []string{filepath.Join(cgroupRoot, b.cgroup)}
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		b.t.Fatal(err)
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() { // "cpu" beside "cpu,cpuacct" is a link to it
			dirs = append(dirs, filepath.Join(cgroupRoot, e.Name(), b.cgroup))
		}
	}
	return dirs
}

// removeCgroups waits until the kernel has let go of the processes that were killed.
func (b *box) removeCgroups() {
	again := time.NewTicker(look)
	defer again.Stop()
	for begin := time.Now(); ; <-again.C {
		var err error
		for _, dir := range b.cgroups() {
			err = errors.Join(err, removeDirs(dir))
		}
		if err == nil {
			return
		}
		if time.Since(begin) > 10*time.Second {
			b.t.Errorf("cgroups are left: %v", err)
			return
		}
	}
}

// removeDirs removes directories only: the files in a cgroup are no files.
func removeDirs(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeDirs(filepath.Join(dir, e.Name())))
		}
	}
	if err == nil {
		err = syscall.Rmdir(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
