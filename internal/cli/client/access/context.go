package access

import (
	"context"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// NewContextCommand returns `context` and what is under it.
func NewContextCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "context",
		Aliases: []string{"contexts"},
		Short:   "Choose between the installations that you are signed in to",
		Long: `Choose between the installations that you are signed in to. "kqueen login" creates
a context: the URL of an installation, its certificate authority, and your session.
 They are kept in ~/.config/kqueen/config.yaml (env
KQUEEN_CONFIG), which only you can read, because your sessions are in it.

A command takes its installation from --context, then KQUEEN_SERVER, then the
current context. For programs, KQUEEN_SERVER with KQUEEN_TOKEN (an API token) and
KQUEEN_CA (a file of certificates) needs no file.`,
		Example: `  kqueen context list
  kqueen context use kqueen.example.com
  kqueen whoami --context kqueen.example.com`,
	}
	command.Group(cmd)
	cmd.AddCommand(newListContextsCommand(e), newUseContextCommand(e), newDeleteContextCommand(e))
	return cmd
}

// shownContext is a context as users and programs see it: without its secret.
type shownContext struct {
	Name         string `json:"name"`
	Current      bool   `json:"current"`
	Server       string `json:"server"`
	Organization string `json:"organization,omitempty"`
	User         string `json:"user,omitempty"`
	SignedIn     bool   `json:"signedIn"`
}

func newListContextsCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List contexts",
		Example: "  kqueen context list\n  kqueen context list -o json",
		Args:    command.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			path, err := connection.ContextsFile()
			if err != nil {
				return err
			}
			known, err := connection.ReadContexts(path)
			if err != nil {
				return err
			}
			return printContexts(e, known, format)
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

func printContexts(e *connection.Env, known connection.Contexts, format string) error {
	all := []shownContext{}
	rows := [][]string{{"CURRENT", "NAME", "SERVER", "ORGANIZATION", "USER"}}
	for _, k := range known.Contexts {
		s := shownContext{k.Name, k.Name == known.Current, k.Server, k.Organization, k.User, k.Token != ""}
		all = append(all, s)
		mark, user := " ", s.User
		if s.Current {
			mark = "*"
		}
		if !s.SignedIn {
			user = ""
		}
		rows = append(rows, []string{mark, s.Name, s.Server, s.Organization, user})
	}
	if len(all) == 0 {
		e.Say("no contexts\ncreate one with: kqueen login https://SERVER:8443")
	}
	return e.PrintData(format, all, rows)
}

func newUseContextCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "use NAME",
		Short:             "Set the current context",
		Example:           "  kqueen context use kqueen.example.com",
		Args:              command.Names(1, 1),
		ValidArgsFunction: connection.CompleteContexts(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := connection.ChangeContexts(cmd.Context(), func(known *connection.Contexts) error {
				if known.Find(args[0]) == nil {
					return missingContext(args[0])
				}
				known.Current = args[0]
				return nil
			})
			if err == nil {
				e.Say("the current context is %s", args[0])
			}
			return err
		},
	}
}

func newDeleteContextCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Remove the context of an installation",
		Long: `Remove the context of an installation, with your session there, and the contexts of
its clusters in your kubeconfig. The session itself goes on at the installation until it
expires; "kqueen logout" ends it.`,
		Example:           "  kqueen logout --context old.example.com\n  kqueen context delete old.example.com",
		Args:              command.Names(1, 1),
		ValidArgsFunction: connection.CompleteContexts(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := forgetContext(cmd.Context(), args[0]); err != nil {
				return err
			}
			e.Say("context %s is removed", args[0])
			installation := clusteraccess.InstallationOf(args[0])
			clusteraccess.ForgetHere(e, func(c clusteraccess.Entry) bool { return c.Installation == installation })
			return nil
		},
	}
}

func forgetContext(ctx context.Context, name string) error {
	err := connection.ChangeContexts(ctx, func(known *connection.Contexts) error {
		if known.Find(name) == nil {
			return missingContext(name)
		}
		kept := known.Contexts[:0]
		for _, k := range known.Contexts {
			if k.Name != name {
				kept = append(kept, k)
			}
		}
		known.Contexts = kept
		if known.Current == name {
			known.Current = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	return clusteraccess.ForgetCredentials(name)
}

func missingContext(name string) error {
	return exit.Fail(exit.NotFound, "context %q not found; see: kqueen context list", name)
}
