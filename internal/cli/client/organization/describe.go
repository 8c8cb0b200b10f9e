package organization

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/kinds"
)

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
	quota := ptr.Deref(o.Spec.Quota, v1alpha1.Quota{})
	machines := ptr.Deref(quota.Machines, v1alpha1.MachineQuota{})
	p.Fields("",
		"Name", o.Name,
		"Display name", o.Spec.DisplayName,
		"Labels", describe.Pairs(o.Labels),
		"Age", kinds.Age(o.CreationTimestamp.Time),
		"Deleting", describe.Deleting(o),
		"Namespace", o.Status.Namespace,
		"Most clusters", kinds.Optional(quota.Clusters),
		"Most nodes", kinds.Optional(quota.Nodes),
		"Most local machines", kinds.Optional(machines.Local),
		"Most manual machines", kinds.Optional(machines.Manual),
		"Most processors", amount(quota.CPU),
		"Most memory", amount(quota.Memory),
		"Most data in stores", amount(quota.Store),
		"Provisioners", listOr(o.Spec.ProvisionerNames, "all"),
		"Releases", listOr(o.Spec.Releases, "all"),
		"Drivers", listOr(o.Spec.Drivers, "all"),
		"Data stores", listOr(o.Spec.DataStoreNames, "those of the shared provisioners that it may use"),
		"Pod Security", cmp.Or(o.Spec.PodSecurity, v1alpha1.PodSecurityBaseline)+" at the weakest",
		"Machine providers", listOr(o.Spec.MachineProviders, v1alpha1.ProviderManual),
		"Egress allowed", listOr(o.EgressAllowed(), "nothing beside what all organizations may call"),
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

// amount is a quantity that may be left open.
func amount(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

// listOr says which, and where none is named what that means.
func listOr(names []string, without string) string {
	if len(names) == 0 {
		return without
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
