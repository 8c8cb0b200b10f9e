//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestHostileTenant: what the cluster-admin of one cluster does at once, with a node of its own and pods that may do anything there, stops no
// client of another cluster, ends no program and no container beside its own, and takes nothing of the host that others need. KQUEEN_E2E_HOSTILE
// is for how long. That it reads and writes nothing of the host is what TestWorkers/Walls shows, and nothing of other clusters TestIsolation.
func TestHostileTenant(t *testing.T) {
	needRoot(t)
	text := os.Getenv("KQUEEN_E2E_HOSTILE")
	if text == "" {
		t.Skip(`KQUEEN_E2E_HOSTILE does not say for how long; see "make soak"`)
	}
	lasts, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KQUEEN_E2E_HOSTILE: %v", err)
	}
	i := started(t)
	i.ok("organization", "update", "default", "--spec", `{"quota":{"store":"64Mi"}}`)
	for _, name := range []string{"hostile", "bystander"} {
		i.ok("cluster", "create", name, "--nodes", "1", "--wait", "--timeout", patience.String())
	}
	hostile, bystander := i.workers("hostile"), i.workers("bystander")
	i.addonsReady("hostile", "bystander")
	hostile.startedContainers()
	containers := bystander.startedContainers()
	others := func() []string {
		return i.supervised(func(w workloadStatus, _ componentStatus) bool { return !strings.Contains(w.Name, "hostile") })
	}
	programs := others()
	s := &soak{installation: i, t: t}
	through := i.tenant("default", "bystander")
	loaded, unload := context.WithCancel(t.Context())
	defer unload()
	s.load(loaded, "bystander by the gateway", through)
	s.load(loaded, "bystander directly", i.direct(through, "bystander"))

	ctx, end := context.WithTimeout(t.Context(), lasts)
	defer end()
	hostile.apply("hostile.yaml")
	attack := hostileClients(ctx, t, hostile)
	<-ctx.Done()
	attack.Wait()
	for _, l := range s.loads {
		l.goesOn(t, 10)
	}
	unload()
	for _, l := range s.loads {
		l.done.Wait()
		l.flawless(t)
	}
	if diff := cmp.Diff(programs, others()); diff != "" {
		t.Errorf("programs beside those of the hostile cluster (-before +after):\n%s", diff)
	}
	if now := bystander.startedContainers(); !slices.Equal(now, containers) {
		t.Errorf("containers of the bystander were %q and are %q", containers, now)
	}
	bystander.kube("run", "after", "--image", testImage(t), "--restart=Never", "--command", "--", "sleep", "1000")
	bystander.kube("wait", "--for=condition=Ready", "pod/after", "--timeout=2m")
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Errorf("the host has no inotify instance left for its root: %v", err)
	} else {
		_ = unix.Close(fd)
	}
}

// hostileClients fill the keyspace of a cluster with objects of up to a megabyte, list and watch all, and hold idle connections to the gateway and
// to the port of the API server, until ctx ends. What is refused does not matter.
func hostileClients(ctx context.Context, t *testing.T, of *workers) *sync.WaitGroup {
	t.Helper()
	through := of.tenant("default", "hostile")
	direct := of.direct(through, "hostile")
	client, err := kubernetes.NewForConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps(corev1.NamespaceDefault)
	var all sync.WaitGroup
	again := func(clients int, act func(n int)) {
		for range clients {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					act(n)
				}
			})
		}
	}
	again(8, func(n int) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "full-"}, Data: map[string]string{"x": strings.Repeat("x", 1+n%8<<17)}}
		_, _ = maps.Create(ctx, m, metav1.CreateOptions{})
	})
	again(4, func(int) { _, _ = maps.List(ctx, metav1.ListOptions{}) })
	again(40, func(int) {
		if w, err := maps.Watch(ctx, metav1.ListOptions{}); err == nil {
			defer w.Stop()
			for range w.ResultChan() {
			}
		}
	})
	for _, config := range []string{through.Host, direct.Host} {
		u, err := url.Parse(config)
		if err != nil {
			t.Fatal(err)
		}
		again(300, func(n int) { idle(ctx, u.Host, fmt.Sprint(n)) })
	}
	return &all
}

// idle holds a connection that says nothing, or nothing after its hello, until it is closed.
func idle(ctx context.Context, address, name string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(floodSource)}}).DialContext(ctx, "tcp", address)
	if err != nil {
		<-ctx.Done()
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if len(name)%2 == 0 {
		_ = tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true}).HandshakeContext(ctx)
	}
	_, _ = conn.Read(make([]byte, 1))
}
