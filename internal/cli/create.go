package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// creation is one run of `cluster create`.
type creation struct {
	env                               *env
	version                           string
	provisioner, provisionerNamespace string
	podCIDR, serviceCIDR, dnsDomain   string
	extraSANs                         []string
	file, dryRun, format              string
	wait                              bool
	timeout                           time.Duration
}

// newCreateCommand returns `cluster create`.
func newCreateCommand(e *env) *cobra.Command {
	c := &creation{env: e}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Make a cluster",
		Long: `Make a cluster, from flags or from files.

Without --version the cluster gets the newest release that is ready. With
--filename every document of the file has to be a Cluster; all are checked
before the first is made.`,
		Example: `  kqueen cluster create demo --wait
  kqueen cluster create demo --version v1.36.3 --pod-cidr 10.244.0.0/16
  kqueen cluster create -f clusters.yaml --dry-run=server
  kqueen cluster create demo --dry-run=client -o yaml`,
		Args:              names(0, 1),
		ValidArgsFunction: noCompletion,
		RunE:              c.run,
	}
	c.register(cmd)
	return cmd
}

// register adds the flags.
func (c *creation) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.version, "version", "", "version of Kubernetes, such as v1.36.3 (default the newest release that is ready)")
	flags.StringVar(&c.provisioner, "provisioner", "", "what makes the cluster (default \"hosted\")")
	flags.StringVar(&c.provisionerNamespace, "provisioner-namespace", "", "namespace of the provisioner (default \""+v1alpha1.SystemNamespace+"\")")
	flags.StringVar(&c.podCIDR, "pod-cidr", "", "range of pod addresses (default 10.244.0.0/16)")
	flags.StringVar(&c.serviceCIDR, "service-cidr", "", "range of Service addresses (default 10.96.0.0/16)")
	flags.StringVar(&c.dnsDomain, "dns-domain", "", "suffix of names inside the cluster (default cluster.local)")
	flags.StringSliceVar(&c.extraSANs, "extra-san", nil, "further host name or address of the API server; may be repeated")
	flags.StringVarP(&c.file, "filename", "f", "", "file with clusters, or - for standard input")
	flags.StringVar(&c.dryRun, "dry-run", dryRunNone, "check and print, but make nothing: none, client, server")
	flags.BoolVar(&c.wait, "wait", false, "wait until the cluster is ready")
	registerTimeout(cmd, &c.timeout)
	registerOutput(cmd, &c.format, "", []string{"name", "json", "yaml"})
	for name, complete := range map[string]cobra.CompletionFunc{
		"version":               c.env.completeNames(releaseNoun, -1),
		"provisioner":           c.env.completeNames(provisionerNoun, -1),
		"provisioner-namespace": noCompletion,
		"dry-run":               cobra.FixedCompletions([]string{dryRunNone, dryRunClient, dryRunServer}, cobra.ShellCompDirectiveNoFileComp),
		"pod-cidr":              noCompletion,
		"service-cidr":          noCompletion,
		"dns-domain":            noCompletion,
		"extra-san":             noCompletion,
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, complete)
	}
}

// fileExcludes are the flags that say what a file says.
var fileExcludes = []string{"version", "provisioner", "provisioner-namespace", "pod-cidr", "service-cidr", "dns-domain", "extra-san"}

// check refuses command lines that contradict themselves.
func (c *creation) check(cmd *cobra.Command, args []string) error {
	if c.file == "" && len(args) == 0 {
		return usageError(cmd, "give the cluster a NAME, or a file with --filename")
	}
	for _, flag := range fileExcludes {
		if c.file != "" && cmd.Flags().Changed(flag) {
			return usageError(cmd, "--%s cannot be used with --filename; write it into the file", flag)
		}
	}
	if !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, c.dryRun) {
		return usageError(cmd, "--dry-run: %q has to be none, client or server", c.dryRun)
	}
	if c.wait && c.dryRun != dryRunNone {
		return usageError(cmd, "--wait cannot be used with --dry-run=%s, which makes nothing to wait for", c.dryRun)
	}
	if !slices.Contains([]string{"", "name", "json", "yaml"}, c.format) {
		return usageError(cmd, "--output: %q is no format; choose one of name, json, yaml", c.format)
	}
	if _, err := semver.StrictNewVersion(trimV(c.version)); c.version != "" && (err != nil || c.version[0] != 'v') {
		return usageError(cmd, "--version: %q is no version such as v1.36.3", c.version)
	}
	return nil
}

func trimV(version string) string {
	if version != "" && version[0] == 'v' {
		return version[1:]
	}
	return version
}

func (c *creation) run(cmd *cobra.Command, args []string) error {
	if err := c.check(cmd, args); err != nil {
		return err
	}
	// A client makes no call before it is used: a dry run on the client needs the server only for what
	// the user left open.
	connected, err := c.env.connect()
	if err != nil && c.dryRun != dryRunClient {
		return err
	}
	clusters, err := c.clusters(cmd.Context(), connected, err, args)
	if err != nil {
		return err
	}
	if err := c.place(clusters, args); err != nil {
		return err
	}
	begun := time.Now()
	if c.dryRun != dryRunClient {
		if err := c.createAll(cmd.Context(), connected, clusters); err != nil {
			return err
		}
	}
	if err := c.report(clusters); err != nil {
		return err
	}
	if !c.wait {
		return nil
	}
	for _, cluster := range clusters {
		goal := waiting{name: cluster.Name, goal: v1alpha1.ConditionReady, timeout: c.timeout, since: begun}
		if err := c.env.await(cmd.Context(), connected, goal); err != nil {
			return err
		}
	}
	return nil
}

