package guest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/healthz"
	"kqueen.io/kqueen/internal/platform/spawn"
	"kqueen.io/kqueen/internal/workers/node"
)

// clearTimeout bounds the end of what an earlier life has left.
const clearTimeout = 30 * time.Second

// Run is the life of a machine: it makes the machine, then serves it until ctx ends, and the machine with it.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	// What runs in the machine is not what the kernel is to keep, whatever this process has inherited.
	if err := confine.Usual(os.Getpid()); err != nil {
		return err
	}
	if err := c.clear(ctx); err != nil {
		return err
	}
	if err := node.MakeMachineCgroup(c.Cgroup, c.Limits, c.IDs.first()); err != nil {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	in, err := c.launch()
	if err != nil {
		return err
	}
	defer in.end()
	host, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the host's network: %w", err)
	}
	defer unix.Close(host)
	n, err := openNetworks(host, in.network)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.make(c.Network, c.Forward); err != nil {
		return err
	}
	if c.Masquerade.IsValid() {
		if err := masquerade(n.hereFD, c.Masquerade); err != nil {
			return fmt.Errorf("let pods reach others under the machine's address: %w", err)
		}
	}
	if err := in.live(c.Hostname, c.Cgroup, time.Now().Add(birthTimeout)); err != nil {
		return err
	}
	return c.serve(ctx, in, n, log)
}

// clear ends and removes what an earlier life has left, which ended out of order. A kubelet that finds the cgroups of pods
// of which nothing runs any more waits for their end, for a minute and longer, before it starts them again.
func (c Config) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clearTimeout)
	defer cancel()
	if err := node.KillCgroup(ctx, c.Cgroup); err != nil {
		return fmt.Errorf("end what an earlier life of the machine has left: %w", err)
	}
	return node.RemoveCgroups(c.Cgroup)
}

// serve is the life of a machine that is made.
func (c Config) serve(ctx context.Context, in *inner, n *networks, log *slog.Logger) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return in.last(ctx) })
	group.Go(func() error { return n.keepRoutes(ctx, c.RoutesFile, log) })
	for _, f := range c.Forward {
		l, err := listenIn(n.hereFD, f.Listen)
		if err != nil {
			return fmt.Errorf("listen for the API server's callers: %w", err)
		}
		group.Go(func() error { return forward(ctx, l, f.Connect) })
	}
	if c.Exit != "" {
		l, err := egress.Listen(c.Exit)
		if err != nil {
			return fmt.Errorf("open the exit of the egress proxy: %w", err)
		}
		knows := func(ctx context.Context) error { return knowsPods(ctx, in.pid) }
		group.Go(func() error { return egress.ServeExit(ctx, l, dialInside(n.hereFD, c.Ranges), knows) })
	}
	starts, err := spawn.Listen(c.Starts)
	if err != nil {
		return err
	}
	group.Go(func() error { return in.serveStarts(ctx, starts) })
	health, err := listenIn(n.hereFD, c.Health)
	if err != nil {
		return fmt.Errorf("serve health: %w", err)
	}
	group.Go(func() error { return healthz.Serve(ctx, health, nil, nil) })
	log.Info("machine is ready", "address", c.Network.Address.Addr(), "bridge", c.Network.Bridge, "users", c.IDs.first())
	return group.Wait()
}

// listenIn listens in a network.
func listenIn(network int, at netip.AddrPort) (l net.Listener, err error) {
	err = inNetwork(network, func() (err error) {
		l, err = net.Listen("tcp", at.String())
		return err
	})
	return l, err
}
