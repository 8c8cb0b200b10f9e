package storegate

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/freeport"
)

// process is a gate with its files in a folder.
func process(t *testing.T, dir string, keys pki.Bundle) Process {
	t.Helper()
	for name, data := range map[string][]byte{
		"store-ca.crt": env.keys["ca.crt"], "ca.crt": keys["ca.crt"], "server.crt": keys["server.crt"], "server.key": keys["server.key"],
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ports, err := freeport.TakeSeveral(2)
	if err != nil {
		t.Fatal(err)
	}
	file, at := func(name string) string { return filepath.Join(dir, name) }, func(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
	return Process{
		Listen: at(ports[0]), Health: at(ports[1]), Handover: file("handover"), Store: []string{env.address}, StoreCA: file("store-ca.crt"), ClientCA: file("ca.crt"),
		Certificate: file("server.crt"), Key: file("server.key"), Tenants: file("tenants.json"), Usage: file("usage/usage.json"),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

// begin runs a gate until the test ends, and returns when it answers.
func begin(t *testing.T, p Process) (ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done, gone := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(gone)
		done <- p.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-gone
	})
	await(t, "a gate that answers", func() bool {
		answer, err := http.Get("http://" + p.Health + "/healthz") //nolint:noctx // it is in this process
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	return done
}

// TestLeave: when another process takes the place of a gate no write of a tenant fails. Its watches go on, and so they do where they were when
// the gate that leaves cuts what does not end by itself: their client sees each change once, and not that there is another gate.
func TestLeave(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	first := process(t, t.TempDir(), r.keys)
	var err error
	if r.table, err = OpenTable(first.Tenants); err != nil {
		t.Fatal(err)
	}
	k := r.tenant(t, "aaaaaaaa-9501", "org-a", 1<<30)
	second := first
	ports, err := freeport.TakeSeveral(1)
	if err != nil {
		t.Fatal(err)
	}
	second.Health = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	leave := make(chan struct{})
	first.Leave, first.LeaveTimeout = leave, time.Second
	ended := begin(t, first)

	// An API server has a connection for each resource: one that is written to, and one that is only watched.
	c, key := dial(t, first.Listen, r.keys, r.keys, k.User()), k.Prefix()+"x"
	busy, idle := watch(ctx, t, c, key), watch(ctx, t, dial(t, first.Listen, r.keys, r.keys, k.User()), k.Prefix()+"idle")
	var written []string
	write := func(key, value string) {
		t.Helper()
		if _, err := c.Put(ctx, key, value); err != nil {
			t.Errorf("write %s: %v", value, err)
		}
	}
	count := func() {
		t.Helper()
		written = append(written, strconv.Itoa(len(written)))
		write(key, written[len(written)-1])
	}
	for range 20 {
		count()
	}
	begin(t, second)
	close(leave)
	left := time.Now()
	for over := false; !over; {
		count()
		select {
		case err := <-ended:
			if over = true; err != nil {
				t.Error(err)
			}
		default:
		}
	}
	if after := time.Since(left); after < first.LeaveTimeout {
		t.Errorf("it has ended with two watches after %s, want %s", after, first.LeaveTimeout)
	}
	for range 20 {
		count()
	}
	write(key, last)
	write(k.Prefix()+"idle", last)
	if d := cmp.Diff(append(written, last), <-busy); d != "" {
		t.Errorf("the watch of what is written: -want +got\n%s", d)
	}
	if d := cmp.Diff([]string{last}, <-idle); d != "" {
		t.Errorf("the watch of what is not: -want +got\n%s", d)
	}
}

// last is the value with which a watch has seen enough.
const last = "last"

// watch returns what a watch sees, when that is all, or when it has ended.
func watch(ctx context.Context, t *testing.T, c *clientv3.Client, key string) <-chan []string {
	t.Helper()
	now, err := c.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	// From a revision on, as API servers do: without one a watch may begin anew with the last change before it.
	watching := c.Watch(clientv3.WithRequireLeader(ctx), key, clientv3.WithCreatedNotify(), clientv3.WithRev(now.Header.Revision+1))
	if made := <-watching; made.Err() != nil || !made.Created {
		t.Fatalf("watch: %v", made.Err())
	}
	all := make(chan []string, 1)
	go func() {
		var seen []string
		defer func() { all <- seen }()
		for answer := range watching {
			if err := answer.Err(); err != nil {
				seen = append(seen, err.Error())
			}
			for _, e := range answer.Events {
				seen = append(seen, string(e.Kv.Value))
			}
			if slices.Contains(seen, last) {
				return
			}
		}
	}()
	return all
}

// TestDoubtAfterTakingOver: what was written by way of the gate before is measured once more.
func TestDoubtAfterTakingOver(t *testing.T) {
	r := newRig(t)
	k := r.tenant(t, "aaaaaaaa-9502", "org-a", 1<<20)
	r.gate.doubtAll()
	if doubts := len(r.gate.tenants[k.User()].count.doubtful); doubts != 1 {
		t.Errorf("%d measurements are due, want one", doubts)
	}
}
