package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kqueen.io/kqueen/internal/cli/exit"
)

// The groups of the commands in help.
const (
	groupClusters     = "clusters"
	groupOrganization = "organization"
	groupAccount      = "account"
	groupMachine      = "machine"
	groupOther        = "other"
)

// grouped says which command is in which group. One that is in none is shown at the end.
func grouped() map[string]string {
	groups := map[string]string{}
	for group, names := range map[string][]string{
		groupClusters:     {"apply", "diff", "cluster", "nodepool", "node", "controlplane", "release", "provisioner", "addon", "upgrade", "rehearsal", "rotation", "backup", "backupschedule", "restore", "backupstore", "inventory", "event", "operation", "logs"},
		groupOrganization: {"organization", "member", "serviceaccount", "quota", "audit", "user", "identityprovider"},
		groupAccount:      {"login", "logout", "whoami", "context", "token", "password", "device"},
		groupMachine:      {"up", "down", "status", "check", "reset", "installation", "support-bundle"},
		groupOther:        {"help", "completion", "version"},
	} {
		for _, name := range names {
			groups[name] = group
		}
	}
	return groups
}

// groupHelp puts the commands of the root into groups. It is called when all are there.
func groupHelp(root *cobra.Command) {
	root.AddGroup(
		&cobra.Group{ID: groupClusters, Title: "Clusters:"},
		&cobra.Group{ID: groupOrganization, Title: "Organizations and users:"},
		&cobra.Group{ID: groupAccount, Title: "Your account and installations:"},
		&cobra.Group{ID: groupMachine, Title: "KQueen on this machine:"},
		&cobra.Group{ID: groupOther, Title: "Other commands:"},
	)
	groups := grouped()
	for _, cmd := range root.Commands() {
		cmd.GroupID = groups[cmd.Name()]
	}
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
}

// newHelpCommand returns `help`. That of cobra shows help and succeeds when there is no such command.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show help for a command or a topic",
		Example: `  kqueen help cluster create
  kqueen help exit-codes`,
		GroupID: groupOther,
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, cmd := range found.Commands() {
				if (cmd.IsAvailableCommand() || cmd.IsAdditionalHelpTopicCommand()) && strings.HasPrefix(cmd.Name(), begun) {
					names = append(names, fmt.Sprintf("%s\t%s", cmd.Name(), cmd.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err == nil && len(rest) == 0 {
				found.InitDefaultHelpFlag()
				return found.Help()
			}
			unknown := strings.Join(args, " ")
			if found == nil || len(rest) == 0 {
				return exit.UsageError(cmd, "unknown help topic %q", unknown)
			}
			hint := ""
			found.SuggestionsMinimumDistance = 2
			if near := found.SuggestionsFor(rest[0]); len(near) > 0 {
				hint = fmt.Sprintf(", did you mean %q?", strings.TrimSpace(strings.TrimPrefix(found.CommandPath()+" "+near[0], root.Name())))
			}
			return exit.UsageError(cmd, "unknown help topic %q%s", unknown, hint)
		},
	}
}

// flagError says what is wrong with a flag, and which one may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return exit.UsageError(cmd, "%w", err)
	}
	if near := nearFlag(cmd, unknown.GetSpecifiedName()); near != "" {
		return exit.UsageError(cmd, "%w, did you mean \"--%s\"?", err, near)
	}
	return exit.UsageError(cmd, "%w", err)
}

// nearFlag returns a flag whose name is like that, as cobra suggests commands.
func nearFlag(cmd *cobra.Command, name string) string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			all.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if near := all.SuggestionsFor(name); len(near) > 0 {
		return near[0]
	}
	return ""
}
