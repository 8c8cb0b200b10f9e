package backup

import (
	"context"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewStoreCommand returns `backupstore` and what is under it.
func NewStoreCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "backupstore",
		Aliases: []string{"backupstores", "bst"},
		Short:   "Manage where backups are kept",
		Long: `Manage where backups are kept. These commands are for administrators of the
installation. The store "default" is a folder in the data directory: what is only
there is lost with the machine.`,
		Example: `  kqueen backupstore create nas --directory /mnt/nas/kqueen
  kqueen backupstore create vault --s3-endpoint https://s3.example.com --s3-bucket backups
  kqueen backupstore list`,
	}
	command.Group(cmd)
	update, _ := verbs.UpdateCommand(e, kinds.BackupStore, `kqueen backupstore update nas --spec '{"maxBackups":500}'`)
	cmd.AddCommand(newCreateStoreCommand(e), verbs.ListCommand(e, kinds.BackupStore), verbs.GetCommand(e, kinds.BackupStore),
		verbs.WaitCommand(e, kinds.BackupStore, v1alpha1.ConditionStoreUsable), update, newStoreCredentialsCommand(e), newDeleteStoreCommand(e))
	return cmd
}

// newCreateStoreCommand returns `backupstore create`.
func newCreateStoreCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.BackupStore}
	store, place := &v1alpha1.BackupStore{}, &s3Flags{}
	c.FromFlags = func(_ context.Context, _ *objects.Client, _ error, name string) ([]client.Object, error) {
		store.ObjectMeta = metav1.ObjectMeta{Name: name}
		return []client.Object{store}, nil
	}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Add a place where backups are kept",
		Long: `Add a place where backups are kept: a folder of KQueen's host, best on a disk or a
mount of its own, or a bucket of an S3 server. The credentials for a bucket are set
afterwards, with "kqueen backupstore credentials set".

Backups are compressed and encrypted to a key that KQueen keeps, and to further
public keys of age (https://age-encryption.org) with --recipient.`,
		Example: `  kqueen backupstore create nas --directory /mnt/nas/kqueen
  kqueen backupstore create vault --directory /mnt/vault --organization shop --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p
  kqueen backupstore create s3 --s3-endpoint https://s3.example.com --s3-region eu-west-1 --s3-bucket vault --s3-prefix kqueen`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Check(cmd, args); err != nil {
				return err
			}
			if err := place.apply(&store.Spec); err != nil {
				return err
			}
			if c.File == "" && (store.Spec.Directory == "") == (store.Spec.S3 == nil) {
				return exit.UsageError(cmd, "name either a folder with --directory, or a bucket with --s3-endpoint and --s3-bucket")
			}
			if err := c.Run(cmd.Context(), args); err != nil {
				return err
			}
			if c.File == "" && store.Spec.S3 != nil && c.DryRun == "none" {
				e.Say("set its credentials with: %s <FILE", e.Command("backupstore credentials set "+args[0]))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&store.Spec.Directory, "directory", "", "absolute path of a folder of KQueen's host")
	flags.StringSliceVar(&store.Spec.OrganizationNames, "organization", nil, "organization that may use it; may be repeated (default all)")
	flags.Int32Var(&store.Spec.MaxBackups, "max-backups", 200, "how many backups an organization may have here")
	flags.StringSliceVar(&store.Spec.Recipients, "recipient", nil, "further public key of age that can decrypt the backups; may be repeated")
	place.register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("organization", kinds.CompleteNames(e, kinds.Organization, -1))
	for _, name := range []string{"max-backups", "recipient", "directory"} {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
	c.Excludes = append([]string{"directory", "organization", "max-backups", "recipient"}, s3FlagNames()...)
	c.Register(cmd)
	return cmd
}

// newDeleteStoreCommand returns `backupstore delete`.
func newDeleteStoreCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.BackupStore, Content: "keys"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete places of backups that have none",
		Long: `Delete places of backups that have none any more, and their keys. What is in the
folder or bucket stays.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen backupstore delete nas
  kqueen backupstore delete nas --yes --wait=false`,
	}
	d.Register(cmd)
	return cmd
}
