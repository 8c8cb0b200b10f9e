// Command kqueen is KQueen: the server, the command line and everything they start.
package main

import (
	"os"

	"kqueen.io/kqueen/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
