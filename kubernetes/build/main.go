// Command build builds upstream Kubernetes for control planes, as "kqueen release build" does: the versions that are its arguments, or the
// newest that there is a module for. It is small, so that on
// a new machine Kubernetes is built beside kqueen and not after it: each leaves processors idle that the other uses.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"kqueen.io/kqueen/internal/hosting/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, versions []string) error {
	modules, err := release.Discover(ctx, ".")
	if err != nil {
		return fmt.Errorf("%w; run it in the folder of KQueen's source", err)
	}
	chosen, err := release.Choose(modules, versions)
	if err != nil {
		return err
	}
	dir, err := release.OwnDir()
	if err != nil {
		return err
	}
	show := release.Printer{Out: os.Stderr, Redraw: term.IsTerminal(int(os.Stderr.Fd()))}
	return show.ControlPlanes(ctx, release.NewStore(dir), chosen)
}
