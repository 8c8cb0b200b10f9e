package describe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// lastEvents is how many events a description shows at most.
const lastEvents = 10

// VersionOnTheWay says which version there is, and which there will be.
func VersionOnTheWay(present, wanted string) string {
	if wanted == "" { // adopted as it is
		return present
	}
	if present != "" && present != wanted {
		return fmt.Sprintf("%s, on the way to %s", present, wanted)
	}
	return wanted
}

// Deleting says for how long an object is being deleted, or nothing.
func Deleting(o client.Object) string {
	return Since(o.GetDeletionTimestamp())
}

// Parameters adds what only a driver knows, as YAML.
func Parameters(p *Page, parameters *apiextensionsv1.JSON) {
	if parameters != nil {
		Json(p, "Parameters", *parameters)
	}
}

// Json adds JSON as YAML, under a heading of its own. Nothing adds nothing.
func Json(p *Page, heading string, parameters apiextensionsv1.JSON) {
	if len(parameters.Raw) == 0 {
		return
	}
	text, err := yaml.JSONToYAML(parameters.Raw)
	if err != nil {
		text = parameters.Raw
	}
	p.Heading(heading)
	p.Block(string(text))
}

// Conditions adds how far an object is, and why.
func Conditions(p *Page, status v1alpha1.Status) {
	p.Heading("Conditions")
	if len(status.Conditions) == 0 {
		p.Block("none yet: KQueen has not looked at it")
		return
	}
	rows := [][]string{{"TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"}}
	for _, c := range status.Conditions {
		rows = append(rows, []string{c.Type, string(c.Status), c.Reason, kinds.Age(c.LastTransitionTime.Time), c.Message})
	}
	p.Table(rows)
}

// Events adds the last events.
func Events(ctx context.Context, e *connection.Env, c *objects.Client, p *Page, of kinds.Source) error {
	events, err := kinds.Fetch(ctx, c, of)
	if err != nil {
		return err
	}
	kinds.OldestFirst(events)
	Objects(p, "Events", kinds.Event, events[max(0, len(events)-lastEvents):])
	return nil
}

// Objects adds a table of objects, with the columns that list shows. None add nothing.
func Objects(p *Page, heading string, n *kinds.Kind, all []client.Object) {
	if len(all) == 0 {
		return
	}
	columns := slices.DeleteFunc((&kinds.Output{Kind: n}).Columns(), func(c kinds.Column) bool { return c.Wide && c.Name != kinds.MessageColumn.Name })
	header := make([]string, 0, len(columns))
	for _, column := range columns {
		header = append(header, strings.ToUpper(column.Name))
	}
	rows := [][]string{header}
	for _, object := range all {
		row := make([]string, 0, len(columns))
		for _, column := range columns {
			row = append(row, column.Value(object))
		}
		rows = append(rows, row)
	}
	p.Heading(heading)
	p.Table(rows)
}

// Pairs returns labels as kubectl writes them.
func Pairs(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, ", ")
}

// In says in how much time a moment comes, "now" when it has passed, or nothing without one.
func In(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	if left := time.Until(at.Time); left > 0 {
		return "in " + duration.HumanDuration(left)
	}
	return "now"
}

// Since says for how long something goes on, or nothing.
func Since(moment *metav1.Time) string {
	if moment == nil {
		return ""
	}
	return "since " + kinds.Age(moment.Time)
}

// Ago says how long ago something was, or nothing.
func Ago(moment *metav1.Time) string {
	if moment == nil {
		return ""
	}
	return kinds.Age(moment.Time) + " ago"
}
