package access

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// login is one run of `login`.
type login struct {
	env *connection.Env
	// here finds the installation in the data directory, when it runs and this user owns it: its URL and its
	// authority. Empty when there is none.
	here func(context.Context) (server, authority string)

	caFingerprint, caFile     string
	username, provider        string
	setupToken, oneTimeToken  string // files, or - for standard input
	passwordStdin, tokenStdin bool
	browser, device           bool
}

// NewLoginCommand returns `login`.
func NewLoginCommand(e *connection.Env, here func(context.Context) (server, authority string)) *cobra.Command {
	l := &login{env: e, here: here}
	cmd := &cobra.Command{
		Use:   "login [SERVER]",
		Short: "Sign in to an installation",
		Long: `Sign in to an installation of KQueen, and make it the current context. SERVER is
the URL of its API; without one it is that of --context or of the current
context, or else the installation on this machine.

The first time, the fingerprint of the server's certificate authority is shown and
you are asked whether it is the right one: compare it with what its administrator
tells you. Scripts give it with --ca-fingerprint, or the authority itself with
--ca-file. On the machine of the installation nothing is asked. Afterwards the
server has to prove itself by that authority.

You sign in with the browser of this machine, which is started for you. Without
one, or with --device, you are shown a code that you enter with a browser
anywhere else. With --provider the browser goes to that identity provider at once.

With --username you are asked for your password instead, or it is read from
standard input with --password-stdin. With --setup-token-file, for a token of
"kqueen up" or "kqueen user recover", you become an administrator; with
--one-time-token-file, for one of "kqueen user create" or "kqueen user reset", you
choose a password. With --token-stdin an API token is used in place of a session.

Secrets are not taken as arguments, which every user of the machine can see. A token is
the first line of its file. The file - is standard input: a terminal asks for the
token; without one, the password of --password-stdin comes after the first line.`,
		Example: `  kqueen login https://kqueen.example.com:8443
  kqueen login https://kqueen.example.com:8443 --device
  kqueen login https://kqueen.example.com:8443 --username alice --password-stdin --ca-fingerprint sha256:2c26… <password
  kqueen login https://kqueen.example.com:8443 --username alice --one-time-token-file -
  kqueen login --context kqueen.example.com`,
		Args:              command.AtMostOne("SERVER"),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.check(cmd); err != nil {
				return err
			}
			return l.run(cmd.Context(), cmd, strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.StringVar(&l.caFingerprint, "ca-fingerprint", "", "fingerprint of the server's certificate authority: sha256: and 64 hexadecimal digits")
	f.StringVar(&l.caFile, "ca-file", "", "file with the server's certificate authority, in PEM")
	f.StringVar(&l.username, "username", "", "your name there")
	f.BoolVar(&l.passwordStdin, "password-stdin", false, "read the password from standard input")
	f.BoolVar(&l.tokenStdin, "token-stdin", false, "read an API token from standard input and use that")
	f.StringVar(&l.setupToken, "setup-token-file", "", "file with the token from kqueen up, to create the first administrator, or with that from kqueen user recover; - for standard input")
	f.StringVar(&l.oneTimeToken, "one-time-token-file", "", "file with the token that an administrator gave you, to choose a password; - for standard input")
	f.BoolVar(&l.browser, "browser", false, "sign in with a browser of this machine, also where kqueen cannot start one")
	f.BoolVar(&l.device, "device", false, "sign in with a browser anywhere, by a code that you enter there")
	f.StringVar(&l.provider, "provider", "", "identity provider to sign in with")
	_ = cmd.RegisterFlagCompletionFunc("provider", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("ca-fingerprint", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("username", command.NoCompletion)
	command.RefuseSecrets(cmd, map[string]string{ //nolint:gosec // names of flags
		"setup-token":    "--setup-token-file FILE, or - for standard input",
		"one-time-token": "--one-time-token-file FILE, or - for standard input",
		"password":       "--password-stdin, or let the terminal ask",
		"token":          "--token-stdin",
	})
	return cmd
}

func (l *login) check(cmd *cobra.Command) error {
	if err := l.checkWays(cmd); err != nil {
		return err
	}
	switch {
	case l.caFile != "" && l.caFingerprint != "":
		return exit.UsageError(cmd, "--ca-file and --ca-fingerprint say the same; give one")
	case l.setupToken != "" && l.oneTimeToken != "":
		return exit.UsageError(cmd, "--setup-token-file is for the first administrator and for recovery, --one-time-token-file for other users; give one")
	case l.passwordStdin && l.username == "":
		return exit.UsageError(cmd, "--password-stdin needs --username")
	case l.env.Flags.Context != "" && !connection.ContextPattern.MatchString(l.env.Flags.Context):
		return exit.UsageError(cmd, "--context: %q: must be letters, digits, dots, dashes and underscores, at most 64", l.env.Flags.Context)
	}
	return nil
}

// checkWays wants one way to sign in.
func (l *login) checkWays(cmd *cobra.Command) error {
	byPassword := l.username != "" || l.passwordStdin || l.setupToken != "" || l.oneTimeToken != ""
	elsewhere := l.browser || l.device || l.provider != ""
	switch {
	case l.browser && l.device:
		return exit.UsageError(cmd, "--browser and --device are two ways; choose one")
	case elsewhere && (byPassword || l.tokenStdin):
		return exit.UsageError(cmd, "--browser, --device and --provider go without a password and without a token; choose one way")
	case l.tokenStdin && byPassword:
		return exit.UsageError(cmd, "--token-stdin goes without --username, --password-stdin, --setup-token-file and --one-time-token-file: a token says whose it is")
	}
	return nil
}

func (l *login) run(ctx context.Context, cmd *cobra.Command, server string) error {
	l.env.SigningIn = true
	k, err := l.target(ctx, cmd, server)
	if err != nil {
		return err
	}
	if err := l.meet(ctx, &k); err != nil {
		return err
	}
	c, err := l.env.Call(k)
	if err != nil {
		return err
	}
	if k.Token, err = l.prove(ctx, c, k.Server); err != nil {
		return err
	}
	if k.Token == "" {
		return errors.New("sign in: the server gave no session; is its URL right?")
	}
	if c, err = l.env.Call(k); err != nil {
		return err
	}
	me, err := c.GetMe(ctx)
	if err == nil && me.Name == "" {
		err = errors.New("the server does not say; is its URL right?")
	}
	if err != nil {
		return fmt.Errorf("ask who you are: %w", err)
	}
	k.User = me.Name
	if l.env.Flags.Organization != "" {
		k.Organization = l.env.Flags.Organization
	} else if k.Organization == "" && len(me.Roles) == 1 {
		for organization := range me.Roles {
			k.Organization = organization
		}
	}
	if err := l.keep(ctx, k); err != nil {
		return err
	}
	l.env.Say("signed in to %s as %s; the current context is %s", k.Server, me.Name, k.Name)
	return nil
}

// prove returns a token that proves who the user is.
func (l *login) prove(ctx context.Context, c *client.Client, server string) (string, error) {
	asked := l.username != "" || l.setupToken != "" || l.oneTimeToken != ""
	switch {
	case l.tokenStdin:
		return l.env.SecretFromStdin("token")
	case l.device:
		return l.byDevice(ctx, c, server)
	case l.browser:
		return l.byBrowser(ctx, c, server)
	case !asked && !console.IsTerminal(l.env.Stdin):
		return "", console.ErrNoTerminal
	case !asked && hasBrowser():
		return l.byBrowser(ctx, c, server)
	case !asked:
		return l.byDevice(ctx, c, server)
	}
	return l.byPassword(ctx, c)
}

// byPassword signs in a local user, who may be made or choose a password on the way.
func (l *login) byPassword(ctx context.Context, c *client.Client) (string, error) {
	token, err := l.token(ctx)
	if err != nil {
		return "", err
	}
	name := l.username
	if name == "" {
		if name, err = l.env.Prompt(ctx, "Name: "); err != nil {
			return "", err
		}
	}
	password, err := l.password(ctx)
	if err != nil {
		return "", err
	}
	if l.setupToken != "" {
		if _, err := c.SetUp(ctx, rest.SetUp{Token: token, Name: name, Password: password}); err != nil {
			return "", fmt.Errorf("create an administrator: %w", err)
		}
	}
	if l.oneTimeToken != "" {
		if err := c.ChoosePassword(ctx, rest.ChoosePassword{Token: token, Password: password}); err != nil {
			return "", fmt.Errorf("choose a password: %w", err)
		}
	}
	session, err := c.SignIn(ctx, rest.SignIn{Name: name, Password: password})
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return session.Token, nil
}

// token reads the setup token or the one-time token, if there is one.
func (l *login) token(ctx context.Context) (string, error) {
	switch {
	case l.setupToken != "":
		return l.env.SecretFromFile(ctx, l.setupToken, "setup token", "Setup token: ")
	case l.oneTimeToken != "":
		return l.env.SecretFromFile(ctx, l.oneTimeToken, "one-time token", "One-time token: ")
	}
	return "", nil
}

func (l *login) password(ctx context.Context) (string, error) {
	if l.passwordStdin {
		return l.env.SecretFromStdin("password")
	}
	if l.setupToken == "" && l.oneTimeToken == "" {
		return l.env.PromptSecret(ctx, "Password: ")
	}
	return l.env.PromptNewPassword(ctx)
}

// keep makes it the current context.
func (l *login) keep(ctx context.Context, k connection.Context) error {
	if err := clusteraccess.ForgetCredentials(k.Name); err != nil {
		return err
	}
	return connection.ChangeContexts(ctx, func(known *connection.Contexts) error {
		known.Put(k)
		known.Current = k.Name
		return nil
	})
}
