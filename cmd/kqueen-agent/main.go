// Command kqueen-agent runs in a cluster that KQueen cannot dial, and dials KQueen.
//
// It only hands the arguments of the process to package agent. Nothing imports it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"kqueen.io/kqueen/internal/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := agent.Main(ctx, os.Args, os.Stderr)
	stop()
	os.Exit(code)
}
