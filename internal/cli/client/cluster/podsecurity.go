package cluster

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

const flagPodSecurity = "pod-security"

// registerPodSecurity adds the flag that says what pods may do.
func registerPodSecurity(cmd *cobra.Command, level *string, without string) {
	usage := "what pods may do, outside of kube-system: privileged, baseline or restricted " + without
	cmd.Flags().StringVar(level, flagPodSecurity, "", strings.TrimSpace(usage))
	_ = cmd.RegisterFlagCompletionFunc(flagPodSecurity, command.OneOf(v1alpha1.PodSecurityLevels()...))
}

func checkPodSecurity(cmd *cobra.Command, level string) error {
	if !cmd.Flags().Changed(flagPodSecurity) || slices.Contains(v1alpha1.PodSecurityLevels(), level) {
		return nil
	}
	return exit.UsageError(cmd, "--%s: %q has to be one of %s", flagPodSecurity, level, strings.Join(v1alpha1.PodSecurityLevels(), ", "))
}

// newUpdateClusterCommand returns `cluster update`.
func newUpdateClusterCommand(e *connection.Env) *cobra.Command {
	cmd, u := verbs.UpdateCommand(e, kinds.Cluster, `kqueen cluster update demo --spec '{"network":{"extraSANs":["demo.example.com"]}}'`)
	var level string
	registerPodSecurity(cmd, &level, "")
	u.FromFlags = func(cmd *cobra.Command) (map[string]any, error) {
		if !cmd.Flags().Changed(flagPodSecurity) {
			return map[string]any{}, nil
		}
		return map[string]any{"podSecurity": level}, checkPodSecurity(cmd, level)
	}
	return cmd
}
