package host

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/hosting/release"
)

func newReleasePathCommand(e *connection.Env) *cobra.Command {
	version := ""
	cmd := &cobra.Command{
		Use:   "path PROGRAM",
		Short: "Show where a program of Kubernetes or of nodes is on this machine",
		Example: `  kqueen release path kubectl
  kqueen release path kubeadm --version v1.36.3
  kqueen release path ctr`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: slices.Concat(release.Components, release.NodePrograms),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := programPath(args[0], version)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(e.Stdout, path)
			return err
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "version of Kubernetes (default the newest that is built)")
	return cmd
}

func programPath(program, version string) (string, error) {
	dir, err := release.DefaultDir()
	if err != nil {
		return "", err
	}
	store := release.NewStore(dir)
	if slices.Contains(release.NodePrograms, program) {
		return nodeProgramPath(store, dir, program, version)
	}
	built, err := store.List()
	if err != nil {
		return "", err
	}
	var chosen *release.Binaries
	for i, b := range built {
		if version != "" && b.Version.String() != version {
			continue
		}
		if chosen == nil || b.Version.Compare(chosen.Version) > 0 {
			chosen = &built[i]
		}
	}
	if chosen == nil {
		return "", exit.Fail(exit.NotFound, "no such release is built in %s; build one with: kqueen release build", dir)
	}
	if !slices.Contains(release.Components, program) {
		return "", exit.Fail(exit.NotFound, "release %s has no program %q", chosen.Version, program)
	}
	if chosen.Path(program) == "" {
		return "", exit.Fail(exit.NotFound, "%s of %s is not built in %s; build it with: kqueen release build", program, chosen.Version, dir)
	}
	return chosen.Path(program), nil
}

// nodeProgramPath finds a program of nodes, which is the same for every version of Kubernetes.
func nodeProgramPath(store *release.Store, dir, program, version string) (string, error) {
	if version != "" {
		return "", exit.Fail(exit.Usage, "%s has no version of Kubernetes: leave out --version", program)
	}
	parts, ok, err := store.LookupNodeParts()
	if err != nil {
		return "", err
	}
	if !ok {
		return "", exit.Fail(exit.NotFound, "no node parts are built in %s; build them with: kqueen release build", dir)
	}
	return parts.Program(program), nil
}
