package access

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewIdentityProviderCommand returns `identityprovider` and what is under it.
func NewIdentityProviderCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "identityprovider",
		Aliases: []string{"identityproviders", "idp"},
		Short:   "Manage the OpenID Connect providers by which users sign in",
		Long: `OpenID Connect providers by which users sign in. They are for administrators of
the installation. The name of a provider prefixes the names of its users and groups:
corp:alice@example.com is a user of "corp", also as a member of an organization.`,
		Example: `  kqueen identityprovider create corp --issuer https://login.example.com/realms/corp --client-id kqueen --username-claim email --groups-claim groups
  kqueen identityprovider secret corp <client-secret
  kqueen identityprovider list`,
	}
	command.Group(cmd)
	cmd.AddCommand(verbs.ListCommand(e, kinds.IdentityProvider), verbs.GetCommand(e, kinds.IdentityProvider), newCreateProviderCommand(e),
		verbs.WaitCommand(e, kinds.IdentityProvider, v1alpha1.ConditionSecretReady, v1alpha1.ConditionDiscovered),
		newUpdateProviderCommand(e), newProviderSecretCommand(e), newDeleteProviderCommand(e))
	return cmd
}

// providerFlags are what create and update say of a provider.
type providerFlags struct {
	spec   v1alpha1.IdentityProviderSpec
	caFile string
}

// register adds the flags that both commands have.
func (f *providerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.spec.DisplayName, "display-name", "", "name that users read when they sign in")
	flags.StringVar(&f.spec.ClientID, "client-id", "", "client ID of KQueen at the provider")
	flags.BoolVar(&f.spec.PublicClient, "public-client", false, "the client has no secret")
	flags.StringVar(&f.caFile, "ca-file", "", "file with the certificate authority of the issuer, in PEM (default those that the system trusts)")
	flags.StringSliceVar(&f.spec.Scopes, "scope", nil, "scope to request besides openid; may be repeated (default profile and email)")
	flags.StringVar(&f.spec.UsernameClaim, "username-claim", "", "claim with the user's name (default sub)")
	flags.StringVar(&f.spec.GroupsClaim, "groups-claim", "", "claim with the user's groups (default none)")
	flags.StringSliceVar(&f.spec.AdminGroups, "admin-group", nil, "group whose members administer the installation; may be repeated")
	for _, name := range []string{"display-name", "client-id", "scope", "username-claim", "groups-claim", "admin-group"} {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
}

// apply puts what was said into a spec, and leaves the rest.
func (f *providerFlags) apply(cmd *cobra.Command, to *v1alpha1.IdentityProviderSpec) error {
	for name, set := range map[string]func(){
		"display-name":   func() { to.DisplayName = f.spec.DisplayName },
		"client-id":      func() { to.ClientID = f.spec.ClientID },
		"public-client":  func() { to.PublicClient = f.spec.PublicClient },
		"scope":          func() { to.Scopes = f.spec.Scopes },
		"username-claim": func() { to.UsernameClaim = f.spec.UsernameClaim },
		"groups-claim":   func() { to.GroupsClaim = f.spec.GroupsClaim },
		"admin-group":    func() { to.AdminGroups = f.spec.AdminGroups },
	} {
		if cmd.Flags().Changed(name) {
			set()
		}
	}
	if !cmd.Flags().Changed("ca-file") {
		return nil
	}
	to.CABundle = ""
	if f.caFile == "" {
		return nil
	}
	data, err := os.ReadFile(f.caFile)
	if err != nil {
		return exit.Fail(exit.Usage, "--ca-file: %w", err)
	}
	to.CABundle = string(data)
	return nil
}

func newCreateProviderCommand(e *connection.Env) *cobra.Command {
	f := &providerFlags{}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Add an identity provider",
		Long: `Add an identity provider. Tell it before that browsers come back to
https://ADDRESS/signin/NAME/callback, where ADDRESS is how browsers reach KQueen.
Set the client's secret afterwards, with "kqueen identityprovider secret".`,
		Example: `  kqueen identityprovider create corp --issuer https://login.example.com/realms/corp --client-id kqueen \
    --scope profile,email,groups --username-claim email --groups-claim groups --admin-group platform-team`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.spec.Issuer == "" || f.spec.ClientID == "" {
				return exit.UsageError(cmd, "an identity provider has an --issuer and a --client-id")
			}
			p := &v1alpha1.IdentityProvider{
				ObjectMeta: metav1.ObjectMeta{Name: args[0]}, Spec: v1alpha1.IdentityProviderSpec{Issuer: f.spec.Issuer},
			}
			if err := f.apply(cmd, &p.Spec); err != nil {
				return err
			}
			return createProvider(cmd.Context(), e, p)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.spec.Issuer, "issuer", "", "issuer URL, exactly as the provider's tokens have it")
	_ = cmd.RegisterFlagCompletionFunc("issuer", command.NoCompletion)
	return cmd
}

