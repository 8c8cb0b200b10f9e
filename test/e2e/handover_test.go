//go:build linux

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// replaceFronts upgrades an installation to a KQueen whose gateway, egress and store gate are others, under clients of a cluster: none is
// refused, no connection is cut, and what was open goes on in the processes that were there before.
func replaceFronts(t *testing.T, i *installation) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	s := &soak{installation: i, t: t}
	s.load(ctx, "by the gateway", i.tenant("default", "demo"))
	l, connect, refused := s.loads[0], gatewayDialer(t, i, "demo"), make(chan error, 1)
	go func() { refused <- knock(ctx, connect) }()
	l.goesOn(t, 3)

	before := map[string]int{}
	for _, name := range []string{"gateway", "egress", "store-gate"} {
		before[name] = i.pid(name, name)
	}
	carries := statOf(before["gateway"]).start
	i.program = otherBuilds(t, i.program)
	i.halt()
	i.up()
	for name, pid := range before {
		if i.pid(name, name) == pid {
			t.Errorf("%s %d is still there, and is not replaced", name, pid)
		}
	}
	l.goesOn(t, 10)
	if statOf(before["gateway"]).start != carries {
		t.Error("the gateway that was there before has ended with connections")
	}
	end()
	if err := <-refused; err != nil {
		t.Errorf("a connection was refused: %v", err)
	}
	l.done.Wait()
	// On a host that is busy with other tests an answer may be late.
	if o := l.outages[l.fault]; o.cut > 0 || o.failed > o.slow {
		t.Errorf("%d watches were cut and %d of %d reads failed, %d of them too late: %v", o.cut, o.failed, l.reads, o.slow, o.why)
	}
	if len(l.lost)+len(l.missed)+l.relists > 0 {
		t.Errorf("lost: %v, missed: %v, lists begun anew: %d", l.lost, l.missed, l.relists)
	}
}

// goesOn waits until the watch has seen so many writes more.
func (l *load) goesOn(t *testing.T, more int) {
	t.Helper()
	seen := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.seen
	}
	from := seen()
	eventually(t, "writes and a watch go on", func(context.Context) error {
		if now := seen(); now < from+more {
			return fmt.Errorf("the watch is at %d, and was at %d", now, from)
		}
		return nil
	})
}

// gatewayDialer connects to a cluster's API server by the gateway.
func gatewayDialer(t *testing.T, i *installation, cluster string) func(context.Context) (net.Conn, error) {
	t.Helper()
	cp := &v1alpha1.ControlPlane{}
	if err := i.admin().Get(t.Context(), client.ObjectKey{Namespace: "org-default", Name: cluster}, cp); err != nil {
		t.Fatal(err)
	}
	dialer := &tls.Dialer{Config: &tls.Config{ServerName: cp.Status.Endpoint.ServerName, InsecureSkipVerify: true}} // the test looks, it says nothing
	return func(ctx context.Context) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", cp.Status.Endpoint.Gateway)
	}
}

// knock connects again and again until ctx ends, or fails.
func knock(ctx context.Context, connect func(context.Context) (net.Conn, error)) error {
	tick := time.NewTicker(beat / 5)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		conn, err := connect(ctx)
		if ctx.Err() != nil {
			err = nil
		}
		if err != nil {
			return err
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
}

// otherBuilds makes a copy of kqueen in which gateway, egress and store gate are others than those of program. What they are is text in it,
// such as "gateway 2", and the copy has another number.
func otherBuilds(t *testing.T, program string) string {
	t.Helper()
	code, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gateway ", "egress ", "store gate "} {
		found := 0
		for at := 0; ; {
			next := bytes.Index(code[at:], []byte(name))
			if next < 0 {
				break
			}
			at += next + len(name)
			if at < len(code) && code[at] >= '0' && code[at] <= '9' {
				code[at] = '0' + (code[at]-'0'+1)%10
				found++
			}
		}
		if found == 0 {
			t.Fatalf("%s has no build of %q", program, name)
		}
	}
	// Beside it: other users run it, too.
	other := filepath.Join(filepath.Dir(program), "kqueen-of-other-builds")
	if err := os.WriteFile(other, code, 0o755); err != nil {
		t.Fatal(err)
	}
	return other
}
