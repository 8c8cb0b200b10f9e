package cli

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

// newLogoutCommand returns `logout`.
func newLogoutCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "End your session at an installation",
		Long: `End your session at the installation, and forget it here with all credentials for
clusters that were got by it. The context stays. An API token that you signed in
with is forgotten here and goes on to be good; see "kqueen token revoke".`,
		Example: "  kqueen logout\n  kqueen logout --context kqueen.example.com",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return e.logout(cmd.Context()) },
	}
}

func (e *env) logout(ctx context.Context) error {
	k, stored, err := e.whereTo()
	if err != nil {
		return err
	}
	if !stored {
		return fail(codeUsage, "%s is set: there is no session to end", serverVariable)
	}
	if k.Token == "" {
		e.say("you are not signed in to %s", k.Server)
		return nil
	}
	c, err := e.call(k)
	if err != nil {
		return err
	}
	ended := endSession(ctx, c)
	err = changeContexts(ctx, func(known *contexts) error {
		if now := known.find(k.Name); now != nil && now.Token == k.Token {
			now.Token = ""
		}
		return nil
	})
	if err == nil {
		err = forgetCredentials(k.Name)
	}
	if err != nil {
		return err
	}
	if ended != nil {
		return fail(codeError, "the session is forgotten here, and goes on at %s until it expires: %w", k.Server, ended)
	}
	e.say("signed out of %s", k.Server)
	return nil
}

// endSession ends the session of whom the client speaks for. One that is over already is fine, and so is a token.
func endSession(ctx context.Context, c *client.Client) error {
	me, err := c.GetMe(ctx)
	if err == nil && me.Credential.Kind == "session" {
		err = c.SignOut(ctx)
	}
	if problemStatus(err) == 401 {
		return nil
	}
	return err
}

// newWhoamiCommand returns `whoami`.
func newWhoamiCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "whoami",
		Short:   "Show who you are at an installation, and what you may",
		Example: "  kqueen whoami\n  kqueen whoami -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			me, err := d.GetMe(cmd.Context())
			if err != nil {
				return err
			}
			if done, err := e.printForPrograms(format, me); done || err != nil {
				return err
			}
			return printMe(e, d.knownAs, me)
		},
	}
	registerOutput(cmd, &format, "table", dataFormats)
	return cmd
}

func printMe(e *env, k knownAs, me *rest.Me) error {
	admin := ""
	if me.Admin {
		admin = "administrator"
	}
	p := &page{}
	p.fields("", "Name", me.Name, "Display name", me.DisplayName, "Email", me.Email, "Kind", me.Kind, "Installation", admin,
		"Server", k.Server, "Context", k.Name, "Signed in by", me.Credential.Kind, "Until", when(me.Credential.Expires))
	if len(me.Roles) > 0 {
		p.heading("Roles:")
		rows := [][]string{{"ORGANIZATION", "ROLE"}}
		for _, organization := range slices.Sorted(maps.Keys(me.Roles)) {
			rows = append(rows, []string{organization, me.Roles[organization]})
		}
		p.table(rows)
	}
	return p.print(e.stdout)
}
