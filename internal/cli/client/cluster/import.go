package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/cli/verbs"
	"kqueen.io/kqueen/internal/platform/kube"
)

// clusterImport is one run of `cluster import`.
type clusterImport struct {
	env                     *connection.Env
	file, context           string
	provisioner             string
	wait, dryRun, overwrite bool
	account, members        bool
	byAgent                 agentImport
	timeout                 time.Duration
}

// newImportClusterCommand returns `cluster import`.
func newImportClusterCommand(e *connection.Env) *cobra.Command {
	i := &clusterImport{env: e}
	cmd := &cobra.Command{
		Use:   "import NAME",
		Short: "Adopt a cluster that exists, by its kubeconfig or by an agent in it",
		Long: `Adopt a cluster that exists and that others run, by its kubeconfig or by an agent in it.
KQueen looks at it and changes nothing in it; deleting it here leaves it as it is.

Of the file one context is sent, the current one or that of --kubeconfig-context, with
the content of the files that it names. It is stored by KQueen, which checks it with
the cluster first, and cannot be read again. KQueen runs no programs of a kubeconfig.

With --service-account nothing of your kubeconfig is sent: this command uses it here,
programs and all, to create a ServiceAccount for KQueen in the cluster, with the rights
that "kqueen cluster import-rights" prints, and sends a token of that one. --members
lets the members of the organization enter the cluster through KQueen, too.

With --agent KQueen needs no way to the cluster: this prints a command for a shell that
has the cluster as its kubectl context, and starts an agent there. The agent dials
KQueen, has the same rights as that account, and enrolls with a token that can
be used once, within an hour. --manifest prints what the command would apply.

Run it again to replace the kubeconfig, or to enroll another agent.`,
		Example: `  kqueen cluster import demo --kubeconfig demo.kubeconfig --wait
  kqueen cluster import demo --kubeconfig ~/.kube/config --kubeconfig-context demo --service-account --members
  kqueen cluster import demo --kubeconfig demo.kubeconfig --dry-run
  kqueen cluster import demo --agent --members
  kqueen cluster import demo --agent --manifest | kubectl --context demo apply -f -`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case i.byAgent.wanted:
				if err := i.checkAgent(cmd); err != nil {
					return err
				}
				return i.runAgent(cmd.Context(), args[0])
			case i.byAgent.manifest || i.byAgent.image != "":
				return exit.UsageError(cmd, "--manifest and --agent-image need --agent")
			case i.file == "":
				return exit.UsageError(cmd, "give the file with --kubeconfig, or - for standard input, or have an agent in the cluster with --agent")
			case i.account && (i.file == "-" || i.dryRun):
				return exit.UsageError(cmd, "--service-account cannot be used with --kubeconfig - or --dry-run: it creates the account by the file")
			case i.members && !i.account:
				return exit.UsageError(cmd, "--members needs --service-account or --agent; without these, apply what this prints: kqueen cluster import-rights --members")
			case i.wait && i.dryRun:
				return exit.UsageError(cmd, "--wait cannot be used with --dry-run, which changes nothing to wait for")
			}
			return i.run(cmd.Context(), args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&i.file, "kubeconfig", "", "kubeconfig of the cluster, or - for standard input")
	flags.StringVar(&i.context, "kubeconfig-context", "", "context of the kubeconfig (default its current one)")
	flags.StringVar(&i.provisioner, "provisioner", "imported", "shared provisioner of adopted clusters")
	flags.BoolVar(&i.dryRun, "dry-run", false, "check, and change nothing; the kubeconfig is tried only for a cluster that KQueen has already")
	flags.BoolVar(&i.overwrite, "force", false, "store the kubeconfig also when the cluster refuses it or does not answer")
	flags.BoolVar(&i.account, "service-account", false, "create a ServiceAccount for KQueen in the cluster, and send its token and nothing else")
	flags.BoolVar(&i.members, "members", false, "with --service-account or --agent, let the members of the organization enter the cluster, with their roles")
	flags.BoolVar(&i.byAgent.wanted, "agent", false, "have an agent in the cluster dial KQueen, and print the command that starts it")
	flags.BoolVar(&i.byAgent.manifest, "manifest", false, "with --agent, print the manifests and not the command that fetches and applies them")
	flags.StringVar(&i.byAgent.image, "agent-image", "", "with --agent, its image (default that of the installation)")
	_ = cmd.RegisterFlagCompletionFunc("agent-image", command.NoCompletion)
	flags.BoolVar(&i.wait, "wait", false, "wait until the cluster is ready")
	command.RegisterTimeout(cmd, &i.timeout)
	_ = cmd.RegisterFlagCompletionFunc("kubeconfig-context", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("provisioner", kinds.CompleteNames(e, kinds.Provisioner, -1))
	return cmd
}

func (i *clusterImport) run(ctx context.Context, name string) error {
	given, err := i.read(ctx)
	if err != nil {
		return err
	}
	for _, file := range given.files {
		i.env.Say("sending the content of %s", file)
	}
	connected, err := i.env.Connect()
	if err != nil {
		return err
	}
	begun := time.Now()
	created, err := i.ensure(ctx, connected, name)
	if err != nil {
		return err
	}
	if created != nil && i.dryRun {
		i.env.Say("cluster %s would be adopted from %s (dry run); its kubeconfig was not tried", name, given.server)
		return nil
	}
	if err := i.set(ctx, name, given); err != nil {
		i.undo(ctx, connected, created)
		return err
	}
	return i.report(ctx, connected, name, given, begun, created != nil)
}

// undo removes a cluster that was created for nothing; nil for one that was there.
func (i *clusterImport) undo(ctx context.Context, connected *objects.Client, created *v1alpha1.Cluster) {
	if created == nil {
		return
	}
	if err := connected.Delete(context.WithoutCancel(ctx), created); err != nil {
		i.env.Say("cluster %s was created and not removed again: %v", created.Name, err)
	}
}

// read reads the kubeconfig and takes from it what is sent.
func (i *clusterImport) read(ctx context.Context) (*reduced, error) {
	var data []byte
	var err error
	if i.account {
		made, err := createAccount(ctx, kube.Target{Kubeconfig: i.file, Context: i.context, Version: program.Version()}, i.members)
		if err != nil {
			return nil, err
		}
		i.env.Say("created ServiceAccount %s/%s in the cluster; see what it may: %s", account, account, i.env.Command("cluster import-rights"))
		return reduce(made, i.file, "")
	}
	if i.file == "-" {
		data, err = io.ReadAll(io.LimitReader(i.env.Stdin, mostKubeconfig+1))
	} else {
		data, err = os.ReadFile(i.file)
	}
	if err != nil {
		return nil, exit.Fail(exit.Usage, "read the kubeconfig: %w", err)
	}
	given, err := reduce(data, i.file, i.context)
	if err != nil {
		return nil, exit.Fail(exit.Usage, "%s: %w", i.file, err)
	}
	return given, nil
}

// ensure creates the cluster where KQueen has none of that name, and returns it then.
func (i *clusterImport) ensure(ctx context.Context, connected *objects.Client, name string) (*v1alpha1.Cluster, error) {
	have, err := objects.Named[*v1alpha1.Cluster](ctx, connected, kinds.Cluster.Kind, name)
	if err == nil {
		if !kinds.Adopted(have) {
			return nil, exit.Fail(exit.Failed, "cluster %s was created by KQueen, not adopted; choose another name", name)
		}
		return nil, nil
	}
	if !objects.IsNotFound(err) {
		return nil, fmt.Errorf("get cluster %s: %w", name, err)
	}
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.env.Namespace(), Name: name},
		Spec:       v1alpha1.ClusterSpec{ProvisionerRef: v1alpha1.ProvisionerReference{Name: i.provisioner, Namespace: v1alpha1.SystemNamespace}},
	}
	cluster.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kinds.Cluster.Kind))
	err = connected.Create(ctx, cluster, i.dryRun)
	if objects.IsNotFound(err) {
		if absent := kinds.CheckOrganization(ctx, i.env, connected); absent != nil {
			return nil, absent
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create cluster %s: %w", name, err)
	}
	return cluster, nil
}

