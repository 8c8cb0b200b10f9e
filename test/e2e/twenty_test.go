//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestManyAtOnce makes and deletes clusters all at once. KQUEEN_E2E_CLUSTERS is how many; "make soak" takes 20.
func TestManyAtOnce(t *testing.T) {
	parallel(t, 2*time.Minute)
	count := int(number(t, "KQUEEN_E2E_CLUSTERS", 4))
	i := started(t)
	before, without := holdings(t, i), memoryOf(t, i.servers()[0])
	var names []string
	var documents strings.Builder
	for n := range count {
		name := fmt.Sprintf("many-%02d", n)
		names = append(names, name)
		fmt.Fprintf(&documents, "---\napiVersion: kqueen.io/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec: {version: %s}\n", name, programs.version)
	}
	file := filepath.Join(i.base, "clusters.yaml")
	if err := os.WriteFile(file, []byte(documents.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	i.ok("cluster", "create", "-f", file, "--wait", "--timeout", "9m")
	if got := strings.Count(i.ok("cluster", "list", "-o", "name"), "many-"); got != count {
		t.Fatalf("%d clusters are listed, want %d", got, count)
	}
	made := i.tenants()
	if len(made.uids) != count {
		t.Fatalf("%d control planes, want %d", len(made.uids), count)
	}
	if got := i.running(func(p process) bool { return slices.Contains(made.uids, p.workload) }); len(got) != 3*count {
		t.Errorf("%d processes of tenants, want three for each of %d", len(got), count)
	}
	for _, name := range []string{names[0], names[count-1]} {
		i.kubectl(i.kubeconfig("default", name), "", "get", "ns", "kube-system")
	}
	if len(i.traces(made)) < 20*count {
		t.Fatal("living clusters leave hardly a trace: the search sees nothing")
	}

	i.allSleepAndWake(made, names, without)
	i.ok(slices.Concat([]string{"cluster", "delete", "--yes", "--timeout", "9m"}, names)...)
	if left := i.traces(made); len(left) > 0 {
		t.Errorf("%d traces are left of deleted clusters:\n%s", len(left), strings.Join(left, "\n"))
	}
	if diff := cmp.Diff(before, holdings(t, i)); diff != "" {
		t.Errorf("what the installation holds, before (-) and after (+) the clusters:\n%s", diff)
	}
}

// wokenAtOnce is how many clusters are woken at once. More than forty of a host with two processors are not awake for as long as the gateway
// holds a connection.
const wokenAtOnce = 20

// allSleepAndWake puts clusters to sleep, of which no process runs then, and has clients ask for up to [wokenAtOnce] of them at once.
// KQueen had so much memory without them.
func (i *installation) allSleepAndWake(made tenants, names []string, without int64) {
	i.t.Helper()
	server := i.servers()[0]
	awake := memoryOf(i.t, server)
	for _, name := range names {
		i.ok("cluster", "sleep", name)
	}
	eventually(i.t, "no process of a cluster runs", func(context.Context) error {
		if left := i.running(func(p process) bool { return slices.Contains(made.uids, p.workload) }); len(left) > 0 {
			return errors.New(strings.Join(left, "; "))
		}
		return nil
	})
	asleep := memoryOf(i.t, server)
	i.t.Logf("KQueen had %d MiB without clusters, has %d MiB with %d awake, and %d MiB while they sleep: %.2f MiB each",
		without>>20, awake>>20, len(names), asleep>>20, float64(asleep-without)/float64(len(names))/(1<<20))
	names = names[:min(wokenAtOnce, len(names))]
	began := time.Now()
	answers := map[string]<-chan error{}
	for _, name := range names {
		s := &sleeper{installation: i}
		answers[name] = s.asks(i.tenant("default", name), "/api/v1/namespaces/kube-system")
	}
	for name, answered := range answers {
		if err := <-answered; err != nil {
			i.t.Errorf("cluster %s, woken with %d others: %v", name, len(names)-1, err)
		}
	}
	i.t.Logf("%d clusters that were woken at once have answered after %s", len(names), time.Since(began).Round(time.Second/10))
}

// memoryOf is the resident memory of a process, in bytes, that it shares with no file.
func memoryOf(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	t.Fatalf("/proc/%d/status has no RssAnon", pid)
	return 0
}

// held is what an installation holds for tenants and for itself.
type held struct {
	TenantKeys int64 // keys in the etcd of tenants
	Users      []string
	Roles      []string
	Workloads  []string
	Ports      []string // files with reserved ports
	Processes  []string
	Files      []string // outside etcd's own, logs and counts
}

func holdings(t *testing.T, i *installation) held {
	t.Helper()
	etcd, h := i.store(), held{}
	keys, err := etcd.Get(t.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	h.TenantKeys = keys.Count
	users, err := etcd.UserList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	roles, err := etcd.RoleList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Users, h.Roles = slices.Sorted(slices.Values(users.Users)), slices.Sorted(slices.Values(roles.Roles))
	if want := []string{"root"}; !slices.Equal(h.Users, want) || !slices.Equal(h.Roles, want) || h.TenantKeys != 0 {
		t.Errorf("without tenants etcd has users %v, roles %v and %d keys, want users and roles %v and no key", h.Users, h.Roles, h.TenantKeys, want)
	}
	for _, w := range i.status().Workloads {
		h.Workloads = append(h.Workloads, w.ID)
	}
	h.Processes = i.running(func(process) bool { return true })
	for _, file := range files(t, i.dir) {
		if filepath.Base(file) == "ports.json" {
			h.Ports = append(h.Ports, file)
		}
		counts := strings.HasSuffix(file, "/usage.json") // which the store gate writes when it has counted, some time after its start
		if !strings.HasPrefix(file, filepath.Join(i.dir, "etcd")) && !strings.Contains(file, "/logs/") && !counts {
			h.Files = append(h.Files, file)
		}
	}
	return h
}
