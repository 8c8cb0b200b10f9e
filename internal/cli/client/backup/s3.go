package backup

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// s3Flags say where a bucket is.
type s3Flags struct {
	spec   v1alpha1.BackupStoreS3
	caFile string
}

func s3FlagNames() []string {
	return []string{"s3-endpoint", "s3-region", "s3-bucket", "s3-prefix", "s3-ca-file", "s3-allow-http"}
}

func (f *s3Flags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.spec.Endpoint, "s3-endpoint", "", "URL of an S3 server, such as https://s3.example.com")
	flags.StringVar(&f.spec.Region, "s3-region", "", "region that requests are signed for (default us-east-1)")
	flags.StringVar(&f.spec.Bucket, "s3-bucket", "", "bucket of the S3 server, which has to be there")
	flags.StringVar(&f.spec.Prefix, "s3-prefix", "", "what is before the names of files in the bucket")
	flags.StringVar(&f.caFile, "s3-ca-file", "", "file with the authorities that sign the certificate of the S3 server (default those of the system)")
	flags.BoolVar(&f.spec.AllowHTTP, "s3-allow-http", false, "take an endpoint that begins with http://")
	for _, name := range s3FlagNames() {
		if name != "s3-ca-file" && name != "s3-allow-http" {
			_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
		}
	}
}

// apply writes into a store what was said of a bucket.
func (f *s3Flags) apply(to *v1alpha1.BackupStoreSpec) error {
	if f.caFile != "" {
		data, err := os.ReadFile(f.caFile)
		if err != nil {
			return exit.Fail(exit.Usage, "--s3-ca-file: %w", err)
		}
		f.spec.CABundle = string(data)
	}
	if f.spec != (v1alpha1.BackupStoreS3{}) {
		to.S3 = &f.spec
	}
	return nil
}

// newStoreCredentialsCommand returns `backupstore credentials` and what is under it.
func newStoreCredentialsCommand(e *connection.Env) *cobra.Command {
	return verbs.Credentials{
		Env: e, Kind: kinds.BackupStore, Of: "backup store", Like: "s3", Piped: `{"accessKeyID":"…","secretAccessKey":"…"}`,
		Long: `Set and remove the credentials with which KQueen reads and writes the bucket of a
backup store: accessKeyID, secretAccessKey, and sessionToken where there is one. The
values cannot be read again; only their keys are shown. Without credentials the store
is not usable, and nothing in its bucket is lost.
These commands are for administrators of the installation.`,
		Get: func(ctx context.Context, d *client.Client, name string) (*rest.CredentialKeys, error) {
			return d.GetBackupStoreCredentials(ctx, name)
		},
		Set: func(ctx context.Context, d *client.Client, name string, values map[string]string) error {
			return d.SetBackupStoreCredentials(ctx, name, values)
		},
		Remove: func(ctx context.Context, d *client.Client, name string) error {
			return d.RemoveBackupStoreCredentials(ctx, name)
		},
	}.Command()
}
