//go:build linux

package e2e

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/api/v1alpha1"
)

// walls runs a pod that may do everything in a machine, and looks from there for what is the host's.
func (w *workers) walls(t *testing.T) {
	for _, m := range w.machines() {
		if m.Status.Isolation != v1alpha1.MachineUserNamespace {
			t.Errorf("%s has the level %q: %s", m.Name, m.Status.Isolation, m.Status.IsolationMessage)
		}
	}
	w.apply("attack.yaml")
	w.kube("wait", "--for=condition=Ready", "pod/attack", "-n", "kube-system", "--timeout=6m")
	within := func(script string) result {
		return w.tryKubectl(w.config, "", "exec", "-n", "kube-system", "attack", "--", "sh", "-c", script)
	}
	config, err := clientcmd.LoadFromFile(filepath.Join(w.dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := url.Parse(config.Clusters[config.Contexts[config.CurrentContext].Cluster].Server)
	if err != nil {
		t.Fatal(err)
	}
	// None of them would harm the host if it came through.
	attacks := map[string]string{
		"reads the host's passwords":           "cat /host/etc/shadow",
		"sees KQueen's keys":                   "ls /host" + w.dir,
		"sees KQueen's keys by process 1":      "ls /proc/1/root" + w.dir,
		"sees the host's root":                 "ls /host/boot /host/bin/sh",
		"writes programs of the release":       "touch /host/usr/libexec/kqueen/node/bin/x",
		"writes KQueen itself":                 "echo >> /host/usr/libexec/kqueen/kqueen",
		"makes the root writable":              "mount -o remount,rw,bind /host && touch /host/x",
		"sees the host's processes":            "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -e '--foregroun[d]'",
		"reaches the admin plane":              fmt.Sprintf("nc -w 2 127.0.0.1 %s </dev/null", admin.Port()),
		"makes a device of the host's disk":    "mknod /tmp/disk b 254 0 && head -c 1 /tmp/disk",
		"has the kernel run a program of its":  "v=$(cat /proc/sys/kernel/core_pattern) && echo \"$v\" > /proc/sys/kernel/core_pattern",
		"orders what the kernel's owner may":   "echo h > /proc/sysrq-trigger",
		"leaves its machine's cgroup":          "test -e /host/sys/fs/cgroup/pids/kqueen -o -e /host/sys/fs/cgroup/kqueen",
		"sees what the host knows of machines": "find /host/etc /host/usr /host/opt /host/srv /host/tmp /host/var/log -name egress.json -o -name machine.json | grep .",
	}
	// All in one call: each takes a second.
	var all strings.Builder
	for what, script := range attacks {
		fmt.Fprintf(&all, "( %s ) >/dev/null 2>&1 && echo %q\n", script, what)
	}
	if r := within(all.String() + "true"); r.code != 0 || r.stdout != "" {
		t.Errorf("a pod that may be privileged: %s%s", r.stdout, r.stderr)
	}
	if r := within("id -u; cat /host/etc/hostname; cat /proc/1/comm"); r.code != 0 || !strings.HasPrefix(r.stdout, "0\n") {
		t.Errorf("the pod does not see what it may: %q %s", r.stdout, r.stderr)
	}
	if uid := w.ownerOf(t, "sleep\x00313373\x00"); uid < 1<<16 {
		t.Errorf("root of the pod is user %d of the host", uid)
	}
	w.kube("delete", "pod", "attack", "-n", "kube-system", "--now")
}

// ownerOf is the host's user of the process with that command line.
func (w *workers) ownerOf(t *testing.T, cmdline string) uint32 {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		var st unix.Stat_t
		if err == nil && string(data) == cmdline && unix.Stat(filepath.Dir(file), &st) == nil {
			return st.Uid
		}
	}
	t.Errorf("no process %q", cmdline)
	return 0
}
