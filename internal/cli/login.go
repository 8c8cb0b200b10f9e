package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

// login is one run of `login`.
type login struct {
	env *env

	caFingerprint, caFile     string
	username, setupToken      string
	oneTimeToken, provider    string
	passwordStdin, tokenStdin bool
	browser, device           bool
}

// newLoginCommand returns `login`.
func newLoginCommand(e *env) *cobra.Command {
	l := &login{env: e}
	cmd := &cobra.Command{
		Use:   "login [SERVER]",
		Short: "Sign in to an installation",
		Long: `Sign in to an installation of KQueen, and make it the current context. SERVER is
the URL of its door; without one it is that of --context or of the current
context, or else the installation on this machine.

The first time, the fingerprint of the door's certificate authority is shown and
you are asked whether it is the right one: compare it with what its administrator
tells you. Scripts name it with --ca-fingerprint, or bring the authority with
--ca-file. On the machine of the installation nothing is asked. Afterwards the
door has to prove itself by that authority.

You sign in with the browser of this machine, which is started for you. Where there
is none, or with --device, you are shown a code that you enter with a browser
anywhere else. With --provider the browser goes to that identity provider at once.

With --username you are asked for your password instead, or it is read from
standard input with --password-stdin. With --setup-token, from "kqueen up" or
"kqueen user recover", you become an administrator; with --one-time-token, from
"kqueen user create" or "kqueen user reset", you choose a password. With --token-stdin an API token is used
in place of a session.`,
		Example: `  kqueen login https://kqueen.example.com:8443
  kqueen login https://kqueen.example.com:8443 --device
  kqueen login https://kqueen.example.com:8443 --username alice --password-stdin --ca-fingerprint sha256:2c26… <password
  kqueen login --context kqueen.example.com`,
		Args:              atMostOne("SERVER"),
		ValidArgsFunction: noCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.check(cmd); err != nil {
				return err
			}
			return l.run(cmd.Context(), cmd, strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.StringVar(&l.caFingerprint, "ca-fingerprint", "", "fingerprint of the door's certificate authority: sha256: and 64 hexadecimal digits")
	f.StringVar(&l.caFile, "ca-file", "", "file with the door's certificate authority, in PEM")
	f.StringVar(&l.username, "username", "", "your name there")
	f.BoolVar(&l.passwordStdin, "password-stdin", false, "read the password from standard input")
	f.BoolVar(&l.tokenStdin, "token-stdin", false, "read an API token from standard input and use that")
	f.StringVar(&l.setupToken, "setup-token", "", "make the first administrator with the token from kqueen up, or another with that from kqueen user recover")
	f.StringVar(&l.oneTimeToken, "one-time-token", "", "choose a password, with the token that an administrator gave you")
	f.BoolVar(&l.browser, "browser", false, "sign in with a browser of this machine, also where kqueen cannot start one")
	f.BoolVar(&l.device, "device", false, "sign in with a browser anywhere, by a code that you enter there")
	f.StringVar(&l.provider, "provider", "", "identity provider to sign in with")
	_ = cmd.RegisterFlagCompletionFunc("one-time-token", noCompletion)
	_ = cmd.RegisterFlagCompletionFunc("provider", noCompletion)
	_ = cmd.RegisterFlagCompletionFunc("ca-fingerprint", noCompletion)
	_ = cmd.RegisterFlagCompletionFunc("username", noCompletion)
	_ = cmd.RegisterFlagCompletionFunc("setup-token", noCompletion)
	return cmd
}

// atMostOne takes one argument or none.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError(cmd, "%s takes one %s, but there is also %q", cmd.CommandPath(), what, args[1])
		}
		return nil
	}
}

func (l *login) check(cmd *cobra.Command) error {
	if err := l.checkWays(cmd); err != nil {
		return err
	}
	switch {
	case l.caFile != "" && l.caFingerprint != "":
		return usageError(cmd, "--ca-file and --ca-fingerprint say the same; give one")
	case l.setupToken != "" && l.oneTimeToken != "":
		return usageError(cmd, "--setup-token is for administrators whom nobody made, --one-time-token for everybody else; give one")
	case l.passwordStdin && l.username == "":
		return usageError(cmd, "--password-stdin needs --username")
	case l.env.globals.context != "" && !contextPattern.MatchString(l.env.globals.context):
		return usageError(cmd, "--context: %q: must be letters, digits, dots, dashes and underscores, at most 64", l.env.globals.context)
	}
	return nil
}

