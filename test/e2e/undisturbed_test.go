//go:build linux

package e2e

import (
	"context"
	"net"
	"os/exec"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
	"kqueen.io/kqueen/internal/platform/relay"
)

// undisturbed runs what a browser does to its end in a network of its own, in which no interface comes or goes, as those of machines do in that of the
// host while tests run side by side. Of the host it reaches what listens at these addresses of 127.0.0.1, under the same addresses, and
// nothing else.
func (i *installation) undisturbed(cmd *exec.Cmd, addresses ...string) result {
	i.t.Helper()
	ended := make(chan result, 1)
	osthread.Spend(func() {
		ctx, end := context.WithCancel(i.t.Context())
		defer end()
		if err := relayAll(ctx, addresses); err != nil {
			ended <- result{stderr: err.Error(), code: -1}
			return
		}
		ended <- i.runFor(browserTimeout, cmd) // a process begins in the network of the thread that starts it
	})
	return <-ended
}

// relayAll makes a network for the calling thread, and passes on what connects to these addresses in it to the same ones of the host, until
// ctx ends.
func relayAll(ctx context.Context, addresses []string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return err
	}
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		relay.CloseWhenDone(ctx, listener)
		go relayEach(ctx, listener, address)
	}
	return nil
}

// relayEach runs on threads of the host's network: a listener and what it accepts stay in the network in which it was opened, whichever thread
// uses them.
func relayEach(ctx context.Context, listener net.Listener, address string) {
	for {
		inside, err := listener.Accept()
		if err != nil {
			return // it was closed
		}
		go func() {
			outside, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil {
				_ = inside.Close() // the caller sees that nothing listens there
				return
			}
			relay.Both(ctx, inside, outside)
		}()
	}
}