// clusters returns the clusters that the user wants, from the file or from flags. Without a client, the
// error is why there is none.
func (c *creation) clusters(ctx context.Context, connected client.Client, away error, args []string) ([]*v1alpha1.Cluster, error) {
	if c.file != "" {
		return c.env.readClusters(c.file)
	}
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
	return []*v1alpha1.Cluster{{
		ObjectMeta: metav1.ObjectMeta{Name: args[0]},
		Spec: v1alpha1.ClusterSpec{
			Version:        version,
			ProvisionerRef: v1alpha1.ProvisionerReference{Name: c.provisioner, Namespace: c.provisionerNamespace},
			Network: v1alpha1.Network{
				PodCIDR: c.podCIDR, ServiceCIDR: c.serviceCIDR, DNSDomain: c.dnsDomain, ExtraSANs: c.extraSANs,
			},
		},
	}}, nil
}

// place gives each cluster its kind and namespace, and the name of the command line to the one that a file holds.
func (c *creation) place(clusters []*v1alpha1.Cluster, args []string) error {
	if len(args) == 1 {
		if len(clusters) > 1 {
			return fail(codeUsage, "%s holds %d clusters, so the NAME %q cannot be for all of them; leave it out", c.file, len(clusters), args[0])
		}
		if name := clusters[0].Name; name != "" && name != args[0] {
			return fail(codeUsage, "%s names the cluster %q and the command line %q; leave out one of them", c.file, name, args[0])
		}
		clusters[0].Name = args[0]
	}
	seen := map[client.ObjectKey]bool{}
	for i, cluster := range clusters {
		if cluster.Name == "" {
			return fmt.Errorf("%s, cluster %d: metadata.name: is missing", c.file, i+1)
		}
		if cluster.Namespace == "" {
			cluster.Namespace = c.env.namespace()
		}
		if cluster.Namespace != c.env.namespace() {
			return fmt.Errorf("%s, cluster %s: metadata.namespace: is %q, but organization %s has %q; leave it out, or choose with --org",
				c.file, cluster.Name, cluster.Namespace, c.env.organization(), c.env.namespace())
		}
		key := client.ObjectKeyFromObject(cluster)
		if seen[key] {
			return fmt.Errorf("%s, cluster %s: metadata.name: there are two of that name", c.file, cluster.Name)
		}
		seen[key] = true
		cluster.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(clusterNoun.kind))
	}
	return nil
}

// createAll makes all clusters. Several are first checked by the server, so that a mistake in the last
// does not leave the others behind.
func (c *creation) createAll(ctx context.Context, connected client.Client, clusters []*v1alpha1.Cluster) error {
	if len(clusters) > 1 && c.dryRun == dryRunNone {
		for _, cluster := range clusters {
			if err := c.create(ctx, connected, cluster.DeepCopy(), client.DryRunAll); err != nil {
				return err
			}
		}
	}
	var options []client.CreateOption
	if c.dryRun == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	for _, cluster := range clusters {
		if err := c.create(ctx, connected, cluster, options...); err != nil {
			return err
		}
		if err := setKind(connected, cluster); err != nil {
			return err
		}
	}
	return nil
}

func (c *creation) create(ctx context.Context, connected client.Client, cluster *v1alpha1.Cluster, options ...client.CreateOption) error {
	err := connected.Create(ctx, cluster, options...)
	if apierrors.IsAlreadyExists(err) {
		return fail(codeError, "cluster %s already exists in organization %s; choose another name, or see it with: %s",
			cluster.Name, c.env.organization(), c.env.command("cluster get "+cluster.Name))
	}
	if apierrors.IsNotFound(err) {
		if absent := c.env.checkOrganization(ctx, connected); absent != nil {
			return absent
		}
	}
	if err != nil {
		return fmt.Errorf("create cluster %s: %w", cluster.Name, err)
	}
	return nil
}

// report prints what was made, in the format that the user wants, and tells it to people.
func (c *creation) report(clusters []*v1alpha1.Cluster) error {
	made := "created"
	if c.dryRun != dryRunNone {
		made = "would be created (dry run)"
	}
	objects := make([]client.Object, 0, len(clusters))
	for _, cluster := range clusters {
		objects = append(objects, cluster)
		c.env.say("cluster %s %s with Kubernetes %s", cluster.Name, made, cluster.Spec.Version)
	}
	if !c.wait && c.dryRun == dryRunNone {
		c.env.say("wait for it with: %s", c.env.command("cluster wait "+clusters[0].Name))
	}
	if c.format == "" {
		return nil
	}
	out, err := newOutput(c.env.stdout, clusterNoun, outputOptions{format: c.format})
	if err != nil {
		return err
	}
	return out.print(objects, len(objects) == 1)
}
