package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/platform/kube"
)

// versions is what `version` prints.
type versions struct {
	Client clientVersion `json:"client"`
	// AdminPlane is absent when it was not asked or did not answer.
	AdminPlane *planeVersion `json:"adminPlane,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

type planeVersion struct {
	Version  string `json:"version"`
	Platform string `json:"platform"`
}

// newVersionCommand returns `version`.
func newVersionCommand(e *connection.Env) *cobra.Command {
	var format string
	var clientOnly bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of this program and of the admin plane",
		Example: "  kqueen version\n  kqueen version --client -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := versions{Client: clientVersion{
				Version: program.Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}}
			if !clientOnly {
				found.AdminPlane = askPlane(cmd.Context(), e)
			}
			return printVersions(e, found, format)
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "do not ask the admin plane")
	command.RegisterOutput(cmd, &format, "text", []string{"text", "json", "yaml"})
	return cmd
}

// askPlane asks the admin plane of this machine's installation, which only its owner reaches. Without an answer it says
// why and returns nil: the question was also about this program.
func askPlane(ctx context.Context, e *connection.Env) *planeVersion {
	d, err := e.API()
	if err != nil {
		e.Say("admin plane: %s", e.Explain(err))
		return nil
	}
	if d.DataDir == "" {
		e.Say("admin plane: only the owner of its machine sees that of %s", cmp.Or(d.Name, d.Server))
		return nil
	}
	config, err := kube.Config(kube.Target{Kubeconfig: filepath.Join(d.DataDir, connection.AdminKubeconfig), Version: program.Version()})
	if err != nil {
		e.Say("admin plane: %s", e.Explain(err))
		return nil
	}
	info, err := kube.ServerVersion(ctx, config)
	if err != nil {
		e.Say("admin plane: %s", e.Explain(err))
		return nil
	}
	return &planeVersion{Version: info.GitVersion, Platform: info.Platform}
}

func printVersions(e *connection.Env, found versions, format string) error {
	var data []byte
	var err error
	switch format {
	case "text":
		text := fmt.Sprintf("kqueen %s (%s, %s)\n", found.Client.Version, found.Client.Go, found.Client.Platform)
		if plane := found.AdminPlane; plane != nil {
			text += fmt.Sprintf("admin plane: Kubernetes %s (%s)\n", console.CleanLine(plane.Version), console.CleanLine(plane.Platform))
		}
		data = []byte(text)
	case "json":
		data, err = json.MarshalIndent(found, "", "    ")
		data = append(data, '\n')
	case "yaml":
		data, err = yaml.Marshal(found)
	default:
		return exit.Fail(exit.Usage, "--output: %q is not a format; choose one of text, json, yaml", format)
	}
	if err != nil {
		return err
	}
	_, err = e.Stdout.Write(data)
	return err
}
