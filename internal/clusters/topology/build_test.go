package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// obj is an object of the namespace "ns" by its kind and name, as in "Deployment.apps/web".
func obj(id string, change ...func(*Object)) Object {
	kind, name, _ := strings.Cut(id, "/")
	kind, group, _ := strings.Cut(kind, ".")
	o := Object{Ref: Ref{group, kind, "ns", name}, UID: "uid-" + id}
	for _, f := range change {
		f(&o)
	}
	return o
}

func ownedBy(id string) func(*Object) {
	return func(o *Object) {
		owner := obj(id)
		o.Owners = append(o.Owners, Owner{owner.Group, owner.Kind, owner.Name, owner.UID})
	}
}

func labeledAs(of map[string]string) func(*Object) { return func(o *Object) { o.Labels = of } }

func selecting(s labels.Selector) func(*Object) { return func(o *Object) { o.Selector = s } }

func naming(as Relation, kind, name string) func(*Object) {
	return func(o *Object) { o.name("", kind, "ns", name, as) }
}

// drawn is a graph in lines: each object that is not present, and each relation.
func drawn(g Graph) []string {
	lines := []string{}
	for _, n := range g.Nodes {
		if n.State != Present {
			lines = append(lines, string(n.State)+" "+n.ID())
		}
	}
	for _, e := range g.Edges {
		line := fmt.Sprintf("%s %s %s", e.From, e.As, e.To)
		if e.Stale {
			line += " (stale)"
		}
		lines = append(lines, line)
	}
	return lines
}

func whole(kinds ...string) map[string]bool {
	out := map[string]bool{}
	for _, k := range kinds {
		out[k] = true
	}
	return out
}

