package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newOrganizationCommand returns `organization` and what is under it.
func newOrganizationCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "organization",
		Aliases: []string{"organizations", "org"},
		Short:   "Make, show and delete organizations",
		Long: `Make, show and delete organizations. Each is a tenant of the installation: it has
members, clusters and a quota. Administrators of the installation make and delete
them and say what they may have; who their members are is "kqueen member".`,
		Example: `  kqueen organization create payments --display-name Payments --max-clusters 5
  kqueen member set user:alice --role operator --org payments
  kqueen organization describe payments`,
	}
	asGroup(cmd)
	cmd.AddCommand(
		newListCommand(e, organizationNoun),
		newGetCommand(e, organizationNoun),
		newDescribeOrganizationCommand(e),
		newCreateOrganizationCommand(e),
		newUpdateOrganizationCommand(e),
		newDeleteOrganizationCommand(e),
		newWaitCommand(e, organizationNoun, v1alpha1.ConditionNamespaceReady, v1alpha1.ConditionRolesBound),
	)
	return cmd
}

// organizationFlags are the flags that say what an organization is and may have.
type organizationFlags struct {
	displayName           string
	clusters, nodes       string
	provisioners, release []string
}

func (o *organizationFlags) register(e *env, cmd *cobra.Command) []string {
	f := cmd.Flags()
	f.StringVar(&o.displayName, "display-name", "", "name for people")
	f.StringVar(&o.clusters, "max-clusters", "", "how many clusters it may have, or none for no limit")
	f.StringVar(&o.nodes, "max-nodes", "", "how many nodes its clusters may have together, or none for no limit")
	f.StringSliceVar(&o.provisioners, "provisioner", nil, "shared provisioner that it may use; may be repeated (default all)")
	f.StringSliceVar(&o.release, "release", nil, "version of Kubernetes that it may use, such as v1.36.3, or v1.36 for all of them; may be repeated (default all)")
	flags := []string{"display-name", "max-clusters", "max-nodes", "provisioner", "release"}
	complete := map[string]cobra.CompletionFunc{"provisioner": e.completeNames(provisionerNoun, -1), "release": e.completeNames(releaseNoun, -1)}
	for _, name := range flags {
		if complete[name] == nil {
			complete[name] = noCompletion
		}
		_ = cmd.RegisterFlagCompletionFunc(name, complete[name])
	}
	return flags
}

// spec returns what the flags that were given say, as a merge patch of a spec.
func (o *organizationFlags) spec(cmd *cobra.Command) (map[string]any, error) {
	patch, quota, changed := map[string]any{}, map[string]any{}, cmd.Flags().Changed
	if changed("display-name") {
		patch["displayName"] = o.displayName
	}
	for _, limit := range []struct{ flag, field, value string }{{"max-clusters", "clusters", o.clusters}, {"max-nodes", "nodes", o.nodes}} {
		if !changed(limit.flag) {
			continue
		}
		most, err := parseLimit(limit.value)
		if err != nil {
			return nil, usageError(cmd, "--%s: %w", limit.flag, err)
		}
		quota[limit.field] = most
	}
	if len(quota) > 0 {
		patch["quota"] = quota
	}
	for _, names := range []struct {
		flag, field string
		value       []string
	}{{"provisioner", "provisioners", o.provisioners}, {"release", "releases", o.release}} {
		switch {
		case !changed(names.flag):
		case strings.Join(names.value, "") == "":
			patch[names.field] = nil // all of them
		default:
			patch[names.field] = names.value
		}
	}
	return patch, nil
}

// parseLimit reads a number, or none, which is null.
func parseLimit(text string) (any, error) {
	if text == "none" {
		return nil, nil
	}
	most, err := strconv.ParseInt(text, 10, 32)
	if err != nil || most < 0 {
		return nil, fmt.Errorf("%q has to be a number from 0 on, or none", text)
	}
	return most, nil
}

func newCreateOrganizationCommand(e *env) *cobra.Command {
	c := &creation{env: e, noun: organizationNoun}
	flags := &organizationFlags{}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Make an organization",
		Long: `Make an organization, from flags or from a file. It has no members yet: an
administrator of the installation makes them with "kqueen member set".`,
		Example: `  kqueen organization create payments --display-name Payments --max-clusters 5 --max-nodes 20
  kqueen organization create research --release v1.36 --wait
  kqueen organization create -f organizations.yaml --dry-run=server`,
		Args:              names(0, 1),
		ValidArgsFunction: noCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(cmd, args); err != nil {
				return err
			}
			spec, err := flags.spec(cmd)
			if err != nil {
				return err
			}
			c.fromFlags = func(_ context.Context, _ client.Client, _ error, name string) ([]client.Object, error) {
				o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: name}}
				return []client.Object{o}, intoSpec(spec, &o.Spec)
			}
			return c.run(cmd.Context(), args)
		},
	}
	c.excludes = flags.register(e, cmd)
	c.register(cmd)
	return cmd
}

func newUpdateOrganizationCommand(e *env) *cobra.Command {
	cmd, u := newUpdateCommand(e, organizationNoun, "kqueen organization update payments --max-clusters 10 --max-nodes none")
	flags := &organizationFlags{}
	flags.register(e, cmd)
	u.fromFlags = flags.spec
	return cmd
}

func newDeleteOrganizationCommand(e *env) *cobra.Command {
	d := &deletion{env: e, noun: organizationNoun, content: "members and settings"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete organizations",
		Long: `Delete organizations. One that still has clusters goes when the last of them is
deleted.

A terminal is asked first. Without one, --yes is required.`,
		Example: "  kqueen organization delete payments\n  kqueen organization delete payments --yes --wait=false",
	}
	d.register(cmd)
	return cmd
}

func newDescribeOrganizationCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show all about an organization, on a page for people",
		Example:           "  kqueen organization describe payments",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(organizationNoun, 1),
		RunE:              func(cmd *cobra.Command, args []string) error { return e.describeOrganization(cmd.Context(), args[0]) },
	}
}

func (e *env) describeOrganization(ctx context.Context, name string) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	object, err := e.find(ctx, c, organizationNoun, name)
	if err != nil {
		return err
	}
	o, ok := object.(*v1alpha1.Organization)
	if !ok {
		return fmt.Errorf("get organization %s: it is a %T", name, object)
	}
	p := &page{}
	quota := v1alpha1.Quota{}
	if o.Spec.Quota != nil {
		quota = *o.Spec.Quota
	}
	p.fields("",
		"Name", o.Name,
		"Display name", o.Spec.DisplayName,
		"Labels", pairs(o.Labels),
		"Age", age(o.CreationTimestamp.Time),
		"Deleting", deletingSince(o),
		"Namespace", o.Status.Namespace,
		"Most clusters", optional(quota.Clusters),
		"Most nodes", optional(quota.Nodes),
		"Provisioners", allOr(o.Spec.Provisioners),
		"Releases", allOr(o.Spec.Releases),
	)
	if len(o.Spec.Members) > 0 {
		rows := [][]string{{"MEMBER", "ROLE"}}
		for _, m := range o.Spec.Members {
			rows = append(rows, []string{memberName(m.User, m.Group), string(m.Role)})
		}
		p.heading("Members")
		p.table(rows)
	}
	describeConditions(p, o.Status.Status)
	return p.print(e.stdout)
}

// allOr says which, where none named means all.
func allOr(names []string) string {
	if len(names) == 0 {
		return "all"
	}
	return strings.Join(names, ", ")
}

// memberName is how a member is called on the command line and in paths.
func memberName(user, group string) string {
	if group != "" {
		return "group:" + group
	}
	return "user:" + user
}