func createProvider(ctx context.Context, e *connection.Env, p *v1alpha1.IdentityProvider) error {
	c, err := e.Connect()
	if err != nil {
		return err
	}
	err = c.Create(ctx, p, false)
	if objects.Exists(err) {
		return exit.Fail(exit.Failed, "identityprovider %s already exists; change it with: %s", p.Name, e.Command("identityprovider update "+p.Name))
	}
	if err != nil {
		return fmt.Errorf("create identityprovider %s: %w", p.Name, err)
	}
	e.Say("identityprovider %s created; browsers come back to https://ADDRESS%s", p.Name, rest.CallbackPath(p.Name))
	if !p.Spec.PublicClient {
		e.Say("set the client's secret with: %s <FILE", e.Command("identityprovider secret "+p.Name))
	}
	return nil
}

func newUpdateProviderCommand(e *connection.Env) *cobra.Command {
	f := &providerFlags{}
	cmd := &cobra.Command{
		Use:               "update NAME",
		Short:             "Update an identity provider",
		Long:              "Update an identity provider. Flags that are not given change nothing. The issuer\ncannot be changed.",
		Example:           "  kqueen identityprovider update corp --admin-group platform-team,on-call",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.IdentityProvider, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Connect()
			if err != nil {
				return err
			}
			p, err := kinds.FindAs[*v1alpha1.IdentityProvider](cmd.Context(), e, c, kinds.IdentityProvider, args[0])
			if err != nil {
				return err
			}
			if err := f.apply(cmd, &p.Spec); err != nil {
				return err
			}
			if err := c.Replace(cmd.Context(), p, false); err != nil {
				return fmt.Errorf("update identityprovider %s: %w", args[0], err)
			}
			e.Say("identityprovider %s updated", args[0])
			return nil
		},
	}
	f.register(cmd)
	return cmd
}

func newProviderSecretCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "secret NAME",
		Short: "Set the secret of an identity provider's client, from standard input",
		Long: `Set the secret of an identity provider's client, which is read from standard
input. It cannot be read again, and replaces an earlier one.`,
		Example:           "  kqueen identityprovider secret corp <client-secret",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.IdentityProvider, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			read := e.SecretFromStdin
			if console.IsTerminal(e.Stdin) {
				read = func(what string) (string, error) { return e.PromptSecret(cmd.Context(), "The client's "+what+": ") }
			}
			secret, err := read("secret")
			if err != nil {
				return err
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			if err := d.SetIdentityProviderSecret(cmd.Context(), args[0], rest.ClientSecret{Secret: secret}); err != nil {
				return fmt.Errorf("set the secret of identityprovider %s: %w", args[0], err)
			}
			e.Say("the secret of identityprovider %s is set", args[0])
			return nil
		},
	}
}

func newDeleteProviderCommand(e *connection.Env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:     "delete NAME",
		Aliases: []string{"rm"},
		Short:   "Remove an identity provider, so that no user signs in by it",
		Long: `Remove an identity provider, so that no user signs in by it. Sessions and tokens of
its users stay valid until they expire; "kqueen user disable" ends those of a user.

You are asked first; without a terminal, --yes is required.`,
		Example:           "  kqueen identityprovider delete corp --yes",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.IdentityProvider, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.Confirmable(cmd, sure, "delete"); err != nil {
				return err
			}
			c, err := e.Connect()
			if err != nil {
				return err
			}
			p, err := kinds.Find(cmd.Context(), e, c, kinds.IdentityProvider, args[0])
			if err != nil {
				return err
			}
			if err := e.Confirmed(cmd, sure, "delete", "Delete identityprovider "+args[0]+"? Its users can no longer sign in."); err != nil {
				return err
			}
			if err := c.Delete(cmd.Context(), p); err != nil {
				return fmt.Errorf("delete identityprovider %s: %w", args[0], err)
			}
			e.Say("identityprovider %s deleted", args[0])
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}
