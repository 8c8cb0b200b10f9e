package organization

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
)

// NewMemberCommand returns `member` and what is under it.
func NewMemberCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "member",
		Aliases: []string{"members"},
		Short:   "Manage the members of an organization",
		Long: `Manage the members of an organization and their roles: owner, operator, developer
or viewer. A member is user:NAME or group:NAME. Owners change members, and all
members see them.`,
		Example: `  kqueen member set user:alice --role operator --org payments
  kqueen member set group:corp:payments-team --role developer --org payments
  kqueen member remove user:alice --org payments`,
	}
	command.Group(cmd)
	cmd.AddCommand(newListMembersCommand(e), newSetMemberCommand(e), newRemoveMemberCommand(e))
	return cmd
}

func newListMembersCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the members of an organization",
		Example: "  kqueen member list --org payments\n  kqueen member list -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			page, err := d.ListMembers(cmd.Context(), e.Organization())
			if err != nil {
				return fmt.Errorf("list the members of organization %s: %w", e.Organization(), err)
			}
			if len(page.Items) == 0 {
				e.Say("no members in organization %s\ncreate one with: %s", e.Organization(), e.Command("member set user:NAME --role ROLE"))
			}
			rows := [][]string{{"MEMBER", "ROLE"}}
			for _, m := range page.Items {
				rows = append(rows, []string{m.ID, m.Role})
			}
			return e.PrintNamed(format, "member", page.Items, rows)
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.NamedFormats)
	return cmd
}

func newSetMemberCommand(e *connection.Env) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:     "set MEMBER...",
		Aliases: []string{"add"},
		Short:   "Add a user or a group to an organization",
		Long: `Add a user or a group to an organization with a role, or change their role. MEMBER
is user:NAME or group:NAME; a NAME alone is a user.

A user has to have signed in within the last 15 minutes for it, unless it lowers a
role; a program needs a token that was created with --mint.`,
		Example: `  kqueen member set alice --role operator --org payments
  kqueen member set group:corp:payments-team --role developer --org payments`,
		Args:              command.Names(1, -1),
		ValidArgsFunction: completeMembers(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command.CheckRole(cmd, role); err != nil {
				return err
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			for _, name := range args {
				m, err := d.SetMember(cmd.Context(), e.Organization(), memberOf(name), rest.Membership{Role: role})
				if err != nil {
					return fmt.Errorf("set member %s: %w", name, err)
				}
				e.Say("%s is %s of organization %s", m.ID, m.Role, e.Organization())
			}
			return nil
		},
	}
	command.RegisterRole(cmd, &role, "role in the organization")
	return cmd
}

func newRemoveMemberCommand(e *connection.Env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:     "remove MEMBER...",
		Aliases: []string{"rm", "delete"},
		Short:   "Remove a user or a group from an organization",
		Long: `Remove a user or a group from an organization. What they created stays.

You are asked first; without a terminal, --yes is required.`,
		Example:           "  kqueen member remove user:alice --org payments --yes",
		Args:              command.Names(1, -1),
		ValidArgsFunction: completeMembers(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			if err := e.Confirmed(cmd, sure, "remove", fmt.Sprintf("Remove %s from organization %s?", console.List(args), e.Organization())); err != nil {
				return err
			}
			for _, name := range args {
				if err := d.RemoveMember(cmd.Context(), e.Organization(), memberOf(name)); err != nil {
					return fmt.Errorf("remove member %s: %w", name, err)
				}
				e.Say("%s is no longer a member of organization %s", memberOf(name), e.Organization())
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}

// memberOf is the id of a member: a name alone is a user's.
func memberOf(name string) string {
	if strings.HasPrefix(name, "user:") || strings.HasPrefix(name, "group:") {
		return name
	}
	return "user:" + name
}

// completeMembers completes those who belong to the organization.
func completeMembers(e *connection.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), command.CompletionDeadline)
		defer cancel()
		d, err := e.API()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // a completion cannot show errors
		}
		page, err := d.ListMembers(ctx, e.Organization())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found []string
		for _, m := range page.Items {
			found = append(found, m.ID)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