// checkWays wants one way to sign in.
func (l *login) checkWays(cmd *cobra.Command) error {
	byPassword := l.username != "" || l.passwordStdin || l.setupToken != "" || l.oneTimeToken != ""
	elsewhere := l.browser || l.device || l.provider != ""
	switch {
	case l.browser && l.device:
		return usageError(cmd, "--browser and --device are two ways; choose one")
	case elsewhere && (byPassword || l.tokenStdin):
		return usageError(cmd, "--browser, --device and --provider go without a password and without a token; choose one way")
	case l.tokenStdin && byPassword:
		return usageError(cmd, "--token-stdin goes without --username, --password-stdin, --setup-token and --one-time-token: a token says whose it is")
	}
	return nil
}

func (l *login) run(ctx context.Context, cmd *cobra.Command, server string) error {
	l.env.signingIn = true
	k, err := l.target(ctx, cmd, server)
	if err != nil {
		return err
	}
	if err := l.meet(ctx, &k); err != nil {
		return err
	}
	c, err := l.env.call(k)
	if err != nil {
		return err
	}
	if k.Token, err = l.prove(ctx, c, k.Server); err != nil {
		return err
	}
	if c, err = l.env.call(k); err != nil {
		return err
	}
	me, err := c.GetMe(ctx)
	if err != nil {
		return fmt.Errorf("ask who you are: %w", err)
	}
	k.User = me.Name
	if l.env.globals.organization != "" {
		k.Organization = l.env.globals.organization
	} else if k.Organization == "" && len(me.Roles) == 1 {
		for organization := range me.Roles {
			k.Organization = organization
		}
	}
	if err := l.keep(ctx, k); err != nil {
		return err
	}
	l.env.say("signed in to %s as %s; the current context is %s", k.Server, me.Name, k.Name)
	return nil
}

// target is the installation that is meant, with what is known of it already.
func (l *login) target(ctx context.Context, cmd *cobra.Command, server string) (knownAs, error) {
	path, err := contextsFile()
	if err != nil {
		return knownAs{}, err
	}
	known, err := readContexts(path)
	if err != nil {
		return knownAs{}, err
	}
	name := l.env.globals.context
	if server == "" {
		if name == "" {
			name = known.Current
		}
		if k := known.find(name); k != nil {
			k.Token = ""
			return *k, nil
		}
		if server, _ = l.env.installationHere(ctx); server == "" {
			return knownAs{}, usageError(cmd, "name the SERVER, such as https://kqueen.example.com:8443")
		}
	}
	server = strings.TrimSuffix(server, "/")
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return knownAs{}, usageError(cmd, "SERVER: %q: must be a URL such as https://kqueen.example.com:8443", server)
	}
	if name == "" {
		name = contextName(u)
	}
	k := known.find(name)
	if k == nil {
		return knownAs{Name: name, Server: server}, nil
	}
	if k.Server != server {
		return knownAs{}, fail(codeUsage, "context %s is that of %s; give this one another name with --context, or forget that one with: kqueen context delete %s", name, k.Server, name)
	}
	k.Token = ""
	return *k, nil
}

// contextName names an installation after its host, and after its port where that is not the usual one.
func contextName(u *url.URL) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-' // as in addresses of IPv6
	}, u.Hostname())
	if port := u.Port(); port != "" && port != "443" && port != "8443" {
		name += "-" + port
	}
	if name = strings.TrimLeft(name, ".-"); len(name) > 64 {
		name = name[:64]
	}
	if name == "" {
		return "kqueen"
	}
	return name
}

