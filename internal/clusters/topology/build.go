package topology

import (
	"cmp"
	"slices"
)

// Build makes a graph of what was listed. It is pure: the same objects make the same graph in whatever order they come. A cycle of owners
// is a cycle in the graph, and costs nothing.
func Build(l Listed, caps Caps) Graph {
	b := &builder{
		caps: caps.withDefaults(), listed: l, nodes: map[string]Node{}, edges: map[Edge]bool{}, uids: map[string]Ref{}, known: map[string]string{},
	}
	objects := b.present(l.Objects)
	b.selector = indexPods(objects)
	for i := range objects {
		b.relate(&objects[i])
	}
	return b.graph()
}

type builder struct {
	caps     Caps
	listed   Listed
	selector *podIndex
	nodes    map[string]Node
	edges    map[Edge]bool
	uids     map[string]Ref    // present objects by UID
	known    map[string]string // UIDs of present objects by ID
	text     int
	cut      bool
}

// present puts the listed objects into the graph, and returns them sorted and once each: a page that was read again hands them over twice.
func (b *builder) present(all []Object) []Object {
	objects := slices.Clone(all)
	slices.SortStableFunc(objects, func(x, y Object) int { return compareRefs(x.Ref, y.Ref) })
	objects = slices.CompactFunc(objects, func(x, y Object) bool { return x.Ref == y.Ref })
	for i := range objects {
		o := &objects[i]
		if o.Cut {
			b.cut = true
		}
		if !b.node(Node{Ref: o.Ref, State: Present, Phase: o.Phase}) {
			return objects[:i]
		}
		b.known[o.ID()] = o.UID
		if o.UID != "" {
			b.uids[o.UID] = o.Ref
		}
	}
	return objects
}

// relate adds the edges that an object tells of.
func (b *builder) relate(o *Object) {
	id := o.ID()
	for _, owner := range o.Owners {
		ref, stale := b.owner(o, owner)
		if b.named(ref) {
			b.edge(Edge{From: ref.ID(), To: id, As: Owns, Stale: stale})
		}
	}
	for _, t := range o.Targets {
		if !b.named(t.Ref) {
			continue
		}
		e := Edge{From: id, To: t.ID(), As: t.As}
		if t.Reverse {
			e.From, e.To = e.To, e.From
		}
		b.edge(e)
	}
	if o.Selector == nil {
		return
	}
	if len(b.edges) >= b.caps.Edges { // nothing is compared for what has no place
		b.cut = true
		return
	}
	selected, whole := b.selector.selected(o.Namespace, o.Selector, &b.caps.Work)
	b.cut = b.cut || !whole
	for _, pod := range selected {
		b.edge(Edge{From: id, To: pod, As: Selects})
	}
}

// owner finds what an owner reference names: by its UID, which is never given twice, or by its name.
func (b *builder) owner(o *Object, owner Owner) (ref Ref, stale bool) {
	if found, ok := b.uids[owner.UID]; ok && found.Kind == owner.Kind && (found.Namespace == "" || found.Namespace == o.Namespace) {
		return found, false
	}
	ref = Ref{Group: owner.Group, Kind: owner.Kind, Namespace: o.Namespace, Name: owner.Name}
	if clusterScoped(owner.Group, owner.Kind) {
		ref.Namespace = ""
	}
	has, there := b.known[ref.ID()]
	return ref, there && has != owner.UID
}

// named puts an object into the graph that another one names, unless it is there. It says whether it is there.
func (b *builder) named(ref Ref) bool {
	if ref.Name == "" || ref.Kind == "" {
		return false
	}
	if _, ok := b.nodes[ref.ID()]; ok {
		return true
	}
	state := Referenced
	if b.listed.Whole[ref.groupKind()] && (len(b.listed.Namespaces) == 0 || slices.Contains(b.listed.Namespaces, ref.Namespace)) {
		state = Missing
	}
	return b.node(Node{Ref: ref, State: state})
}

// node adds an object, unless there are too many.
func (b *builder) node(n Node) bool {
	id := n.ID()
	if len(b.nodes) >= b.caps.Nodes || !b.takes(2*len(id)+len(n.Phase)) {
		b.cut = true
		return false
	}
	b.nodes[id] = n
	return true
}

// edge adds a relation, once, unless there are too many.
func (b *builder) edge(e Edge) {
	if b.edges[e] {
		return
	}
	if len(b.edges) >= b.caps.Edges || !b.takes(len(e.From)+len(e.To)) {
		b.cut = true
		return
	}
	b.edges[e] = true
}

// takes counts text of the answer.
func (b *builder) takes(text int) bool {
	b.text += text
	return b.text <= b.caps.Text
}

func (b *builder) graph() Graph {
	g := Graph{Truncated: b.cut, NotRead: b.listed.NotRead, Nodes: make([]Node, 0, len(b.nodes)), Edges: make([]Edge, 0, len(b.edges))}
	for _, n := range b.nodes {
		g.Nodes = append(g.Nodes, n)
	}
	slices.SortFunc(g.Nodes, func(x, y Node) int { return compareRefs(x.Ref, y.Ref) })
	for e := range b.edges {
		g.Edges = append(g.Edges, e)
	}
	slices.SortFunc(g.Edges, func(x, y Edge) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.As, y.As), cmp.Compare(x.To, y.To))
	})
	return g
}

func compareRefs(x, y Ref) int {
	return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Name, y.Name))
}
