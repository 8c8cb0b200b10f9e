// Package rotation has the commands that replace credentials of clusters, and show how far that is. It hides which Rotation of a
// cluster goes on. The root command imports it.
package rotation

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewClusterCommand returns `cluster rotate` and what is under it.
func NewClusterCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace credentials of a cluster: certificate authority, token key, encryption key",
		Long: `Replace a credential of a cluster whose control plane KQueen hosts. The new one is
trusted beside the old one, then signs; both are accepted until you finish the rotation.`,
		Example: `  kqueen cluster rotate ca demo --wait
  kqueen rotation list
  kqueen cluster rotate finish demo --wait`,
	}
	command.Group(cmd)
	cmd.AddCommand(
		newStartCommand(e, credential{
			name: "ca", credential: v1alpha1.CredentialCertificateAuthority,
			short: "Replace the certificate authority of a cluster",
			long: `Replace the authority that signs the certificates of users, nodes and the API server.
The control plane trusts a new one beside the old one, signs with it, and nodes get
certificates of it. No node is replaced; for two or three seconds, while its kubelet is
started again, calls of exec and logs to a node fail.

Kubeconfigs from before go on until "kqueen cluster rotate finish NAME". Before that,
hand out new ones, and start pods again that call the API server and began before:
"kqueen rotation describe" counts them. Nodes that joined with kubeadm do not follow by
themselves; the guide says what to do.`,
		}),
		newStartCommand(e, credential{
			name: "service-account-key", credential: v1alpha1.CredentialServiceAccountKey,
			short: "Replace the key that signs the tokens of service accounts",
			long: `Replace the key that signs the tokens of service accounts. Tokens of the old key go
on until "kqueen cluster rotate finish NAME". Pods get tokens of the new key within an
hour; make tokens that you keep elsewhere, such as those in Secrets, again before that.`,
		}),
		newStartCommand(e, credential{
			name: "encryption-key", credential: v1alpha1.CredentialEncryptionKey,
			short: "Replace the key by which Secrets of a cluster are encrypted where they are stored",
			long: `Replace the key by which Secrets are encrypted where they are stored. The API server
writes with a new one, reads with both, and every Secret is written again, which shows
as a change to those that watch it. Nothing is restarted but the API server, which is
replaced while it runs.

"kqueen cluster rotate finish NAME" removes the old key. Backups from before all Secrets
were encrypted with the new one cannot be restored after that: back the cluster up
first. "kqueen rotation describe" counts them.`,
		}),
		newFinishCommand(e),
	)
	return cmd
}

// credential is one that can be rotated.
type credential struct {
	name, short, long string
	credential        v1alpha1.RotatedCredential
}

func newStartCommand(e *connection.Env, of credential) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.Rotation, Goal: v1alpha1.ConditionNewSigns}
	c.FromFlags = func(ctx context.Context, connected *objects.Client, _ error, name string) ([]client.Object, error) {
		r := &v1alpha1.Rotation{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-" + of.name + "-" + rand.String(5)},
			Spec:       v1alpha1.RotationSpec{ClusterName: name, Credential: of.credential},
		}
		if c.DryRun == verbs.DryRunClient {
			return []client.Object{r}, nil
		}
		_, err := kinds.Find(ctx, e, connected, kinds.Cluster, name)
		if objects.IsForbidden(err) { // the server judges the rest
			err = nil
		}
		return []client.Object{r}, err
	}
	cmd := &cobra.Command{
		Use:   of.name + " [NAME]",
		Short: of.short,
		Long: of.long + `

With --wait the command returns when the new one signs and all nodes follow.`,
		Example: fmt.Sprintf(`  kqueen cluster rotate %[1]s demo --wait
  kqueen cluster rotate %[1]s demo --dry-run=client -o yaml`, of.name),
		Args:              command.Names(0, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.File == "" && len(args) == 0 {
				return exit.UsageError(cmd, "give the NAME of the cluster, or a file with --filename")
			}
			if err := c.Check(cmd, args); err != nil {
				return err
			}
			return c.Run(cmd.Context(), args)
		},
	}
	c.Register(cmd)
	return cmd
}

// newFinishCommand returns `cluster rotate finish`.
func newFinishCommand(e *connection.Env) *cobra.Command {
	var sure, wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "finish NAME",
		Short: "Take the old credential out that a rotation has replaced",
		Long: `Take the old credential of a cluster out that a rotation has replaced. What depends on
it is refused from then on: kubeconfigs from before the rotation, tokens of the old key;
backups from before the rotation of an encryption key. It cannot be taken back. It waits
for nodes that do not follow yet, and for Secrets that the old key has encrypted.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen cluster rotate finish demo --wait
  kqueen cluster rotate finish demo --yes`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.Confirmable(cmd, sure, "finish"); err != nil {
				return err
			}
			c, err := e.Connect()
			if err != nil {
				return err
			}
			r, err := unended(cmd.Context(), e, c, args[0])
			if err != nil {
				return err
			}
			if err := e.Confirmed(cmd, sure, "finish", question(r)); err != nil {
				return err
			}
			if err := c.Update(cmd.Context(), r, objects.Patch{Spec: map[string]any{"finish": true}}, "", false); err != nil {
				return fmt.Errorf("finish rotation %s: %w", r.Name, err)
			}
			e.Say("rotation %s takes the old credential out", r.Name)
			if !wait {
				return nil
			}
			return verbs.Await(cmd.Context(), e, c, verbs.Waiting{Kind: kinds.Rotation, Name: r.Name, Goal: v1alpha1.ConditionReady, Timeout: timeout})
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the old credential is gone")
	command.RegisterTimeout(cmd, &timeout)
	return cmd
}

// question says what is lost.
func question(r *v1alpha1.Rotation) string {
	text := fmt.Sprintf("Refuse the old %s of cluster %s from now on?", r.Spec.Credential, r.Spec.ClusterName)
	if n := r.Status.OlderPods; n > 0 {
		text += fmt.Sprintf(" %d pods that began before may trust it alone.", n)
	}
	if n := r.Status.OlderBackups; n > 0 {
		text += fmt.Sprintf(" %d backups from before can then not be restored any more.", n)
	}
	return text
}

// unended is the rotation of a cluster that has not ended.
func unended(ctx context.Context, e *connection.Env, c *objects.Client, cluster string) (*v1alpha1.Rotation, error) {
	all, err := c.List(ctx, objects.Set{Kind: kinds.Rotation.Kind, Organization: e.Organization()})
	if err != nil {
		return nil, fmt.Errorf("list rotations: %w", err)
	}
	for _, o := range all {
		if r, ok := o.(*v1alpha1.Rotation); ok && r.Spec.ClusterName == cluster && r.Status.CompletionTime == nil && r.Status.Step != "" {
			return r, nil
		}
	}
	return nil, exit.Fail(exit.NotFound, "no rotation of cluster %q goes on; begin one with: %s", cluster, e.Command("cluster rotate ca "+cluster))
}
