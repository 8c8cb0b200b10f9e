//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// confined shows that what a component of a control plane, of the admin plane or etcd could do to the host or to another
// tenant was taken from it. What runs is asked, not what was described.
func confined(t *testing.T, i *installation, a, b *party) {
	if os.Geteuid() != 0 {
		t.Skip("only root confines programs")
	}
	users, scores, said := map[string]string{}, map[string]int{}, map[string]string{}
	for _, w := range i.status().Workloads {
		said[w.ID] = w.Confinement
	}
	for _, p := range i.processes() {
		if p.workload == "" || p.component == "egress" || p.component == "gateway" || p.component == "ingress" {
			continue
		}
		has := procStatus(t, p.pid)
		user := has["Uid"]
		if strings.HasPrefix(user, "0 ") || users[p.workload] != "" && users[p.workload] != user || has["Gid"] != user {
			t.Errorf("%s runs as %s, group %s; others of it as %s", p, user, has["Gid"], users[p.workload])
		}
		users[p.workload] = user
		for name, want := range map[string]string{
			"CapInh": "0", "CapPrm": "0", "CapEff": "0", "CapBnd": "0", "CapAmb": "0", "NoNewPrivs": "1", "Seccomp": "2", "Groups": "",
		} {
			if got := has[name]; got != want && strings.Trim(got, "0") != strings.Trim(want, "0") {
				t.Errorf("%s of %s is %q, want %q", name, p, got, want)
			}
		}
		score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.pid))
		if err != nil {
			t.Fatal(err)
		}
		if scores[p.workload], err = strconv.Atoi(strings.TrimSpace(string(score))); err != nil {
			t.Fatal(err)
		}
		// A host without cgroups that KQueen may make has no limits.
		if said[p.workload] == "complete" {
			inCgroup(t, p)
		} else if !strings.HasPrefix(said[p.workload], "without limits") {
			t.Errorf("the confinement of %s is %q", p, said[p.workload])
		}
	}
	one, other := string(a.plane.UID), string(b.plane.UID)
	seen := map[string]string{}
	for _, workload := range []string{"etcd", "store-gate", "admin", one, other} {
		user := users[workload]
		if user == "" || seen[user] != "" {
			t.Errorf("%s runs as %q, and so does %q", workload, user, seen[user])
		}
		seen[user] = workload
	}
	if scores[one] <= scores["etcd"] || scores[one] <= scores["admin"] {
		t.Errorf("when memory runs out %v go by these scores, highest first", scores)
	}
	foreignFiles(t, i, users, one, other)
	if said[one] == "complete" {
		foreignPorts(t, i, users, one, map[string]bool{one + "/api": true, other + "/api": false, "admin/api": false, "store-gate/client": true, "etcd/client": false})
		foreignPorts(t, i, users, "store-gate", map[string]bool{one + "/api": false, "admin/api": false, "etcd/client": true, "etcd-admin/client": false})
	}
	for _, p := range []*party{a, b} {
		if got, want := p.plane.Status.Confinement, said[string(p.plane.UID)]; got != want {
			t.Errorf("the confinement of %s is %q, and its status says %q", p.name, want, got)
		}
	}
}

// procStatus is /proc/<pid>/status.
func procStatus(t *testing.T, pid int) map[string]string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		said[name] = strings.Join(strings.Fields(value), " ")
	}
	return said
}

// inCgroup looks for a process in a cgroup of its workload, with a limit of memory if it is a tenant's.
func inCgroup(t *testing.T, p process) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "-"+p.workload+"\n") {
		t.Errorf("%s is in none of its workload's cgroups:\n%s", p, data)
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		limit, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", parts[1], parts[2], "memory.limit_in_bytes"))
		if err != nil {
			limit, err = os.ReadFile(filepath.Join("/sys/fs/cgroup", parts[1], parts[2], "memory.max"))
		}
		if want := strconv.Itoa(3<<30 + 256<<20); err == nil && len(p.workload) == 36 && strings.TrimSpace(string(limit)) != want {
			t.Errorf("%s may take %s bytes of memory, want %s", p, limit, want)
		}
	}
}

// foreignPorts connects to ports of this host, by workload and name, as the user of another one: whatever a tenant has its
// API server dial.
func foreignPorts(t *testing.T, i *installation, users map[string]string, as string, wanted map[string]bool) {
	t.Helper()
	user, _, _ := strings.Cut(users[as], " ")
	uid, err := strconv.Atoi(user)
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range wanted {
		workload, port, _ := strings.Cut(of, "/")
		data, err := os.ReadFile(filepath.Join(i.dir, "run", "workloads", workload, "ports.json"))
		if err != nil {
			t.Fatal(err)
		}
		var ports map[string]int
		if err := json.Unmarshal(data, &ports); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", ports[port]))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		if err := cmd.Run(); (err == nil) != want {
			t.Errorf("%s connects to %s: %v, want that it can: %t", as, of, err, want)
		}
	}
}

// foreignFiles reads files of one control plane as the user of another one, from within their folder, to which that user
// has no way.
func foreignFiles(t *testing.T, i *installation, users map[string]string, one, other string) {
	t.Helper()
	read := func(as, of, file string) error {
		user, _, _ := strings.Cut(users[as], " ")
		uid, err := strconv.Atoi(user)
		if err != nil {
			t.Fatal(err)
		}
		folder, err := os.Open(filepath.Join(i.dir, "run", "workloads", of))
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		cmd := exec.Command("cat", "/proc/self/fd/3/"+file)
		cmd.ExtraFiles = []*os.File{folder}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		return cmd.Run()
	}
	if err := read("store-gate", "store-gate", "tenants.json"); err != nil {
		t.Errorf("the store gate cannot read its tenants: %v", err)
	}
	for _, as := range []string{one, "etcd"} {
		if err := read(as, "store-gate", "tenants.json"); err == nil {
			t.Errorf("%s reads the credentials of the store gate", as)
		}
	}
	for _, file := range []string{"ca.key", "sa.key", "encryption.yaml", "admin.key", "ca.crt"} {
		if err := read(one, one, file); err != nil {
			t.Errorf("a control plane cannot read its own %s: %v", file, err)
		}
		for _, as := range []string{other, "etcd", "store-gate"} {
			if err := read(as, one, file); err == nil {
				t.Errorf("%s reads %s of another control plane", as, file)
			}
		}
	}
}
