// Command images packs the few images that a cluster needs where no registry can be
// reached, each as an OCI archive that containerd imports:
//
//	images -out DIR [-pause FILE] [-coredns FILE] [-flannel FILE -plugins DIR] [-metrics-server FILE] [-agent FILE] \
//		[-traefik FILE] [-busybox FILE -toolbox FILE -shell FILE...]
//	images -out DIR -plan FILE
//
// In the first form, there is an image for each program. It is asked for its version, which becomes the tag. The names begin with
// kqueen.internal, because these images are ours and not what upstream's registry has.
// For each archive a line is printed: its file, a tab, the image's name. The same
// programs give the same bytes. In the second form, a file says which images, of which files, go into which
// archives: see [plan].
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// registry is what the images' names begin with. The domain is reserved for private
	// use (ICANN, 2024-07-29), so nobody else's registry answers to it.
	registry = "kqueen.internal"
	// askTimeout is for a program that prints its version or its applets.
	askTimeout = time.Minute
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	out := flags.String("out", "", "folder for the archives, which is there already")
	pause := flags.String("pause", "", "the program pause of this module")
	coredns := flags.String("coredns", "", "the program coredns of this module")
	flannel := flags.String("flannel", "", "the program flannel of this module")
	plugins := flags.String("plugins", "", "folder with CNI plugins, which go with flannel")
	metrics := flags.String("metrics-server", "", "the program metrics-server of this module")
	agent := flags.String("agent", "", "the program agent of this module")
	traefik := flags.String("traefik", "", "the program traefik of this module")
	busybox := flags.String("busybox", "", "a static busybox, as in Debian's package busybox-static")
	toolbox := flags.String("toolbox", "", "the program toolbox of this module, which goes with busybox")
	var shell []string
	flags.Func("shell", "bash, or a library that it needs, for the image of busybox; can be repeated", func(file string) error {
		shell = append(shell, file)
		return nil
	})
	planFile := flags.String("plan", "", "a file that says what to pack, in place of the programs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out != "" && *planFile != "" && flags.NFlag() == 2 && flags.NArg() == 0 {
		return packPlan(ctx, *out, *planFile, stdout)
	}
	p := nodePrograms{
		pause: *pause, coredns: *coredns, flannel: *flannel, plugins: *plugins, metrics: *metrics, agent: *agent, traefik: *traefik,
		busybox: *busybox, toolbox: *toolbox, shell: shell,
	}
	if *out == "" || *planFile != "" || flags.NArg() > 0 {
		return errors.New("name -out and programs, or -out and -plan, and nothing else")
	}
	if err := p.check(); err != nil {
		return err
	}
	return p.pack(ctx, *out, stdout)
}

// nodePrograms are files of which images are made, those that are not empty; plugins is a folder.
type nodePrograms struct {
	pause, coredns, flannel, plugins, metrics, agent, traefik, busybox, toolbox string

	shell []string
}

// check says which program is missing that goes into an image with another one.
func (p nodePrograms) check() error {
	switch {
	case (p.flannel == "") != (p.plugins == ""):
		return errors.New("name -flannel and -plugins together: they go into one image")
	case (p.busybox == "") != (p.toolbox == ""), (p.busybox == "") != (len(p.shell) == 0):
		return errors.New("name -busybox, -toolbox and -shell together: they go into one image")
	}
	return nil
}

// pack packs an image for each program.
func (p nodePrograms) pack(ctx context.Context, out string, stdout io.Writer) error {
	packed := false
	for _, img := range []struct {
		name, program string
		contents      func(program string) (contents, error)
	}{
		{"pause", p.pause, func(program string) (contents, error) { return pauseContents(ctx, program) }},
		{"coredns", p.coredns, func(program string) (contents, error) { return corednsContents(ctx, program) }},
		{"flannel", p.flannel, func(program string) (contents, error) { return flannelContents(ctx, program, p.plugins) }},
		{"metrics-server", p.metrics, func(program string) (contents, error) { return metricsContents(ctx, program) }},
		{"node-agent", p.agent, func(program string) (contents, error) { return agentContents(ctx, program) }},
		{"traefik", p.traefik, func(program string) (contents, error) { return traefikContents(ctx, program) }},
		{"busybox", p.busybox, func(program string) (contents, error) { return busyboxContents(ctx, program, p.toolbox, p.shell) }},
	} {
		if img.program == "" {
			continue
		}
		program, err := filepath.Abs(img.program) // without a slash it would be looked for in PATH
		if err != nil {
			return err
		}
		made, err := img.contents(program)
		if err != nil {
			return fmt.Errorf("%s: %w", img.name, err)
		}
		file, reference := img.name+".tar", registry+"/"+img.name+":"+made.tag
		if err := pack(filepath.Join(out, file), reference, made); err != nil {
			return fmt.Errorf("%s: %w", img.name, err)
		}
		fmt.Fprintf(stdout, "%s\t%s\n", file, reference)
		packed = true
	}
	if !packed {
		return errors.New("name at least one program to pack")
	}
	return nil
}

// ask runs a program with arguments that make it print something and end.
func ask(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ask %s %s: %w: %.500s", program, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// versionIn finds the version in what a program says about itself.
func versionIn(said string, pattern *regexp.Regexp) (string, error) {
	found := pattern.FindStringSubmatch(said)
	if found == nil {
		return "", fmt.Errorf("it does not say its version: %.200q", said)
	}
	return found[1], nil
}
