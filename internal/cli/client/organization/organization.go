package organization

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewCommand returns `organization` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "organization",
		Aliases: []string{"organizations", "org"},
		Short:   "Create, show and delete organizations",
		Long: `Create, show and delete organizations. Each is a tenant of the installation: it has
members, clusters and a quota. Administrators of the installation make and delete
them and say what they may have; who their members are is "kqueen member".`,
		Example: `  kqueen organization create payments --display-name Payments --max-clusters 5
  kqueen member set user:alice --role operator --org payments
  kqueen organization describe payments`,
	}
	command.Group(cmd)
	cmd.AddCommand(
		verbs.ListCommand(e, kinds.Organization),
		verbs.GetCommand(e, kinds.Organization),
		newDescribeOrganizationCommand(e),
		newCreateOrganizationCommand(e),
		newUpdateOrganizationCommand(e),
		newDeleteOrganizationCommand(e),
		verbs.WaitCommand(e, kinds.Organization, v1alpha1.ConditionNamespaceReady, v1alpha1.ConditionRolesBound),
	)
	return cmd
}

// organizationFlags are the flags that say what an organization is and may have.
type organizationFlags struct {
	displayName           string
	clusters, nodes       string
	provisioners, release []string
}

func (o *organizationFlags) register(e *connection.Env, cmd *cobra.Command) []string {
	f := cmd.Flags()
	f.StringVar(&o.displayName, "display-name", "", "name to show")
	f.StringVar(&o.clusters, "max-clusters", "", "how many clusters it may have, or none for no limit")
	f.StringVar(&o.nodes, "max-nodes", "", "how many nodes its clusters may have together, or none for no limit")
	f.StringSliceVar(&o.provisioners, "provisioner", nil, "shared provisioner that it may use; may be repeated (default all)")
	f.StringSliceVar(&o.release, "release", nil, "version of Kubernetes that it may use, such as v1.36.3, or v1.36 for all of them; may be repeated (default all)")
	flags := []string{"display-name", "max-clusters", "max-nodes", "provisioner", "release"}
	complete := map[string]cobra.CompletionFunc{"provisioner": kinds.CompleteNames(e, kinds.Provisioner, -1), "release": kinds.CompleteNames(e, kinds.Release, -1)}
	for _, name := range flags {
		if complete[name] == nil {
			complete[name] = command.NoCompletion
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
			return nil, exit.UsageError(cmd, "--%s: %w", limit.flag, err)
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

func newCreateOrganizationCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.Organization}
	flags := &organizationFlags{}
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Create an organization",
		Long: `Create an organization, from flags or from a file. It has no members yet: an
administrator of the installation makes them with "kqueen member set".`,
		Example: `  kqueen organization create payments --display-name Payments --max-clusters 5 --max-nodes 20
  kqueen organization create research --release v1.36 --wait
  kqueen organization create -f organizations.yaml --dry-run=server`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Check(cmd, args); err != nil {
				return err
			}
			spec, err := flags.spec(cmd)
			if err != nil {
				return err
			}
			c.FromFlags = func(_ context.Context, _ *objects.Client, _ error, name string) ([]client.Object, error) {
				o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: name}}
				return []client.Object{o}, verbs.IntoSpec(spec, &o.Spec)
			}
			return c.Run(cmd.Context(), args)
		},
	}
	c.Excludes = flags.register(e, cmd)
	c.Register(cmd)
	return cmd
}

func newUpdateOrganizationCommand(e *connection.Env) *cobra.Command {
	cmd, u := verbs.UpdateCommand(e, kinds.Organization, "kqueen organization update payments --max-clusters 10 --max-nodes none")
	flags := &organizationFlags{}
	flags.register(e, cmd)
	u.FromFlags = flags.spec
	return cmd
}

func newDeleteOrganizationCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.Organization, Content: "members and settings"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete organizations",
		Long: `Delete organizations. One that still has clusters goes when the last of them is
deleted.

A terminal is asked first. Without one, --yes is required.`,
		Example: "  kqueen organization delete payments\n  kqueen organization delete payments --yes --wait=false",
	}
	d.Register(cmd)
	return cmd
}

func newDescribeOrganizationCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show details of an organization",
		Example:           "  kqueen organization describe payments",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Organization, 1),
		RunE:              func(cmd *cobra.Command, args []string) error { return describeOrganization(cmd.Context(), e, args[0]) },
	}
}

func describeOrganization(ctx context.Context, e *connection.Env, name string) error {
	c, err := e.Connect()
	if err != nil {
		return err
	}
	o, err := kinds.FindAs[*v1alpha1.Organization](ctx, e, c, kinds.Organization, name)
	if err != nil {
		return err
	}
	p := &describe.Page{}
	quota := v1alpha1.Quota{}
	if o.Spec.Quota != nil {
		quota = *o.Spec.Quota
	}
	p.Fields("",
		"Name", o.Name,
		"Display name", o.Spec.DisplayName,
		"Labels", describe.Pairs(o.Labels),
		"Age", kinds.Age(o.CreationTimestamp.Time),
		"Deleting", describe.Deleting(o),
		"Namespace", o.Status.Namespace,
		"Most clusters", describe.Optional(quota.Clusters),
		"Most nodes", describe.Optional(quota.Nodes),
		"Provisioners", allOr(o.Spec.Provisioners),
		"Releases", allOr(o.Spec.Releases),
	)
	if len(o.Spec.Members) > 0 {
		rows := [][]string{{"MEMBER", "ROLE"}}
		for _, m := range o.Spec.Members {
			rows = append(rows, []string{memberName(m.User, m.Group), string(m.Role)})
		}
		p.Heading("Members")
		p.Table(rows)
	}
	describe.Conditions(p, o.Status.Status)
	return p.Print(e.Stdout)
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
