package storegate

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kqueen.io/kqueen/internal/hosting/pki"
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
	ports, err := freePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	file, at := func(name string) string { return filepath.Join(dir, name) }, func(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
	return Process{
		Listen: at(ports[0]), Health: at(ports[1]), Handover: file("handover"), Store: env.address, StoreCA: file("store-ca.crt"), ClientCA: file("ca.crt"),
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

// TestLeave: when another process takes the place of a gate no write of a tenant fails, and its watch misses none.
func TestLeave(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	first := process(t, t.TempDir(), r.keys)
	var err error
	if r.table, err = OpenTable(first.Tenants); err != nil {
		t.Fatal(err)
	}
	k := r.tenant(t, "aaaaaaaa-9501", "org-a", 1<<30)
	second := first
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	second.Health = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	leave := make(chan struct{})
	first.Leave = leave
	ended := begin(t, first)

	c := dial(t, first.Listen, r.keys, r.keys, k.User())
	key := k.Prefix() + "x"
	watching := c.Watch(clientv3.WithRequireLeader(ctx), key, clientv3.WithCreatedNotify())
	if made := <-watching; made.Err() != nil || !made.Created {
		t.Fatalf("watch: %v", made.Err())
	}
	seen := make(chan int, 1)
	go func() {
		n := 0
		for answer := range watching {
			n += len(answer.Events)
			if len(answer.Events) > 0 && string(answer.Events[len(answer.Events)-1].Kv.Value) == "last" {
				break
			}
		}
		seen <- n
	}()
	written := 0
	write := func(value string) {
		t.Helper()
		if _, err := c.Put(ctx, key, value); err != nil {
			t.Errorf("write %d: %v", written, err)
		}
		written++
	}
	for range 20 {
		write("x")
	}
	begin(t, second)
	close(leave)
	until := time.After(500 * time.Millisecond)
	for over := false; !over; {
		write("x")
		select {
		case <-until:
			over = true
		default:
		}
	}
	select {
	case err := <-ended:
		t.Errorf("it has ended with a watch: %v", err)
	default:
	}
	write("last")
	if got := <-seen; got != written {
		t.Errorf("the watch saw %d of %d writes", got, written)
	}
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
