// Command toolbox is what the image to try things with has beside busybox: curl and printenv, which Debian's busybox
// lacks, wget, which ends there with a segmentation fault when it gets a timeout (-T), and nslookup, which does not find
// kubernetes.default there. The name by which it is called says which of them it is.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	// Certificate authorities as Mozilla has them: the image has no file of them.
	_ "golang.org/x/crypto/x509roots/fallback"
)

// streams are the standard ones of a tool.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// tool runs with arguments and returns the status with which the program ends.
type tool func(ctx context.Context, args []string, s streams) int

func tools() map[string]tool {
	return map[string]tool{"curl": runCurl, "nslookup": runNslookup, "printenv": printenv, "wget": runWget}
}

func main() {
	os.Exit(run(context.Background(), os.Args, streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run takes the name in args[0], or behind the program's own name. With --list it prints all names.
func run(ctx context.Context, args []string, s streams) int {
	known := tools()
	if found, ok := known[filepath.Base(args[0])]; ok {
		return found(ctx, args[1:], s)
	}
	if len(args) == 2 && args[1] == "--list" {
		for _, name := range slices.Sorted(maps.Keys(known)) {
			fmt.Fprintln(s.out, name)
		}
		return 0
	}
	if len(args) > 1 && known[args[1]] != nil {
		return known[args[1]](ctx, args[2:], s)
	}
	fmt.Fprintf(s.err, "usage: toolbox TOOL [ARGUMENT...], where TOOL is one of %v\n", slices.Sorted(maps.Keys(known)))
	return 2
}

// printenv prints the values of the named variables, or all variables. The status is 1 where one is not set.
func printenv(_ context.Context, names []string, s streams) int {
	if len(names) == 0 {
		for _, variable := range os.Environ() {
			fmt.Fprintln(s.out, variable)
		}
	}
	status := 0
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			fmt.Fprintln(s.out, value)
		} else {
			status = 1
		}
	}
	return status
}
