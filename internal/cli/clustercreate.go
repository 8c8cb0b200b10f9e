package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// mostNodes is how many nodes the definition of a NodePool allows.
const mostNodes = 1000

// clusterCreation is one run of `cluster create`.
type clusterCreation struct {
	creation
	version                           string
	provisioner, provisionerNamespace string
	podCIDR, serviceCIDR, dnsDomain   string
	extraSANs                         []string
	cni                               string
	nodes                             int32
}

// newCreateClusterCommand returns `cluster create`.
func newCreateClusterCommand(e *env) *cobra.Command {
	c := &clusterCreation{creation: creation{env: e, noun: clusterNoun}}
	c.fromFlags = c.build
	c.excludes = []string{"version", "provisioner", "provisioner-namespace", "pod-cidr", "service-cidr", "dns-domain", "extra-san", "cni"}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Make a cluster",
		Long: `Make a cluster, from flags or from files.

Without --version the cluster gets the newest release that is ready. With
--filename every document of the file has to be a Cluster; all are checked
before the first is made.

With --nodes the cluster gets a nodepool of its own name. Change its size with
"kqueen nodepool scale", and make further ones with "kqueen nodepool create".
--wait then waits for the cluster and for its nodes.`,
		Example: `  kqueen cluster create demo --wait
  kqueen cluster create demo --nodes 2 --wait
  kqueen cluster create demo --version v1.36.3 --pod-cidr 10.244.0.0/16
  kqueen cluster create -f clusters.yaml --dry-run=server
  kqueen cluster create demo --nodes 2 --dry-run=client -o yaml`,
		Args:              names(0, 1),
		ValidArgsFunction: noCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.checkFlags(cmd, args); err != nil {
				return err
			}
			return c.run(cmd.Context(), args)
		},
	}
	c.registerFlags(cmd)
	return cmd
}

// registerFlags adds the flags.
func (c *clusterCreation) registerFlags(cmd *cobra.Command) {
	c.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.version, "version", "", "version of Kubernetes, such as v1.36.3 (default the newest release that is ready)")
	flags.StringVar(&c.provisioner, "provisioner", "", "what makes the cluster (default \"hosted\")")
	flags.StringVar(&c.provisionerNamespace, "provisioner-namespace", "", "namespace of the provisioner (default \""+v1alpha1.SystemNamespace+"\")")
	flags.StringVar(&c.podCIDR, "pod-cidr", "", "range of pod addresses (default 10.244.0.0/16)")
	flags.StringVar(&c.serviceCIDR, "service-cidr", "", "range of Service addresses (default 10.96.0.0/16)")
	flags.StringVar(&c.dnsDomain, "dns-domain", "", "suffix of names inside the cluster (default cluster.local)")
	flags.StringSliceVar(&c.extraSANs, "extra-san", nil, "further host name or address of the API server; may be repeated")
	flags.StringVar(&c.cni, "cni", "", "what makes the network of pods: routes, flannel, or none to bring your own (default routes)")
	flags.Int32Var(&c.nodes, "nodes", 0, "how many nodes to make, in a nodepool that has the name of the cluster")
	for name, complete := range map[string]cobra.CompletionFunc{
		"version":               c.env.completeNames(releaseNoun, -1),
		"provisioner":           c.env.completeNames(provisionerNoun, -1),
		"provisioner-namespace": noCompletion,
		"pod-cidr":              noCompletion,
		"service-cidr":          noCompletion,
		"dns-domain":            noCompletion,
		"extra-san":             noCompletion,
		"cni":                   oneOf(v1alpha1.CNIs()...),
		"nodes":                 noCompletion,
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, complete)
	}
}

// checkFlags refuses command lines that contradict themselves.
func (c *clusterCreation) checkFlags(cmd *cobra.Command, args []string) error {
	if c.file != "" && cmd.Flags().Changed("nodes") {
		return usageError(cmd, "--nodes cannot be used with --filename; make nodes with: %s", c.env.command(nodePoolNoun.none))
	}
	if err := c.check(cmd, args); err != nil {
		return err
	}
	if c.cni != "" && !slices.Contains(v1alpha1.CNIs(), c.cni) {
		return usageError(cmd, "--cni: %q has to be one of %s", c.cni, strings.Join(v1alpha1.CNIs(), ", "))
	}
	if err := checkNodes(cmd, "nodes", c.nodes); err != nil {
		return err
	}
	return checkVersion(cmd, c.version)
}

// checkVersion refuses what is no version of Kubernetes; an empty one was left open.
func checkVersion(cmd *cobra.Command, version string) error {
	if _, err := semver.StrictNewVersion(trimV(version)); version != "" && (err != nil || version[0] != 'v') {
		return usageError(cmd, "--version: %q is no version such as v1.36.3", version)
	}
	return nil
}

// checkNodes refuses numbers of nodes that no pool can have.
func checkNodes(cmd *cobra.Command, flag string, count int32) error {
	if count < 0 || count > mostNodes {
		return usageError(cmd, "--%s: %d has to be a number from 0 to %d", flag, count, mostNodes)
	}
	return nil
}

func trimV(version string) string {
	if version != "" && version[0] == 'v' {
		return version[1:]
	}
	return version
}

// build returns the cluster that the flags say, and its pool when it shall have nodes.
func (c *clusterCreation) build(ctx context.Context, connected client.Client, away error, name string) ([]client.Object, error) {
	version := c.version
	if version == "" {
		if away != nil {
			return nil, fmt.Errorf("choose a version: %w", away)
		}
		newest, err := c.env.newestRelease(ctx, connected)
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
			CNI: c.cni,
		},
	}
	if c.nodes == 0 {
		return []client.Object{cluster}, nil
	}
	pool := newNodePool()
	pool.Name, pool.Spec.ClusterName, pool.Spec.Replicas = name, name, c.nodes
	c.taken = poolCommand(pool)
	return []client.Object{cluster, pool}, nil
}

// poolCommand is the command line that makes a pool as `cluster create` does.
func poolCommand(pool *v1alpha1.NodePool) string {
	return fmt.Sprintf("nodepool create %s --cluster %s --nodes %d", shellQuote(pool.Name), shellQuote(pool.Spec.ClusterName), pool.Spec.Replicas)
}