func (i *clusterImport) set(ctx context.Context, name string, given *reduced) error {
	api, err := i.env.API()
	if err != nil {
		return err
	}
	values := map[string]string{v1alpha1.CredentialKubeconfig: string(given.data)}
	if err := api.SetClusterCredentials(ctx, i.env.Organization(), name, values, kqueen.Setting{Force: i.overwrite, DryRun: i.dryRun}); err != nil {
		return fmt.Errorf("set the kubeconfig of cluster %s: %w", name, err)
	}
	return nil
}

// report says what was done, and how the cluster is where the user waits for it.
func (i *clusterImport) report(ctx context.Context, connected *objects.Client, name string, given *reduced, begun time.Time, created bool) error {
	switch {
	case i.dryRun:
		i.env.Say("cluster %s takes the kubeconfig for %s (dry run)", name, given.server)
		return nil
	case created:
		i.env.Say("cluster %s adopted from %s, as user %s of its kubeconfig", name, given.server, given.user)
	default:
		i.env.Say("cluster %s has a new kubeconfig for %s, with user %s", name, given.server, given.user)
	}
	return i.await(ctx, connected, name, begun)
}

// await waits for the cluster where the user wants that, and says how it is.
func (i *clusterImport) await(ctx context.Context, connected *objects.Client, name string, begun time.Time) error {
	if !i.wait {
		i.env.Say("wait for it with: %s", i.env.Command("cluster wait "+name))
		return nil
	}
	goal := verbs.Waiting{Kind: kinds.Cluster, Name: name, Goal: v1alpha1.ConditionReady, Timeout: i.timeout, Since: begun, Quiet: true}
	if err := verbs.Await(ctx, i.env, connected, goal); err != nil {
		return err
	}
	ready, err := kinds.FindAs[*v1alpha1.Cluster](ctx, i.env, connected, kinds.Cluster, name)
	if err != nil {
		return err
	}
	i.env.Say("it runs Kubernetes %s; see it with: %s", ready.Status.Version, i.env.Command("cluster describe "+name))
	return nil
}
