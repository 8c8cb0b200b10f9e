package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/platform/kube"
)

// version of this program. Releases set it: -ldflags "-X kqueen.io/kqueen/internal/cli.version=v1.2.3".
var version string

// programVersion is the version of this program, or "dev".
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

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
func newVersionCommand(e *env) *cobra.Command {
	var format string
	var clientOnly bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of this program and of the admin plane",
		Example: "  kqueen version\n  kqueen version --client -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := versions{Client: clientVersion{
				Version: programVersion(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}}
			if !clientOnly {
				found.AdminPlane = e.planeVersion(cmd.Context())
			}
			return e.printVersions(found, format)
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "do not ask the admin plane")
	registerOutput(cmd, &format, "text", []string{"text", "json", "yaml"})
	return cmd
}

// planeVersion asks the admin plane. Without an answer it says why and returns nil: the question was also
// about this program.
func (e *env) planeVersion(ctx context.Context) *planeVersion {
	through, err := e.throughDoor()
	if err == nil && through {
		e.say("admin plane: it is not seen through the door of %s", e.contextInUse())
		return nil
	}
	config, err := e.config()
	if err != nil {
		e.say("admin plane: %s", e.explain(err))
		return nil
	}
	info, err := kube.ServerVersion(ctx, config)
	if err != nil {
		e.say("admin plane: %s", e.explain(err))
		return nil
	}
	return &planeVersion{Version: info.GitVersion, Platform: info.Platform}
}

func (e *env) printVersions(found versions, format string) error {
	var data []byte
	var err error
	switch format {
	case "text":
		text := fmt.Sprintf("kqueen %s (%s, %s)\n", found.Client.Version, found.Client.Go, found.Client.Platform)
		if plane := found.AdminPlane; plane != nil {
			text += fmt.Sprintf("admin plane: Kubernetes %s (%s)\n", cleanLine(plane.Version), cleanLine(plane.Platform))
		}
		data = []byte(text)
	case "json":
		data, err = json.MarshalIndent(found, "", "    ")
		data = append(data, '\n')
	case "yaml":
		data, err = yaml.Marshal(found)
	default:
		return fail(codeUsage, "--output: %q is no format; choose one of text, json, yaml", format)
	}
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(data)
	return err
}
