// Command kqueen is KQueen: the server, the command line and everything they start.
// It only hands the arguments and streams of the process to package cli.
package main

import (
	"os"

	"kqueen.io/kqueen/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
