package inventory

import (
	"fmt"
	"strings"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/console"
)

// Names in a picture are written by those who use the cluster: in both languages they are in quotes, out of which none leads.

// dot is a graph in the language of Graphviz. It is pure.
func dot(t *rest.ClusterTopology) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	quoted := func(text string) string { return `"` + quote.Replace(console.CleanLine(text)) + `"` }
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=LR;\n  node [shape=box];\n", quoted(t.Organization+"/"+t.Cluster))
	numbers := map[string]int{}
	for i, object := range t.Objects {
		numbers[object.ID] = i
		style := ""
		switch object.State {
		case "Missing":
			style = ", color=red"
		case "Referenced":
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  n%d [label=%s%s];\n", i, quoted(titled(object, "")), style)
	}
	for _, r := range t.Relations {
		from, known := numbers[r.From]
		to, both := numbers[r.To]
		if known && both {
			fmt.Fprintf(&b, "  n%d -> n%d [label=%s];\n", from, to, quoted(r.Type))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// mermaid is a flowchart in the language of Mermaid. It is pure.
func mermaid(t *rest.ClusterTopology) string {
	// HTML is drawn by some of its readers, and a # begins a character by its number.
	quote := strings.NewReplacer(`#`, "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;")
	quoted := func(text string) string { return `"` + quote.Replace(console.CleanLine(text)) + `"` }
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	numbers := map[string]int{}
	for i, object := range t.Objects {
		numbers[object.ID] = i
		class := ""
		if object.State == "Missing" {
			class = ":::missing"
		}
		fmt.Fprintf(&b, "  n%d[%s]%s\n", i, quoted(titled(object, "")), class)
	}
	for _, r := range t.Relations {
		from, known := numbers[r.From]
		to, both := numbers[r.To]
		if known && both {
			fmt.Fprintf(&b, "  n%d -->|%s| n%d\n", from, quoted(r.Type), to)
		}
	}
	b.WriteString("  classDef missing stroke:red\n")
	return b.String()
}
