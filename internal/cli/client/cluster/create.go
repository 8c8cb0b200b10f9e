package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// clusterCreation is one run of `cluster create`.
type clusterCreation struct {
	verbs.Creation
	version                           string
	provisioner, provisionerNamespace string
	podCIDR, serviceCIDR, dnsDomain   string
	extraSANs                         []string
	cni, podSecurity                  string
	nodes                             int32
	addons                            []string
	addonSettings                     []v1alpha1.AddonSetting
}

// newCreateClusterCommand returns `cluster create`.
func newCreateClusterCommand(e *connection.Env) *cobra.Command {
	c := &clusterCreation{Creation: verbs.Creation{Env: e, Kind: kinds.Cluster}}
	c.FromFlags = c.build
	c.Excludes = []string{"version", "provisioner", "provisioner-namespace", "pod-cidr", "service-cidr", "dns-domain", "extra-san", "cni", "pod-security", "addon"}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Create a cluster",
		Long: `Create a cluster, from flags or from files.

Without --version the cluster gets the newest release that is ready. With
--filename every document of the file has to be a Cluster; all are checked
before the first is created.

With --nodes the cluster gets a nodepool of its own name. Change its size with
"kqueen nodepool scale", and create further ones with "kqueen nodepool create".
--wait then waits for the cluster and for its nodes.`,
		Example: `  kqueen cluster create demo --wait
  kqueen cluster create demo --nodes 2 --wait
  kqueen cluster create demo --nodes 1 --addon metrics-server=off
  kqueen cluster create demo --version v1.36.3 --pod-cidr 10.244.0.0/16
  kqueen cluster create -f clusters.yaml --dry-run=server
  kqueen cluster create demo --nodes 2 --dry-run=client -o yaml`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.checkFlags(cmd, args); err != nil {
				return err
			}
			return c.Run(cmd.Context(), args)
		},
	}
	c.registerFlags(cmd)
	return cmd
}

// registerFlags adds the flags.
func (c *clusterCreation) registerFlags(cmd *cobra.Command) {
	c.Register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.version, "version", "", "version of Kubernetes, such as v1.36.3 (default the newest release that is ready)")
	flags.StringVar(&c.provisioner, "provisioner", "", "provisioner of the cluster (default \"hosted\")")
	flags.StringVar(&c.provisionerNamespace, "provisioner-namespace", "", "namespace of the provisioner (default \""+v1alpha1.SystemNamespace+"\")")
	flags.StringVar(&c.podCIDR, "pod-cidr", "", "range of pod addresses (default 10.244.0.0/16)")
	flags.StringVar(&c.serviceCIDR, "service-cidr", "", "range of Service addresses (default 10.96.0.0/16)")
	flags.StringVar(&c.dnsDomain, "dns-domain", "", "suffix of names inside the cluster (default cluster.local)")
	flags.StringSliceVar(&c.extraSANs, "extra-san", nil, "further host name or address of the API server; may be repeated")
	flags.StringVar(&c.cni, "cni", "", "pod network: Routes, Flannel, or None to install your own (default Routes)")
	registerPodSecurity(cmd, &c.podSecurity, "(default baseline)")
	flags.StringArrayVar(&c.addons, "addon", nil, "addon to switch, as NAME, NAME=on or NAME=off; may be repeated")
	flags.Int32Var(&c.nodes, "nodes", 0, "number of nodes to create, in a nodepool with the name of the cluster")
	for name, complete := range map[string]cobra.CompletionFunc{
		"version":               kinds.CompleteNames(c.Env, kinds.Release, -1),
		"provisioner":           kinds.CompleteNames(c.Env, kinds.Provisioner, -1),
		"provisioner-namespace": command.NoCompletion,
		"pod-cidr":              command.NoCompletion,
		"service-cidr":          command.NoCompletion,
		"dns-domain":            command.NoCompletion,
		"extra-san":             command.NoCompletion,
		"cni":                   command.OneOf(v1alpha1.CNIs()...),
		"addon":                 command.NoCompletion,
		"nodes":                 command.NoCompletion,
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, complete)
	}
}

// checkFlags refuses command lines that contradict themselves.
func (c *clusterCreation) checkFlags(cmd *cobra.Command, args []string) error {
	if c.File != "" && cmd.Flags().Changed("nodes") {
		return exit.UsageError(cmd, "--nodes cannot be used with --filename; create nodes with: %s", c.Env.Command(kinds.NodePool.None))
	}
	if err := c.Check(cmd, args); err != nil {
		return err
	}
	c.cni = command.InAnyCase(c.cni, v1alpha1.CNIs()...)
	if c.cni != "" && !slices.Contains(v1alpha1.CNIs(), c.cni) {
		return exit.UsageError(cmd, "--cni: %q has to be one of %s", c.cni, strings.Join(v1alpha1.CNIs(), ", "))
	}
	var err error
	if c.addonSettings, err = parseAddons(c.addons); err != nil {
		return exit.UsageError(cmd, "--addon: %w", err)
	}
	if err := checkPodSecurity(cmd, c.podSecurity); err != nil {
		return err
	}
	if err := kinds.CheckNodes(cmd, "nodes", c.nodes); err != nil {
		return err
	}
	return kinds.CheckVersion(cmd, c.version)
}

// build returns the cluster that the flags say, and its pool when it shall have nodes.
func (c *clusterCreation) build(ctx context.Context, connected *objects.Client, away error, name string) ([]client.Object, error) {
	version := c.version
	if version == "" {
		if away != nil {
			return nil, fmt.Errorf("choose a version: %w", away)
		}
		newest, err := newestRelease(ctx, c.Env, connected)
		if err != nil {
			return nil, err
		}
		version = newest
	}
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{
			Version:        version,
			ProvisionerRef: v1alpha1.ProvisionerReference{Name: c.provisioner, Namespace: c.provisionerNamespace},
			Network: v1alpha1.Network{
				PodCIDR: c.podCIDR, ServiceCIDR: c.serviceCIDR, DNSDomain: c.dnsDomain, ExtraSANs: c.extraSANs,
			},
			CNI: c.cni, PodSecurity: c.podSecurity, Addons: c.addonSettings,
		},
	}
	if c.nodes == 0 {
		return []client.Object{cluster}, nil
	}
	pool := kinds.NewNodePool()
	pool.Name, pool.Spec.ClusterName, pool.Spec.Replicas = name, name, c.nodes
	c.Taken = kinds.PoolCommand(pool)
	return []client.Object{cluster, pool}, nil
}
