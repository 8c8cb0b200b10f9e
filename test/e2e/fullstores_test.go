//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// fillStores: KQueen starts on stores that are full, of tenants and its own, and has both take writes again where there is space. What etcd does
// when it is full is done by its alarm, which is raised here as etcd raises it: filling two stores takes minutes.
func fillStores(t *testing.T, i *installation) {
	kubeconfig := i.kubeconfig("default", "demo")
	i.halt()
	// Something that the next start has to write.
	i.kubectl(filepath.Join(i.dir, "admin.kubeconfig"), "", "patch", "crd", "clusters.kqueen.io", "--type=json", "-p", `[{"op":"remove","path":"/spec/names/categories"}]`)
	for _, keys := range []string{"store.json", "admin-store.json"} {
		i.raiseAlarm(t, keys)
	}
	if r := i.tryKubectl(kubeconfig, "", "create", "configmap", "refused"); r.code == 0 || !strings.Contains(r.stderr, "space exceeded") {
		t.Fatalf("a full store takes a write: exit code %d, %s%s", r.code, r.stdout, r.stderr)
	}
	i.up()
	eventually(t, "the store of tenants takes writes", func(context.Context) error {
		if r := i.tryKubectl(kubeconfig, "", "create", "configmap", "taken"); r.code != 0 {
			return fmt.Errorf("%s%s", r.stdout, r.stderr)
		}
		return nil
	})
	i.ok("cluster", "create", "late", "--wait", "--timeout", "5m")
	i.ok("cluster", "delete", "late", "--yes", "--wait")
}

// raiseAlarm has the etcd with these keys refuse what grows.
func (i *installation) raiseAlarm(t *testing.T, keys string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(i.dir, "keys", keys))
	if err != nil {
		t.Fatal(err)
	}
	bundle := pki.Bundle{}
	if err := json.Unmarshal(data, &bundle); err != nil {
		t.Fatal(err)
	}
	root, err := datastore.RootTLS(bundle["ca.crt"], bundle["root.crt"], bundle["root.key"])
	if err != nil {
		t.Fatal(err)
	}
	raised := 0
	for _, p := range i.processes() {
		at := slices.IndexFunc(p.args, func(arg string) bool { return strings.HasPrefix(arg, "--listen-client-urls=") })
		if p.component != "etcd" || at < 0 {
			continue
		}
		_, url, _ := strings.Cut(p.args[at], "=")
		c, err := clientv3.New(clientv3.Config{Context: t.Context(), Endpoints: []string{url}, TLS: root})
		if err != nil {
			t.Fatal(err)
		}
		if raise(t.Context(), c, url) == nil { // otherwise it is the other one, of another authority
			raised++
		}
		_ = c.Close()
	}
	if raised != 1 {
		t.Fatalf("%d stores have the keys of %s", raised, keys)
	}
}

func raise(ctx context.Context, c *clientv3.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	status, err := c.Status(ctx, url)
	if err != nil {
		return err
	}
	_, err = etcdserverpb.NewMaintenanceClient(c.ActiveConnection()).Alarm(ctx, &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE,
	})
	return err
}
