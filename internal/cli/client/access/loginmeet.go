package access

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// target is the installation that is meant, with what is known of it already.
func (l *login) target(ctx context.Context, cmd *cobra.Command, server string) (connection.Context, error) {
	path, err := connection.ContextsFile()
	if err != nil {
		return connection.Context{}, err
	}
	known, err := connection.ReadContexts(path)
	if err != nil {
		return connection.Context{}, err
	}
	name := l.env.Flags.Context
	if server == "" {
		if name == "" {
			name = known.Current
		}
		if k := known.Find(name); k != nil {
			k.Token = ""
			return *k, nil
		}
		if server, _ = l.here(ctx); server == "" {
			return connection.Context{}, exit.UsageError(cmd, "name the SERVER, such as https://kqueen.example.com:8443")
		}
	}
	server = strings.TrimSuffix(server, "/")
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return connection.Context{}, exit.UsageError(cmd, "SERVER: %q: must be a URL such as https://kqueen.example.com:8443", server)
	}
	if name == "" {
		name = contextName(u)
	}
	k := known.Find(name)
	if k == nil {
		return connection.Context{Name: name, Server: server}, nil
	}
	if k.Server != server {
		return connection.Context{}, exit.Fail(exit.Usage, "context %s is that of %s; give this one another name with --context, or forget that one with: kqueen context delete %s", name, k.Server, name)
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

// meet finds out by which authority the server proves itself.
func (l *login) meet(ctx context.Context, k *connection.Context) error {
	l.env.Server = k.Server
	if l.caFile != "" {
		data, err := os.ReadFile(l.caFile)
		if err != nil {
			return exit.Fail(exit.Usage, "--ca-file: %w", err)
		}
		k.Authority = string(data)
		return nil
	}
	if here, authority := l.here(ctx); l.caFingerprint == "" && here == k.Server {
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
			return exit.Fail(exit.Usage, "--ca-fingerprint: %q: must be sha256: and 64 hexadecimal digits", l.caFingerprint)
		}
		if want != pin {
			return &client.PinError{Server: k.Server, Want: want, Got: pin}
		}
		k.Authority = string(met.CA)
		return nil
	}
	if met.Known { // and its operator renews it
		return nil
	}
	return l.ask(ctx, k, met)
}

// ask asks whether an authority is the right one.
func (l *login) ask(ctx context.Context, k *connection.Context, met client.Authority) error {
	if !console.IsTerminal(l.env.Stdin) {
		return exit.Fail(exit.Usage, "there is no terminal on which to ask whether the authority of %s is the right one; "+
			"name it with --ca-fingerprint or --ca-file. It says of itself that it is %s", k.Server, met.Pin)
	}
	l.env.Say("This is the first contact with %s. The fingerprint of its certificate authority is\n\n  %s\n\n"+
		"Compare it with the one that its administrator tells you.", k.Server, met.Pin)
	answer, err := l.env.Prompt(ctx, "Is it the same? Type yes: ")
	if err != nil {
		return err
	}
	if !strings.EqualFold(answer, "yes") {
		return errors.New("not trusted; nothing was sent")
	}
	k.Authority = string(met.CA)
	return nil
}