func TestBuild(t *testing.T) {
	web := map[string]string{"app": "web"}
	twice := []func(*Object){naming(Uses, "Secret", "s"), naming(Uses, "Secret", "s")}
	for name, c := range map[string]struct {
		listed Listed
		want   []string
	}{
		"Nothing": {Listed{}, []string{}},
		"Owners": {
			Listed{Objects: []Object{
				obj("Pod/web-1-a", ownedBy("ReplicaSet.apps/web-1")), obj("ReplicaSet.apps/web-1", ownedBy("Deployment.apps/web")), obj("Deployment.apps/web"),
			}},
			[]string{"Deployment.apps/ns/web Owns ReplicaSet.apps/ns/web-1", "ReplicaSet.apps/ns/web-1 Owns Pod/ns/web-1-a"},
		},
		"OwnerIsGone":         {Listed{Objects: []Object{obj("Pod/a", ownedBy("Job.batch/b"))}, Whole: whole("Job.batch")}, []string{"Missing Job.batch/ns/b", "Job.batch/ns/b Owns Pod/ns/a"}},
		"OwnerOfAnotherKind":  {Listed{Objects: []Object{obj("Pod/a", ownedBy("Postgres.example.com/b"))}}, []string{"Referenced Postgres.example.com/ns/b", "Postgres.example.com/ns/b Owns Pod/ns/a"}},
		"OwnerInNoNamespace":  {Listed{Objects: []Object{obj("Pod/a", ownedBy("Node/n1"))}}, []string{"Referenced Node/n1", "Node/n1 Owns Pod/ns/a"}},
		"OwnerWithoutName":    {Listed{Objects: []Object{obj("Pod/a", func(o *Object) { o.Owners = []Owner{{UID: "x"}} })}}, []string{}},
		"OwnerByUID":          {Listed{Objects: []Object{obj("Pod/a", func(o *Object) { o.Owners = []Owner{{"wrong", "Job", "other", "uid-Job.batch/b"}} }), obj("Job.batch/b")}}, []string{"Job.batch/ns/b Owns Pod/ns/a"}},
		"UIDOfAnotherObject":  {Listed{Objects: []Object{obj("Pod/a", func(o *Object) { o.Owners = []Owner{{"", "Secret", "s", "uid-Job.batch/b"}} }), obj("Job.batch/b")}}, []string{"Referenced Secret/ns/s", "Secret/ns/s Owns Pod/ns/a"}},
		"OwnerWasReplaced":    {Listed{Objects: []Object{obj("Pod/a", ownedBy("Job.batch/b")), obj("Job.batch/b", func(o *Object) { o.UID = "newer" })}}, []string{"Job.batch/ns/b Owns Pod/ns/a (stale)"}},
		"OwnersInACircle":     {Listed{Objects: []Object{obj("Job.batch/a", ownedBy("Job.batch/b")), obj("Job.batch/b", ownedBy("Job.batch/a"))}}, []string{"Job.batch/ns/a Owns Job.batch/ns/b", "Job.batch/ns/b Owns Job.batch/ns/a"}},
		"OwnsItself":          {Listed{Objects: []Object{obj("Pod/a", ownedBy("Pod/a"))}}, []string{"Pod/ns/a Owns Pod/ns/a"}},
		"SelectedByLabels":    {Listed{Objects: []Object{obj("Pod/a", labeledAs(web)), obj("Pod/b"), obj("Service/s", selecting(plainSelector(web)))}}, []string{"Service/ns/s Selects Pod/ns/a"}},
		"SelectsNone":         {Listed{Objects: []Object{obj("Pod/a", labeledAs(web)), obj("Service/s", selecting(plainSelector(nil)))}}, []string{}},
		"SelectsAll":          {Listed{Objects: []Object{obj("Pod/a"), obj("NetworkPolicy.networking.k8s.io/p", selecting(labelSelector(&metav1.LabelSelector{})))}}, []string{"NetworkPolicy.networking.k8s.io/ns/p Selects Pod/ns/a"}},
		"SelectsWithoutAny":   {Listed{Objects: []Object{obj("Pod/a"), obj("PodDisruptionBudget.policy/p", selecting(labelSelector(nil)))}}, []string{}},
		"SelectedElsewhere":   {Listed{Objects: []Object{obj("Pod/a", labeledAs(web), func(o *Object) { o.Namespace = "other" }), obj("Service/s", selecting(plainSelector(web)))}}, []string{}},
		"NamesWhatIsThere":    {Listed{Objects: []Object{obj("Ingress.networking.k8s.io/i", naming(RoutesTo, "Service", "s")), obj("Service/s")}}, []string{"Ingress.networking.k8s.io/ns/i RoutesTo Service/ns/s"}},
		"NamesWhatIsNotThere": {Listed{Objects: []Object{obj("Ingress.networking.k8s.io/i", naming(RoutesTo, "Service", "s"))}, Whole: whole("Service.")}, []string{"Missing Service/ns/s", "Ingress.networking.k8s.io/ns/i RoutesTo Service/ns/s"}},
		"NamesTheUnknown":     {Listed{Objects: []Object{obj("Pod/a", naming(Uses, "Secret", "s"))}, Whole: whole("Service.")}, []string{"Referenced Secret/ns/s", "Pod/ns/a Uses Secret/ns/s"}},
		"NamesOutside": {
			Listed{Objects: []Object{obj("Ingress.networking.k8s.io/i", naming(RoutesTo, "Service", "s"))}, Whole: whole("Service."), Namespaces: []string{"other"}},
			[]string{"Referenced Service/ns/s", "Ingress.networking.k8s.io/ns/i RoutesTo Service/ns/s"},
		},
		"TwiceIsOnce": {Listed{Objects: []Object{obj("Pod/a", twice...), obj("Pod/a")}}, []string{"Referenced Secret/ns/s", "Pod/ns/a Uses Secret/ns/s"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Build(c.listed, Caps{})
			if diff := cmp.Diff(c.want, drawn(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.Truncated {
				t.Error("it is truncated")
			}
			slices.Reverse(c.listed.Objects)
			if name != "TwiceIsOnce" && cmp.Diff(got, Build(c.listed, Caps{})) != "" {
				t.Error("objects in another order make another graph")
			}
		})
	}
}

// TestSelectors: the index changes which pods are looked at, and not which are selected.
func TestSelectors(t *testing.T) {
	in := func(op metav1.LabelSelectorOperator, values ...string) labels.Selector {
		return labelSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: op, Values: values}}})
	}
	pods := []Object{obj("Pod/a", labeledAs(labels.Set{"app": "a"})), obj("Pod/b", labeledAs(labels.Set{"app": "b", "tier": "x"})), obj("Pod/none")}
	for name, c := range map[string]struct {
		selector labels.Selector
		want     []string
	}{
		"In":           {in(metav1.LabelSelectorOpIn, "a", "c"), []string{"Pod/ns/a"}},
		"InOne":        {in(metav1.LabelSelectorOpIn, "b"), []string{"Pod/ns/b"}},
		"NotIn":        {in(metav1.LabelSelectorOpNotIn, "a"), []string{"Pod/ns/b", "Pod/ns/none"}},
		"Exists":       {in(metav1.LabelSelectorOpExists), []string{"Pod/ns/a", "Pod/ns/b"}},
		"DoesNotExist": {in(metav1.LabelSelectorOpDoesNotExist), []string{"Pod/ns/none"}},
		"Both":         {plainSelector(labels.Set{"app": "b", "tier": "x"}), []string{"Pod/ns/b"}},
		"Never":        {plainSelector(labels.Set{"app": "a", "tier": "x"}), nil},
		"Unknown":      {plainSelector(labels.Set{"app": "d"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			work := 1000
			got, whole := indexPods(pods).selected("ns", c.selector, &work)
			if diff := cmp.Diff(c.want, got); diff != "" || !whole {
				t.Errorf("%t, -want +got:\n%s", whole, diff)
			}
		})
	}
	if labelSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Likes"}}}) != nil {
		t.Error("a selector that is none selects something")
	}
}

