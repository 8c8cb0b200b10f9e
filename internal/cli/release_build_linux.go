package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/hosting/release"
)

func newReleaseBuildCommand(e *env) *cobra.Command {
	source := "."
	cmd := &cobra.Command{
		Use:   "build [VERSION...]",
		Short: "Build the programs of a release, and of nodes, from source",
		Long: `Build upstream Kubernetes from the modules in the folder kubernetes of KQueen's
source, and keep the programs for all installations of this user on this machine.
What is built already is not built again. Without a version all are built, and what
nodes are made of (containerd, runc, CNI plugins, images) from the folder node.

The first build takes minutes and needs the Go toolchain, and for nodes the Debian
packages gcc, libc6-dev, libseccomp-dev, pkg-config and busybox-static. A running
KQueen learns of the new release at its next start.`,
		Example: `  kqueen release build
  kqueen release build v1.36.3 --source ~/src/kqueen`,
		RunE: func(cmd *cobra.Command, versions []string) error {
			return e.buildReleases(cmd.Context(), source, versions)
		},
	}
	cmd.Flags().StringVar(&source, "source", source, "folder of KQueen's source, which holds the folders kubernetes and node")
	return cmd
}

func (e *env) buildReleases(ctx context.Context, source string, versions []string) error {
	modules, err := release.Discover(ctx, source)
	if err != nil {
		return fmt.Errorf("%w; name the folder of KQueen's source with --source", err)
	}
	chosen, err := chooseModules(modules, versions)
	if err != nil {
		return err
	}
	dir, err := release.DefaultDir()
	if err != nil {
		return err
	}
	store := release.NewStore(dir)
	for _, m := range chosen {
		err := e.buildStep("Kubernetes "+m.Version.String(), func(report func(release.Step)) (string, error) {
			binaries, err := store.Ensure(ctx, m.Version, release.Source{Build: &release.Build{Module: m.Dir}}, report)
			return binaries.Dir, err
		})
		if err != nil {
			return err
		}
	}
	module := filepath.Join(source, "node")
	if _, err := os.Stat(module); err != nil || len(versions) > 0 {
		return nil //nolint:nilerr // a source without the folder node has nothing to build there
	}
	return e.buildStep("node parts", func(report func(release.Step)) (string, error) {
		parts, err := store.EnsureNodeParts(ctx, module, report)
		return parts.Dir, err
	})
}

// buildStep makes one thing, which says in which folder it is, and shows how that goes on and what it took.
func (e *env) buildStep(name string, build func(report func(release.Step)) (string, error)) error {
	begin := time.Now()
	printer := &buildPrinter{e: e, name: name, redraw: canRedraw(e.stderr)}
	dir, err := build(printer.step)
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	e.say("  ✓ %s in %s   %.1fs", name, dir, time.Since(begin).Seconds())
	return nil
}

// chooseModules picks the modules of the given versions, or all.
func chooseModules(modules []release.ModuleInfo, versions []string) ([]release.ModuleInfo, error) {
	if len(versions) == 0 {
		return modules, nil
	}
	known := map[string]release.ModuleInfo{}
	var names []string
	for _, m := range modules {
		known[m.Version.String()] = m
		names = append(names, m.Version.String())
	}
	var chosen []release.ModuleInfo
	for _, v := range versions {
		m, ok := known[v]
		if !ok {
			return nil, fail(codeNotFound, "the source has no module for %s; it has %s; add a minor with: go run ./kubernetes/generate %s", v, strings.Join(names, ", "), v)
		}
		chosen = append(chosen, m)
	}
	return chosen, nil
}

// buildPrinter shows that a build goes on: in place on a terminal, elsewhere a line every half minute.
type buildPrinter struct {
	e       *env
	name    string
	redraw  bool
	printed time.Duration
}

const buildLineInterval = 30 * time.Second

func (p *buildPrinter) step(s release.Step) {
	count := ""
	if s.Total > 0 {
		count = fmt.Sprintf("   %d/%d %s", s.Done, s.Total, s.Unit)
	}
	line := fmt.Sprintf("  … %s: %s   %.0fs%s", p.name, s.Name, s.Elapsed.Seconds(), count)
	if p.redraw {
		fmt.Fprintf(p.e.stderr, "\r%s\x1b[K", line)
		return
	}
	if p.printed == 0 || s.Elapsed < p.printed || s.Elapsed-p.printed >= buildLineInterval {
		p.printed = max(s.Elapsed, 1)
		p.e.say("%s", line)
	}
}
