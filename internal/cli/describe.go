package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
)

// lastEvents is how many events a description shows at most.
const lastEvents = 10

// newDescribeClusterCommand returns `cluster describe`.
func newDescribeClusterCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show all about a cluster, on a page for people",
		Example:           "  kqueen cluster describe demo",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(clusterNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.describeCluster(cmd.Context(), args[0])
		},
	}
}

func (e *env) describeCluster(ctx context.Context, name string) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	object, err := e.find(ctx, c, clusterNoun, name)
	if err != nil {
		return err
	}
	cluster, ok := object.(*v1alpha1.Cluster)
	if !ok {
		return fmt.Errorf("get cluster %s: it is a %T", name, object)
	}
	p := &page{}
	describeSpec(p, e.organization(), cluster)
	describeConditions(p, cluster.Status.Status)
	describeSteps(p, cluster.Status.Steps)
	if err := e.describeComponents(ctx, c, p, name); err != nil {
		return err
	}
	if err := e.describePools(ctx, c, p, name); err != nil {
		return err
	}
	if err := e.describeEvents(ctx, c, p, e.eventsOf(name, clusterNoun.kind, "ControlPlane")); err != nil {
		return err
	}
	return p.print(e.stdout)
}

// describeSpec adds what somebody wants of a cluster, and where it is.
func describeSpec(p *page, organization string, c *v1alpha1.Cluster) {
	p.fields("",
		"Name", c.Name,
		"Organization", organization,
		"Labels", pairs(c.Labels),
		"Age", age(c.CreationTimestamp.Time),
		"Deleting", deletingSince(c),
		"Version", versionOnTheWay(c.Status.Version, c.Spec.Version),
		"Provisioner", c.Spec.ProvisionerRef.Name+" in "+c.Spec.ProvisionerRef.Namespace,
		"Endpoint", c.Status.Endpoint,
		"Next try", nextTry(c.Status.NextTry),
	)
	p.heading("Network")
	network := c.Spec.Network
	p.fields("  ",
		"Pods", network.PodCIDR,
		"Services", network.ServiceCIDR,
		"DNS domain", network.DNSDomain,
		"Further names", strings.Join(network.ExtraSANs, ", "),
		"CNI", c.Spec.CNI,
	)
	describeParameters(p, c.Spec.Parameters)
}

// versionOnTheWay says which version there is, and which there will be.
func versionOnTheWay(present, wanted string) string {
	if present != "" && present != wanted {
		return fmt.Sprintf("%s, on the way to %s", present, wanted)
	}
	return wanted
}

// deletingSince says for how long an object is being deleted, or nothing.
func deletingSince(o client.Object) string {
	return since(o.GetDeletionTimestamp())
}

// describeParameters adds what only a driver knows, as YAML.
func describeParameters(p *page, parameters *apiextensionsv1.JSON) {
	if parameters != nil {
		describeJSON(p, "Parameters", *parameters)
	}
}

// describeJSON adds JSON as YAML, under a heading of its own. Nothing adds nothing.
func describeJSON(p *page, heading string, parameters apiextensionsv1.JSON) {
	if len(parameters.Raw) == 0 {
		return
	}
	text, err := yaml.JSONToYAML(parameters.Raw)
	if err != nil {
		text = parameters.Raw
	}
	p.heading(heading)
	p.block(string(text))
}

// describeConditions adds how far an object is, and why.
func describeConditions(p *page, status v1alpha1.Status) {
	p.heading("Conditions")
	if len(status.Conditions) == 0 {
		p.block("none yet: KQueen has not looked at it")
		return
	}
	rows := [][]string{{"TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"}}
	for _, c := range status.Conditions {
		rows = append(rows, []string{c.Type, string(c.Status), c.Reason, age(c.LastTransitionTime.Time), c.Message})
	}
	p.table(rows)
}

func describeSteps(p *page, steps []v1alpha1.Step) {
	if len(steps) == 0 {
		return
	}
	p.heading("Steps")
	for _, s := range steps {
		mark := "…"
		if s.Done {
			mark = "✓"
		}
		p.block(strings.TrimRight(mark+" "+cleanLine(s.Name)+"  "+cleanLine(s.Message), " "))
	}
}

// describeComponents adds the programs of the control plane that KQueen hosts for the cluster, if it does.
func (e *env) describeComponents(ctx context.Context, c client.Client, p *page, name string) error {
	plane := &v1alpha1.ControlPlane{}
	err := c.Get(ctx, client.ObjectKey{Namespace: e.namespace(), Name: name}, plane)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get control plane %s: %w", name, err)
	}
	if len(plane.Status.Components) == 0 {
		return nil
	}
	p.heading("Components")
	rows := [][]string{{"NAME", "STATE", "RESTARTS", "LAST EXIT"}}
	for _, component := range plane.Status.Components {
		rows = append(rows, []string{component.Name, component.State, strconv.Itoa(int(component.Restarts)), component.LastExit})
	}
	p.table(rows)
	return nil
}

// describeEvents adds the last events.
func (e *env) describeEvents(ctx context.Context, c client.Client, p *page, of source) error {
	events, err := fetch(ctx, c, of)
	if err != nil {
		return err
	}
	oldestFirst(events)
	describeObjects(p, "Events", eventNoun, events[max(0, len(events)-lastEvents):])
	return nil
}

// describePools adds the pools of nodes that a cluster has, if it has any.
func (e *env) describePools(ctx context.Context, c client.Client, p *page, cluster string) error {
	pools, err := e.poolsOf(ctx, c, cluster)
	objects := make([]client.Object, 0, len(pools))
	for _, pool := range pools {
		objects = append(objects, pool)
	}
	describeObjects(p, "Nodepools", nodePoolNoun, objects)
	return err
}

// describeObjects adds a table of objects, with the columns that list shows. None add nothing.
func describeObjects(p *page, heading string, n *noun, objects []client.Object) {
	if len(objects) == 0 {
		return
	}
	columns := slices.DeleteFunc((&output{noun: n}).columns(), func(c column) bool { return c.wide && c.name != messageColumn.name })
	header := make([]string, 0, len(columns))
	for _, column := range columns {
		header = append(header, strings.ToUpper(column.name))
	}
	rows := [][]string{header}
	for _, object := range objects {
		row := make([]string, 0, len(columns))
		for _, column := range columns {
			row = append(row, column.value(object))
		}
		rows = append(rows, row)
	}
	p.heading(heading)
	p.table(rows)
}

// pairs returns labels as kubectl writes them.
func pairs(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, ", ")
}

// nextTry says when something is tried again, or nothing.
func nextTry(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	if left := time.Until(at.Time); left > 0 {
		return "in " + duration.HumanDuration(left)
	}
	return "now"
}
