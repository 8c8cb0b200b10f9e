package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/handover"
	"kqueen.io/kqueen/internal/platform/healthz"
)

// Process is a gateway that runs without KQueen: its routes are in a file, so that no restart, crash or hang of KQueen
// cuts a connection or closes a name.
type Process struct {
	// Listen is the address and the port of the gateway.
	Listen string
	// Handover is the folder in which it offers the port to the process that takes its place, and gets it from the one before it.
	Handover string
	// Leave is closed when another process has taken its place: it accepts nothing more, and ends with its last connection. Nil
	// for never.
	Leave <-chan struct{}
	// Routes is the file of its [Table].
	Routes string
	// PlainPort is that of [Config].
	PlainPort uint16
	// Health is where "GET /healthz" answers 200 while it runs, and "GET /metrics" what it has counted.
	Health string
	Log    *slog.Logger
}

// Args are the process' arguments for the command line, which has a flag for each field.
func (p Process) Args() []string {
	args := []string{"--listen", p.Listen, "--handover", p.Handover, "--routes", p.Routes, "--health", p.Health}
	if p.PlainPort != 0 {
		args = append(args, "--plain-port", strconv.Itoa(int(p.PlainPort)))
	}
	return args
}

// Run passes connections on until ctx ends, or until the last one has ended after it was told to leave.
func (p Process) Run(ctx context.Context) error {
	l, _, err := handover.Listen(ctx, p.Handover, p.Listen)
	if err != nil {
		return fmt.Errorf("open the gateway's port: %w", err)
	}
	health, err := net.Listen("tcp", p.Health)
	if err != nil {
		return errors.Join(fmt.Errorf("open the gateway's port for health: %w", err), l.Close())
	}
	g := New(Config{Log: p.Log, PlainPort: p.PlainPort})
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	accepting, leave := context.WithCancel(ctx)
	defer leave()
	g.asleep = func(host string, a Asleep) *sleeper { return g.sleep(ctx, accepting, host, a) }
	// With the routes that there are, before the first connection is accepted.
	file := follow(g, p.Routes, p.Log)
	file.Look()
	group.Go(func() error {
		select {
		case <-p.Leave:
			p.Log.Info("another process accepts connections now; those that there are go on")
			leave()
		case <-ctx.Done():
		}
		return nil
	})
	group.Go(func() error {
		defer end()
		return g.serve(ctx, accepting, l)
	})
	group.Go(func() error {
		handover.Offer(accepting, p.Handover, l, func(err error) { p.Log.Error("no other process can take the place of this one now", "error", err) })
		return nil
	})
	group.Go(func() error {
		// It is closed by one that leaves: the port is free then for another one of the same build.
		return healthz.Serve(accepting, health, func(context.Context) { g.hosts() }, g.metrics.handler())
	})
	group.Go(func() error { return file.Run(ctx) })
	return group.Wait()
}

// follow has a gateway have the routes of a file. Without one, or with one that cannot be read, the routes stay as they are.
func follow(g *Gateway, file string, log *slog.Logger) *atomicfile.Follower {
	return &atomicfile.Follower{
		Path: file,
		Take: func(data []byte) error {
			routes, err := parseTable(data)
			if err != nil {
				return err
			}
			return g.take(routes)
		},
		Failed: func(err error) { log.Error("routes stay as they are", "error", err) },
	}
}

// take brings a gateway to exactly these routes, by host.
func (g *Gateway) take(routes map[string]Route) error {
	for _, host := range g.hosts() {
		if _, stays := routes[host]; !stays {
			g.RemoveRoute(host)
		}
	}
	for host, to := range routes {
		if err := g.set(host, to); err != nil {
			return err
		}
	}
	return nil
}
