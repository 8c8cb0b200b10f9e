package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/hosting/release"
)

// releaseBuild is what `release build` is asked to do.
type releaseBuild struct {
	source   string
	versions []string
	detach   bool
}

func newReleaseBuildCommand(e *connection.Env) *cobra.Command {
	b := releaseBuild{source: "."}
	cmd := &cobra.Command{
		Use:   "build [VERSION...]",
		Short: "Build the programs of a release, and of nodes, from source",
		Long: `Build upstream Kubernetes from the modules in the folder kubernetes of KQueen's
source, and keep the programs for all installations of this user on this machine.
What is built already is not built again. Without a version the newest is built; the
others are there for clusters that are to be of another one, or to be upgraded. What
nodes run (kubelet, containerd, runc, CNI plugins, images) is built then, from the
folders kubernetes and node, and last the images of addons, for which nodes do not wait.

The first build takes minutes and needs the Go toolchain, and for nodes the Debian
packages gcc, libc6-dev, libseccomp-dev, pkg-config and busybox-static. A running
KQueen offers a new release within 15 seconds, and sees the programs of nodes at once.

With --detach the command returns as soon as control planes can be started, and
goes on with what nodes run in the background. A node pool waits for it and says how
far it is.`,
		Example: `  kqueen release build
  kqueen release build v1.35.4 v1.36.3 --source ~/src/kqueen
  kqueen release build --detach && kqueen up`,
		RunE: func(cmd *cobra.Command, versions []string) error {
			b.versions = versions
			return buildReleases(cmd.Context(), e, b)
		},
	}
	cmd.Flags().StringVar(&b.source, "source", b.source, "folder of KQueen's source, which holds the folders kubernetes and node")
	cmd.Flags().BoolVar(&b.detach, "detach", false, "build what nodes run in the background")
	return cmd
}

func buildReleases(ctx context.Context, e *connection.Env, b releaseBuild) error {
	modules, err := release.Discover(ctx, b.source)
	if err != nil {
		return fmt.Errorf("%w; name the folder of KQueen's source with --source", err)
	}
	chosen, err := release.Choose(modules, b.versions)
	if err != nil {
		return exit.Fail(exit.NotFound, "%w", err)
	}
	dir, err := release.OwnDir()
	if err != nil {
		return err
	}
	store := release.NewStore(dir)
	show := release.Printer{Out: e.Stderr, Redraw: console.CanRedraw(e.Stderr)}
	if err := show.ControlPlanes(ctx, store, chosen); err != nil {
		return err
	}
	parts := filepath.Join(b.source, "node")
	if _, err := os.Stat(parts); err != nil {
		return nil //nolint:nilerr // a source without the folder node has nothing to build there
	}
	if b.detach {
		return buildNodesInBackground(e, store, dir, chosen, b)
	}
	if err := show.Nodes(ctx, store, chosen, parts); err != nil {
		return err
	}
	return show.Addons(ctx, store, parts)
}

const (
	// nodeBuildLog is in the folder for releases.
	nodeBuildLog = "build-of-nodes.log"
	// buildNiceness lets what the user does in the meantime go first.
	buildNiceness = 10
)

// buildNodesInBackground runs the same build once more in a session of its own: what is built already takes it no
// time, and the lock of the store keeps others from doing the same.
func buildNodesInBackground(e *connection.Env, store *release.Store, dir string, chosen []release.ModuleInfo, b releaseBuild) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	log, err := os.Create(filepath.Join(dir, nodeBuildLog))
	if err != nil {
		return fmt.Errorf("open the log of the build: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(program, append([]string{"release", "build", "--source", b.source}, b.versions...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the build of what nodes run: %w", err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, cmd.Process.Pid, buildNiceness); err != nil {
		e.Say("warning: the build goes on at full speed: %v", err)
	}
	if !hasNodes(store, chosen) {
		e.Say("  … what nodes run is being built in the background (log: %s)", log.Name())
	}
	return cmd.Process.Release()
}

// hasNodes says whether what nodes of these versions run is there, though perhaps of an older source.
func hasNodes(store *release.Store, versions []release.ModuleInfo) bool {
	_, ok, err := store.LookupNodeParts()
	_, addons, lookup := store.LookupAddonImages()
	ok, err = ok && addons, errors.Join(err, lookup)
	for _, m := range versions {
		found, _, lookup := store.Lookup(m.Version)
		ok, err = ok && found.HasNode(), errors.Join(err, lookup)
	}
	return ok && err == nil
}
