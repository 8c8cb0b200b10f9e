package guest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/workers/node"
)

// hostNetworkFlag hands the host's network to the second life of the process, as an open file.
const hostNetworkFlag = "--host-network"

// Begin is process 1 of a new machine, in namespaces of its own but in the host's network. It leaves that
// network, keeping a hand on it, and executes the program again with again and a flag: only so do all
// threads of the process change over. It returns only on an error.
func Begin(program string, again []string) error {
	host, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0) // inherited: not close-on-exec
	if err != nil {
		return fmt.Errorf("open the host's network: %w", err)
	}
	// The thread that executes becomes the process, with the network that it is in.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("leave the host's network: %w", err)
	}
	args := append([]string{program}, again...)
	args = append(args, hostNetworkFlag+"="+strconv.Itoa(host))
	return fmt.Errorf("execute %s: %w", program, unix.Exec(program, args, os.Environ()))
}

// Run is the life of a machine: it makes mounts, cgroups and network, then serves until ctx ends.
// host is the host's network as an open file.
func Run(ctx context.Context, c Config, host int, log *slog.Logger) error {
	unix.CloseOnExec(host)
	if err := unix.Sethostname([]byte(c.Hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := makeMounts(c.Mounts, c.Keep); err != nil {
		return err
	}
	// Anew: of the pods of an earlier life nothing runs any more, but a kubelet that finds their cgroups waits for their end,
	// for a minute and longer, before it starts them again.
	if err := node.RemoveCgroups(c.Cgroup); err != nil {
		return err
	}
	if err := errors.Join(node.MakeCgroups(c.Cgroup), node.BoundCgroup(c.Cgroup, c.Size)); err != nil {
		return err
	}
	n, err := openNetworks(host)
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
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return reap(ctx) })
	group.Go(func() error { return n.keepRoutes(ctx, c.RoutesFile, log) })
	dialer := newHostDialer(ctx, host)
	for _, f := range c.Forward {
		l, err := net.Listen("tcp", f.Listen.String())
		if err != nil {
			return fmt.Errorf("listen for the API server's callers: %w", err)
		}
		group.Go(func() error { return forward(ctx, l, f.Connect, dialer) })
	}
	if c.Exit != "" {
		l, err := egress.Listen(c.Exit)
		if err != nil {
			return fmt.Errorf("open the exit of the egress proxy: %w", err)
		}
		group.Go(func() error { return egress.Serve(ctx, l, dialInside(c.Ranges)) })
	}
	group.Go(func() error { return serveHealth(ctx, c.Health.String()) })
	log.Info("machine is ready", "address", c.Network.Address.Addr(), "bridge", c.Network.Bridge)
	return group.Wait()
}

// reap collects the processes whose parents are gone: process 1 is the parent of all of them, and it has
// no child of its own that another part of it waits for.
func reap(ctx context.Context) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	for {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
		}
	}
}

// healthTimeout bounds a request for health and everything about its connection.
const healthTimeout = 5 * time.Second

func serveHealth(ctx context.Context, address string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	server := &http.Server{Addr: address, Handler: mux, ReadTimeout: healthTimeout, WriteTimeout: healthTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 4 << 10}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health: %w", err)
	}
	return nil
}
