package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// newDescribeClusterCommand returns `cluster describe`.
func newDescribeClusterCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show details of a cluster",
		Example:           "  kqueen cluster describe demo",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return describeCluster(cmd.Context(), e, args[0])
		},
	}
}

func describeCluster(ctx context.Context, e *connection.Env, name string) error {
	c, err := e.Connect()
	if err != nil {
		return err
	}
	cluster, err := kinds.FindAs[*v1alpha1.Cluster](ctx, e, c, kinds.Cluster, name)
	if err != nil {
		return err
	}
	plane, err := objects.Named[*v1alpha1.ControlPlane](ctx, c, kinds.ControlPlane.Kind, name)
	if err != nil && !objects.IsNotFound(err) {
		return fmt.Errorf("get control plane %s: %w", name, err)
	}
	p := &describe.Page{}
	machines, err := kinds.MachinesOf(ctx, e, c, name)
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	describeSpec(p, e.Organization(), cluster, serverName(plane))
	if err := describeAdopted(ctx, e, p, cluster); err != nil {
		return err
	}
	describeApplications(p, cluster)
	if !kinds.Adopted(cluster) {
		describeSecurity(p, cluster, machines)
	}
	describe.Conditions(p, cluster.Status.Status)
	describeSteps(p, cluster.Status.Steps)
	describeComponents(p, plane)
	describeAddons(p, cluster.Status.Addons)
	if err := describePools(ctx, e, c, p, name); err != nil {
		return err
	}
	if err := describe.Events(ctx, e, c, p, kinds.EventsOf(e, name, kinds.Cluster.Kind, "ControlPlane")); err != nil {
		return err
	}
	return p.Print(e.Stdout)
}

// describeSpec adds what the user wants of a cluster, and where it is.
func describeSpec(p *describe.Page, organization string, c *v1alpha1.Cluster, serverName string) {
	p.Fields("",
		"Name", c.Name,
		"Organization", organization,
		"Labels", describe.Pairs(c.Labels),
		"Age", kinds.Age(c.CreationTimestamp.Time),
		"Deleting", describe.Deleting(c),
		"Version", describe.VersionOnTheWay(c.Status.Version, c.Spec.Version),
		"Behaves as", c.Status.EmulatedVersion,
		"Provisioner", c.Spec.ProvisionerRef.Name+" in "+c.Spec.ProvisionerRef.Namespace,
		"Endpoint", c.Status.Endpoint,
		"TLS server name", serverName,
		"Next retry", describe.In(c.Status.NextRetryTime),
	)
	if kinds.Adopted(c) {
		return
	}
	p.Heading("Network")
	network := c.Spec.Network
	p.Fields("  ",
		"Pods", network.PodCIDR,
		"Services", network.ServiceCIDR,
		"DNS domain", network.DNSDomain,
		"Further names", strings.Join(network.ExtraSANs, ", "),
		"CNI", c.Spec.CNI,
	)
	describeMaintenance(p, c.Spec.Maintenance)
	describeHibernation(p, c.Spec.Hibernation, c.Status.Hibernation)
	describe.Parameters(p, c.Spec.Parameters)
}

// describeMaintenance adds when upgrades may change the cluster, where that is bounded.
func describeMaintenance(p *describe.Page, m *v1alpha1.Maintenance) {
	if m == nil {
		return
	}
	p.Heading("Maintenance")
	frozen := describe.In(m.FreezeEndTime)
	switch frozen {
	case "":
	case "now":
		frozen = "over"
	default:
		frozen = "no upgrade begins a step; it ends " + frozen
	}
	fields := []string{"Channel", m.UpgradeChannel, "Time zone", m.TimeZone, "Freeze", frozen}
	for _, w := range m.Windows {
		fields = append(fields, "Window", fmt.Sprintf("%s, for %s", w.Schedule, time.Duration(w.DurationSeconds)*time.Second))
	}
	p.Fields("  ", fields...)
}

