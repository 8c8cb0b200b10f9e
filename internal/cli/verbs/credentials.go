package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/rest"
	api "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// maxCredentials is how much is read of what the user gives as credentials, in bytes. The API takes less.
const maxCredentials = 1 << 20

// Credentials is the command `credentials` of a kind whose objects have some, which go in and do not come out.
type Credentials struct {
	Env  *connection.Env
	Kind *kinds.Kind
	// Of says in words what they belong to, such as "provisioner", and Like is the name of one in examples.
	Of, Like string
	// Long is that of the command, and Piped an example of what is piped into it.
	Long, Piped string

	Get    func(ctx context.Context, d *api.Client, name string) (*rest.CredentialKeys, error)
	Set    func(ctx context.Context, d *api.Client, name string, values map[string]string) error
	Remove func(ctx context.Context, d *api.Client, name string) error
}

// Command returns it with what is under it.
func (c Credentials) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "credentials",
		Short:   "Set and remove the credentials of a " + c.Of,
		Long:    c.Long,
		Example: fmt.Sprintf("  kqueen %[1]s credentials set %[2]s <credentials.yaml\n  kqueen %[1]s credentials get %[2]s", c.Kind.Singular, c.Like),
	}
	command.Group(cmd)
	cmd.AddCommand(c.get(), c.set(), c.remove())
	return cmd
}

func (c Credentials) get() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "get NAME",
		Short:             "Show which credentials a " + c.Of + " has, without their values",
		Example:           fmt.Sprintf("  kqueen %s credentials get %s", c.Kind.Singular, c.Like),
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(c.Env, c.Kind, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.Env.API()
			if err != nil {
				return err
			}
			found, err := c.Get(cmd.Context(), d.Client, args[0])
			if err != nil {
				return fmt.Errorf("get the credentials of %s %s: %w", c.Of, args[0], err)
			}
			if len(found.Keys) == 0 {
				c.Env.Say("%s %s has no credentials", c.Of, args[0])
			}
			rows := [][]string{{"KEY", "SET"}}
			for _, key := range found.Keys {
				rows = append(rows, []string{key, console.Elapsed(found.SetAt)})
			}
			return c.Env.PrintData(format, found, rows)
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

func (c Credentials) set() *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME",
		Short: "Replace all credentials of a " + c.Of + " with those on standard input",
		Long: fmt.Sprintf(`Replace all credentials of a %s with those on standard input: an object of
keys and values, in YAML or JSON. Arguments could be seen by other users.`, c.Of),
		Example:           fmt.Sprintf("  kqueen %[1]s credentials set %[2]s <credentials.yaml\n  echo '%[3]s' | kqueen %[1]s credentials set %[2]s", c.Kind.Singular, c.Like, c.Piped),
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(c.Env, c.Kind, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if console.IsTerminal(c.Env.Stdin) {
				return exit.UsageError(cmd, "give the credentials on standard input: kqueen %s credentials set NAME <FILE", c.Kind.Singular)
			}
			values, err := readCredentials(c.Env.Stdin)
			if err != nil {
				return exit.Fail(exit.Usage, "read the credentials: %w", err)
			}
			d, err := c.Env.API()
			if err != nil {
				return err
			}
			if err := c.Set(cmd.Context(), d.Client, args[0], values); err != nil {
				return fmt.Errorf("set the credentials of %s %s: %w", c.Of, args[0], err)
			}
			c.Env.Say("%s %s has new credentials", c.Of, args[0])
			return nil
		},
	}
}

// readCredentials reads an object of keys and values. Its errors say nothing of what was read.
func readCredentials(from io.Reader) (map[string]string, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxCredentials+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxCredentials {
		return nil, errors.New("there is more than 1 MiB")
	}
	values := map[string]string{}
	// What is wrong may quote a secret, and is not told.
	if err := yaml.UnmarshalStrict(data, &values); err != nil || len(values) == 0 || strings.TrimSpace(string(data)) == "" {
		return nil, errors.New("standard input has to hold an object of keys and texts, in YAML or JSON, each key once")
	}
	return values, nil
}

func (c Credentials) remove() *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm", "delete"},
		Short:   "Remove all credentials of a " + c.Of,
		Long: fmt.Sprintf(`Remove all credentials of a %s.

You are asked first; without a terminal, --yes is required.`, c.Of),
		Example:           fmt.Sprintf("  kqueen %s credentials remove %s --yes", c.Kind.Singular, c.Like),
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(c.Env, c.Kind, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.Env.API()
			if err != nil {
				return err
			}
			if err := c.Env.Confirmed(cmd, sure, "remove", fmt.Sprintf("Remove all credentials of %s %s?", c.Of, args[0])); err != nil {
				return err
			}
			if err := c.Remove(cmd.Context(), d.Client, args[0]); err != nil {
				return fmt.Errorf("remove the credentials of %s %s: %w", c.Of, args[0], err)
			}
			c.Env.Say("%s %s has no credentials any more", c.Of, args[0])
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}
