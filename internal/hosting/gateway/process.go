package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

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
	// Health is where "GET /healthz" answers 200 while it runs, and "GET /metrics" what it has counted.
	Health string
	Log    *slog.Logger
}

// Args are the process' arguments for the command line, which has a flag for each field.
func (p Process) Args() []string {
	return []string{"--listen", p.Listen, "--handover", p.Handover, "--routes", p.Routes, "--health", p.Health}
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
	g := New(Config{Log: p.Log})
	// With the routes that there are, before the first connection is accepted.
	file := followed{gateway: g, path: p.Routes, log: p.Log}
	file.look()
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	accepting, leave := context.WithCancel(ctx)
	defer leave()
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
	group.Go(func() error { return file.follow(ctx) })
	return group.Wait()
}

// lookInterval is the time between two looks at the file: a call to the kernel while nothing has changed.
const lookInterval = 100 * time.Millisecond

// followed is a file whose routes a gateway has.
type followed struct {
	gateway *Gateway
	path    string
	log     *slog.Logger
	last    os.FileInfo
}

func (f *followed) follow(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.look()
		}
	}
}

// look brings the gateway to what the file says when it is another one than last time: each is written anew. Without a
// file, or with one that cannot be read, the routes stay as they are.
func (f *followed) look() {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && f.last != nil && os.SameFile(info, f.last) && info.ModTime().Equal(f.last.ModTime()) {
		return
	}
	if err == nil {
		// Said once of each file: it does not become better by itself.
		f.last = info
		err = f.take()
	}
	if err != nil {
		f.log.Error("routes stay as they are", "error", err)
	}
}

func (f *followed) take() error {
	routes, err := readTable(f.path)
	if err != nil {
		return err
	}
	for _, host := range f.gateway.hosts() {
		if _, stays := routes[host]; !stays {
			f.gateway.RemoveRoute(host)
		}
	}
	for host, backend := range routes {
		if err := f.gateway.SetRoute(host, backend); err != nil {
			return err
		}
	}
	return nil
}
