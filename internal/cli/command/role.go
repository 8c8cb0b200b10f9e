package command

import (
	"slices"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/exit"
)

// memberRoles are the roles of an organization, from the highest.
var memberRoles = []string{"owner", "operator", "developer", "viewer"}

// RegisterRole adds the flag --role.
func RegisterRole(cmd *cobra.Command, role *string, usage string) {
	cmd.Flags().StringVar(role, "role", "", usage+": owner, operator, developer or viewer")
	_ = cmd.RegisterFlagCompletionFunc("role", OneOf(memberRoles...))
}

// CheckRole refuses what is no role of an organization.
func CheckRole(cmd *cobra.Command, role string) error {
	if !slices.Contains(memberRoles, role) {
		return exit.UsageError(cmd, "--role: %q has to be owner, operator, developer or viewer", role)
	}
	return nil
}
