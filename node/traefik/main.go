// Command traefik is upstream's proxy with the providers that a cluster needs: Ingress and Gateway API, and a default
// certificate from a folder.
//
// Upstream's program has a dozen more, certificates by ACME, plugins, a dashboard and exporters of metrics. It takes upstream's
// flags for what it has, and refuses the others.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/traefik/traefik/v3/pkg/version"
)

// upstream is the module whose version is that of this program.
const upstream = "github.com/traefik/traefik/v3"

func main() {
	if slices.Contains(os.Args[1:], "--version") {
		fmt.Println("traefik", upstreamVersion())
		return
	}
	version.Version = upstreamVersion()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "traefik:", err)
		os.Exit(1)
	}
}

// run serves until a signal ends it.
func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return fmt.Errorf("parse the flags: %w", err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := setUpLogs(o.Log); err != nil {
		return fmt.Errorf("set up logs: %w", err)
	}
	s, err := newServer(o)
	if err != nil {
		return err
	}
	if o.Ping != nil {
		o.Ping.WithContext(ctx)
	}
	s.Start(ctx)
	defer s.Close()
	s.Wait()
	return nil
}

// upstreamVersion is that of the module, which the linker records.
func upstreamVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == upstream {
			return m.Version
		}
	}
	return "unknown"
}
