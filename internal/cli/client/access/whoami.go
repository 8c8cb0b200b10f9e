package access

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/exit"
)

// NewLogoutCommand returns `logout`.
func NewLogoutCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "End your session at an installation",
		Long: `End your session at the installation, and remove it here with all credentials for
clusters. The context stays. An API token that you signed in
with is removed here and stays valid; see "kqueen token revoke".`,
		Example: "  kqueen logout\n  kqueen logout --context kqueen.example.com",
		Args:    command.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return logout(cmd.Context(), e) },
	}
}

func logout(ctx context.Context, e *connection.Env) error {
	k, stored, err := e.WhereTo()
	if err != nil {
		return err
	}
	if !stored {
		return exit.Fail(exit.Usage, "%s is set: there is no session to end", connection.ServerVariable)
	}
	if k.Token == "" {
		e.Say("you are not signed in to %s", k.Server)
		return nil
	}
	c, err := e.Call(k)
	if err != nil {
		return err
	}
	ended := endSession(ctx, c)
	err = connection.ChangeContexts(ctx, func(known *connection.Contexts) error {
		if now := known.Find(k.Name); now != nil && now.Token == k.Token {
			now.Token = ""
		}
		return nil
	})
	if err == nil {
		err = clusteraccess.ForgetCredentials(k.Name)
	}
	if err != nil {
		return err
	}
	if ended != nil {
		return exit.Fail(exit.Failed, "the session is forgotten here, and goes on at %s until it expires: %w", k.Server, ended)
	}
	e.Say("signed out of %s", k.Server)
	return nil
}

// endSession ends the session of the client. One that has ended already is fine, and so is a token.
func endSession(ctx context.Context, c *client.Client) error {
	me, err := c.GetMe(ctx)
	if err == nil && me.Credential.Kind == "session" {
		err = c.SignOut(ctx)
	}
	if exit.ProblemStatus(err) == 401 {
		return nil
	}
	return err
}

// NewWhoamiCommand returns `whoami`.
func NewWhoamiCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "whoami",
		Short:   "Show your account at an installation, and its roles",
		Example: "  kqueen whoami\n  kqueen whoami -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.Session()
			if err != nil {
				return err
			}
			me, err := d.GetMe(cmd.Context())
			if err != nil {
				return err
			}
			if done, err := e.PrintForPrograms(format, me); done || err != nil {
				return err
			}
			return printMe(e, d.Context, me)
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

func printMe(e *connection.Env, k connection.Context, me *rest.Me) error {
	admin := ""
	if me.Admin {
		admin = "administrator"
	}
	p := &describe.Page{}
	p.Fields("", "Name", me.Name, "Display name", me.DisplayName, "Email", me.Email, "Kind", me.Kind, "Installation", admin,
		"Server", k.Server, "Context", k.Name, "Signed in by", me.Credential.Kind, "Until", console.When(me.Credential.Expires))
	if len(me.Roles) > 0 {
		p.Heading("Roles:")
		rows := [][]string{{"ORGANIZATION", "ROLE"}}
		for _, organization := range slices.Sorted(maps.Keys(me.Roles)) {
			rows = append(rows, []string{organization, me.Roles[organization]})
		}
		p.Table(rows)
	}
	return p.Print(e.Stdout)
}