// describeHibernation adds when the cluster sleeps, where it does.
func describeHibernation(p *describe.Page, h *v1alpha1.Hibernation, status *v1alpha1.HibernationStatus) {
	if h == nil || status == nil {
		return
	}
	p.Heading("Hibernation")
	state := "awake"
	if status.Asleep {
		state = "asleep"
	}
	fields := []string{
		"State", state, "Because", status.Message, "Time zone", h.TimeZone,
		"Last request", describe.Ago(status.LastRequestTime), "Woken", describe.Ago(status.WokenTime), "Next CronJob", describe.In(status.NextCronJobTime),
	}
	for _, w := range h.Windows {
		fields = append(fields, "Window", fmt.Sprintf("%s, for %s", w.Schedule, time.Duration(w.DurationSeconds)*time.Second))
	}
	p.Fields("  ", fields...)
}

// describeAdopted adds by what KQueen reaches a cluster that others run.
func describeAdopted(ctx context.Context, e *connection.Env, p *describe.Page, c *v1alpha1.Cluster) error {
	if !kinds.Adopted(c) {
		return nil
	}
	api, err := e.API()
	if err != nil {
		return err
	}
	found, err := api.GetClusterCredentials(ctx, e.Organization(), c.Name)
	if err != nil {
		return fmt.Errorf("get the credentials of cluster %s: %w", c.Name, err)
	}
	p.Heading("Adopted")
	switch {
	case slices.Contains(found.Keys, v1alpha1.CredentialKubeconfig):
		p.Fields("  ", "Kubeconfig", "set "+console.Elapsed(found.SetAt)+" ago; it cannot be read again")
	case slices.Contains(found.Keys, v1alpha1.CredentialAgent):
		p.Fields("  ", "Agent", agentState(c))
	default:
		p.Fields("  ", "Kubeconfig", "none; set one with: "+e.Command("cluster import "+c.Name+" --kubeconfig FILE"))
	}
	p.Fields("  ", "Nodes", "managed where the cluster was created")
	return nil
}

// agentState says how the agent of a cluster is, in a word. It is pure.
func agentState(c *v1alpha1.Cluster) string {
	provisioned := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionProvisioned)
	switch {
	case provisioned == nil || provisioned.Reason == v1alpha1.ReasonAgentPending:
		return "has not enrolled yet"
	case provisioned.Reason == v1alpha1.ReasonOffline:
		return "not connected"
	case provisioned.Status == metav1.ConditionTrue:
		return "connected"
	}
	return "enrolled"
}

func describeSteps(p *describe.Page, steps []v1alpha1.Step) {
	if len(steps) == 0 {
		return
	}
	p.Heading("Steps")
	for _, s := range steps {
		mark := "…"
		if s.Done {
			mark = "✓"
		}
		p.Block(strings.TrimRight(mark+" "+console.CleanLine(s.Name)+"  "+console.CleanLine(s.Message), " "))
	}
}

// describeAddons adds the applications that KQueen runs in the cluster.
func describeAddons(p *describe.Page, all []v1alpha1.AddonStatus) {
	if len(all) == 0 {
		return
	}
	p.Heading("Addons")
	rows := [][]string{{"NAME", "VERSION", "STATE", "MESSAGE"}}
	for _, a := range all {
		rows = append(rows, []string{a.Name, a.Version, a.State, console.CleanLine(a.Message)})
	}
	p.Table(rows)
}

// serverName is the name by which the gateway knows a cluster that KQueen hosts, as kubeconfigs have it.
func serverName(plane *v1alpha1.ControlPlane) string {
	if plane == nil || plane.Status.Endpoint == nil {
		return ""
	}
	return plane.Status.Endpoint.ServerName
}

// describeComponents adds the programs of the control plane that KQueen hosts for the cluster, if it does.
func describeComponents(p *describe.Page, plane *v1alpha1.ControlPlane) {
	if plane == nil || len(plane.Status.Components) == 0 {
		return
	}
	p.Heading("Components")
	rows := [][]string{{"NAME", "STATE", "RESTARTS", "LAST EXIT"}}
	for _, component := range plane.Status.Components {
		rows = append(rows, []string{component.Name, component.State, strconv.Itoa(int(component.Restarts)), component.LastExit})
	}
	p.Table(rows)
}

// describePools adds the pools of nodes that a cluster has, if it has any.
func describePools(ctx context.Context, e *connection.Env, c *objects.Client, p *describe.Page, cluster string) error {
	pools, err := kinds.PoolsOf(ctx, e, c, cluster)
	all := make([]client.Object, 0, len(pools))
	for _, pool := range pools {
		all = append(all, pool)
	}
	describe.Objects(p, "Nodepools", kinds.NodePool, all)
	return err
}
