package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
)

func newTopologyCommand(e *connection.Env) *cobra.Command {
	o := &one{env: e}
	var namespaces []string
	cmd := &cobra.Command{
		Use:     "topology",
		Aliases: []string{"graph"},
		Short:   "Show what belongs to what in a cluster, as it is now",
		Long: `Show what belongs to what in a cluster: which objects own others, which pods Services,
NetworkPolicies and PodDisruptionBudgets select, where Ingresses and HTTPRoutes send
requests, what is scaled, on which node a pod runs, and which claims, ConfigMaps and
Secrets it uses. The cluster is asked for it, which takes up to 20 s.

NOTE says that an object is missing, or that an owner was replaced (stale: the
garbage collector removes what it owned). Of ConfigMaps and Secrets the names alone
are known. -o dot and -o mermaid write a picture.`,
		Example: `  kqueen inventory topology --cluster shop
  kqueen inventory topology --cluster shop -n payments -n web
  kqueen inventory topology --cluster shop -n web -o dot | dot -Tsvg > web.svg
  kqueen inventory topology --cluster shop -o json | jq -r '.objects[] | select(.state == "Missing").id'`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := o.connect(cmd)
			if err != nil {
				return err
			}
			t, err := d.GetClusterTopology(cmd.Context(), e.Organization(), o.cluster, namespaces...)
			if err != nil {
				return fmt.Errorf("read the topology of cluster %s: %w", o.cluster, err)
			}
			return o.showTopology(t)
		},
	}
	o.register(cmd, []string{"table", "json", "yaml", "dot", "mermaid"})
	cmd.Flags().StringArrayVarP(&namespaces, "namespace", "n", nil, "only this namespace; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("namespace", command.OneOf("default", "kube-system"))
	return cmd
}

func (o *one) showTopology(t *rest.ClusterTopology) error {
	var err error
	switch o.format {
	case "dot":
		_, err = fmt.Fprint(o.env.Stdout, dot(t))
	case "mermaid":
		_, err = fmt.Fprint(o.env.Stdout, mermaid(t))
	default:
		err = o.env.PrintData(o.format, t, topologyRows(t))
	}
	if err != nil {
		return err
	}
	if len(t.Objects) == 0 {
		o.env.Say("nothing was found")
	}
	if t.Truncated {
		o.env.Say("there is more than an answer has; --namespace narrows it")
	}
	o.sayGaps(t.ClusterNow)
	return nil
}

// topologyRows are the relations, and the objects that have none. It is pure.
func topologyRows(t *rest.ClusterTopology) [][]string {
	objects := map[string]rest.TopologyObject{}
	for _, object := range t.Objects {
		objects[object.ID] = object
	}
	alone := map[string]bool{}
	for id := range objects {
		alone[id] = true
	}
	rows := [][]string{}
	for _, r := range t.Relations {
		from, to := objects[r.From], objects[r.To]
		delete(alone, r.From)
		delete(alone, r.To)
		namespace := from.Namespace
		if namespace == "" {
			namespace = to.Namespace
		}
		rows = append(rows, []string{namespace, titled(from, namespace), r.Type, titled(to, namespace), note(r, from, to)})
	}
	for id := range alone {
		rows = append(rows, []string{objects[id].Namespace, titled(objects[id], objects[id].Namespace), "", "", ""})
	}
	slices.SortFunc(rows, slices.Compare)
	return append([][]string{{"NAMESPACE", "FROM", "RELATION", "TO", "NOTE"}}, rows...)
}

// titled is an object as KIND/NAME, with its namespace where that is another one than what is said already.
func titled(object rest.TopologyObject, namespace string) string {
	title := object.Kind + "/" + object.Name
	if object.Namespace != "" && object.Namespace != namespace {
		title = object.Namespace + "/" + title
	}
	return title
}

func note(r rest.TopologyRelation, from, to rest.TopologyObject) string {
	var notes []string
	for _, object := range []rest.TopologyObject{from, to} {
		if object.State == "Missing" {
			notes = append(notes, object.Kind+" is missing")
		}
	}
	if r.Stale {
		notes = append(notes, "stale")
	}
	return strings.Join(notes, ", ")
}