// meet finds out by which authority the door proves itself.
func (l *login) meet(ctx context.Context, k *knownAs) error {
	l.env.through = k.Server
	if l.caFile != "" {
		data, err := os.ReadFile(l.caFile)
		if err != nil {
			return fail(codeUsage, "--ca-file: %w", err)
		}
		k.Authority = string(data)
		return nil
	}
	if here, authority := l.env.installationHere(ctx); l.caFingerprint == "" && here == k.Server {
		k.Authority = authority
		return nil
	}
	if l.caFingerprint == "" && k.Authority != "" {
		return nil
	}
	met, err := client.FirstContact(ctx, k.Server)
	if err != nil {
		return err
	}
	if l.caFingerprint != "" {
		want, pin := strings.ToLower(l.caFingerprint), met.Pin
		if !strings.HasPrefix(want, "sha256:") {
			return fail(codeUsage, "--ca-fingerprint: %q: must be sha256: and 64 hexadecimal digits", l.caFingerprint)
		}
		if want != pin {
			return &client.PinError{Server: k.Server, Want: want, Got: pin}
		}
		k.Authority = string(met.CA)
		return nil
	}
	if met.Known { // and renewed by whoever renews it
		return nil
	}
	return l.ask(ctx, k, met)
}

// ask asks whether an authority is the right one.
func (l *login) ask(ctx context.Context, k *knownAs, met client.Authority) error {
	if !isTerminal(l.env.stdin) {
		return fail(codeUsage, "nobody is here to say whether the authority of %s is the right one; "+
			"name it with --ca-fingerprint or --ca-file. It says of itself that it is %s", k.Server, met.Pin)
	}
	l.env.say("This is the first contact with %s. The fingerprint of its certificate authority is\n\n  %s\n\n"+
		"Compare it with the one that its administrator tells you.", k.Server, met.Pin)
	answer, err := l.env.prompt(ctx, "Is it the same? Type yes: ")
	if err != nil {
		return err
	}
	if !strings.EqualFold(answer, "yes") {
		return errors.New("not trusted; nothing was sent")
	}
	k.Authority = string(met.CA)
	return nil
}

// prove returns a token that proves who the user is.
func (l *login) prove(ctx context.Context, c *client.Client, server string) (string, error) {
	asked := l.username != "" || l.setupToken != "" || l.oneTimeToken != ""
	switch {
	case l.tokenStdin:
		return l.env.secretFromStdin("token")
	case l.device:
		return l.byDevice(ctx, c, server)
	case l.browser:
		return l.byBrowser(ctx, c, server)
	case !asked && !isTerminal(l.env.stdin):
		return "", errNobody
	case !asked && hasBrowser():
		return l.byBrowser(ctx, c, server)
	case !asked:
		return l.byDevice(ctx, c, server)
	}
	return l.byPassword(ctx, c)
}

// byPassword signs in a local user, who may be made or choose a password on the way.
func (l *login) byPassword(ctx context.Context, c *client.Client) (string, error) {
	name := l.username
	if name == "" {
		var err error
		if name, err = l.env.prompt(ctx, "Name: "); err != nil {
			return "", err
		}
	}
	password, err := l.password(ctx)
	if err != nil {
		return "", err
	}
	if l.setupToken != "" {
		if _, err := c.SetUp(ctx, rest.SetUp{Token: l.setupToken, Name: name, Password: password}); err != nil {
			return "", fmt.Errorf("make the first administrator: %w", err)
		}
	}
	if l.oneTimeToken != "" {
		if err := c.ChoosePassword(ctx, rest.ChoosePassword{Token: l.oneTimeToken, Password: password}); err != nil {
			return "", fmt.Errorf("choose a password: %w", err)
		}
	}
	session, err := c.SignIn(ctx, rest.SignIn{Name: name, Password: password})
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return session.Token, nil
}

func (l *login) password(ctx context.Context) (string, error) {
	if l.passwordStdin {
		return l.env.secretFromStdin("password")
	}
	if l.setupToken == "" && l.oneTimeToken == "" {
		return l.env.promptSecret(ctx, "Password: ")
	}
	return l.env.promptNewPassword(ctx)
}

// keep makes it the current context.
func (l *login) keep(ctx context.Context, k knownAs) error {
	if err := forgetCredentials(k.Name); err != nil {
		return err
	}
	return changeContexts(ctx, func(known *contexts) error {
		known.put(k)
		known.Current = k.Name
		return nil
	})
}