// TestCaps: whatever a hostile API server lists, a graph has no more than its caps, says so, and names no object that is not in it.
func TestCaps(t *testing.T) {
	var many []Object
	for i := range 300 {
		many = append(many, obj(fmt.Sprintf("Pod/p%03d", i), labeledAs(labels.Set{"app": "web"}), naming(Uses, "Secret", fmt.Sprintf("s%d", i))),
			obj(fmt.Sprintf("Service/s%03d", i), selecting(plainSelector(labels.Set{"app": "web"}))))
	}
	for name, c := range map[string]struct {
		caps Caps
		want bool
	}{
		"Enough": {Caps{Edges: 300*300 + 300}, false},
		"Nodes":  {Caps{Nodes: 100, Edges: 1 << 20}, true},
		"Edges":  {Caps{Edges: 1000}, true},
		"Text":   {Caps{Text: 5000, Edges: 1 << 20}, true},
		"Work":   {Caps{Work: 20_000, Edges: 1 << 20}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := Build(Listed{Objects: many, NotRead: []listing.NotRead{{Resource: "jobs"}}}, c.caps)
			caps, text, there := c.caps.withDefaults(), 0, map[string]bool{}
			for _, n := range g.Nodes {
				there[n.ID()] = true
				text += 2 * len(n.ID())
			}
			for _, e := range g.Edges {
				text += len(e.From) + len(e.To)
				if !there[e.From] || !there[e.To] {
					t.Fatalf("%+v is of what is not there", e)
				}
			}
			if len(g.Nodes) > caps.Nodes || len(g.Edges) > caps.Edges || text > caps.Text || g.Truncated != c.want || len(g.NotRead) != 1 {
				t.Errorf("%d objects, %d relations, %d bytes, truncated: %t", len(g.Nodes), len(g.Edges), text, g.Truncated)
			}
		})
	}
}
