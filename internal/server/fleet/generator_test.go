package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/clusters/inventory"
)

// generator makes up what organizations have, and what members ask.
type generator struct{ *rand.Rand }

// told is something that a store is told of a cluster.
type told struct {
	cluster inventory.Cluster
	to      func(context.Context, *inventory.Store) error
}

// question is what a member asks.
type question struct {
	operation, format string
	where             Where
	filter            inventory.Filter
	two               compared
}

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *generator) some(of ...string) []string {
	return slices.DeleteFunc(slices.Clone(of), func(string) bool { return g.IntN(3) > 0 })
}

// moment is a time within the history.
func (g *generator) moment() time.Time {
	return noon.Add(-time.Duration(g.IntN(1000)) * time.Hour)
}

// history is two clusters of each organization, of which some leave, are lost, or have the same names.
func (g *generator) history() []told {
	var out []told
	for _, organization := range organizations() {
		for n := range 2 {
			c := inventory.Cluster{
				UID: fmt.Sprintf("%s-%d", organization, n), Organization: organization, Name: g.one("shop", "web", "batch"),
				Labels: map[string]string{"stage": g.one("test", "production"), "of": organization},
			}
			out = append(out, g.life(c)...)
		}
	}
	return out
}

func (g *generator) life(c inventory.Cluster) []told {
	var out []told
	at := noon.Add(-1000 * time.Hour)
	for n := range 8 {
		at = at.Add(time.Duration(1+g.IntN(120)) * time.Hour)
		changes := inventory.Changes{At: at}
		if n == 0 || g.IntN(3) == 0 {
			changes.Whole = []inventory.Kind{inventory.KindContainer, inventory.KindComponent, inventory.KindNode, inventory.KindWorkload, inventory.KindCertificate}
		}
		for range 12 {
			changes.Set = append(changes.Set, g.item(c.Organization, at))
		}
		out = append(out, told{c, func(ctx context.Context, s *inventory.Store) error { return s.Apply(ctx, c, changes) }})
	}
	switch g.IntN(4) {
	case 0:
		end := at.Add(time.Hour)
		out = append(out, told{c, func(ctx context.Context, s *inventory.Store) error { return s.End(ctx, c.UID, end) }})
	case 1:
		why := "it does not answer " + c.Organization
		out = append(out, told{c, func(ctx context.Context, s *inventory.Store) error { return s.Lost(ctx, c.UID, why) }})
	default:
		out = append(out, told{c, func(ctx context.Context, s *inventory.Store) error { return s.Confirm(ctx, noon, []string{c.UID}) }})
	}
	return out
}

// item is one of those that all organizations may have, or that this one has alone.
func (g *generator) item(organization string, at time.Time) inventory.Item {
	own := g.one("common", organization)
	name := fmt.Sprint(own, "-", g.IntN(4))
	switch g.IntN(6) {
	case 0:
		return inventory.Item{
			Key:       inventory.Key{Kind: inventory.KindComponent, Name: name, Part: g.one("kubelet", "kube-apiserver", "etcd", own)},
			Component: &inventory.Component{Version: fmt.Sprintf("v1.%d.%d", 33+g.IntN(4), g.IntN(3)), Managed: g.IntN(5) == 0},
		}
	case 1:
		return inventory.Item{Key: inventory.Key{Kind: inventory.KindNode, Name: name}, Node: &inventory.Node{Ready: g.one("True", "False"), Message: own}}
	case 2:
		return inventory.Item{
			Key: inventory.Key{Kind: inventory.KindWorkload, Namespace: own, Name: name, Part: "Deployment"}, Workload: &inventory.Workload{Labels: map[string]string{"app": own}},
		}
	case 3:
		return inventory.Item{
			Key: inventory.Key{Kind: inventory.KindCertificate, Name: name, Part: "apiserver"}, Certificate: &inventory.Certificate{Subject: own, NotAfter: at.Add(100 * time.Hour)},
		}
	default:
		repository, tag := "r.example/"+own, g.one("1", "2", "latest")
		return inventory.Item{Key: inventory.Key{Kind: inventory.KindContainer, Namespace: own, Name: name, Part: g.one("a", "b")}, Container: &inventory.Container{
			Type: inventory.TypeApp, Phase: g.one("Running", "Pending"), Node: name, WorkloadKind: "Deployment", WorkloadName: name,
			Image: inventory.Image{Reference: repository + ":" + tag + g.one("", "#"+organization), Repository: repository, Tag: tag, Digest: g.one("", "sha256:1", "sha256:"+organization)},
		}}
	}
}

// question is about what the member has, and about what others have.
func (g *generator) question(members []string) question {
	var all []string
	for operation := range operations() {
		all = append(all, operation)
	}
	slices.Sort(all)
	q := question{operation: g.one(all...), format: g.one(formatJSON, formatJSON, formatCSV, formatBOM)}
	if q.format == formatBOM && q.operation != "images" {
		q.format = formatJSON
	}
	q.where.Limit = g.IntN(6)
	if g.IntN(3) == 0 {
		q.where.At = g.moment()
	}
	if g.IntN(4) == 0 {
		q.where.Organizations = g.some(members...)
	}
	if g.IntN(8) == 0 {
		q.where.Organizations = g.some(organizations()...)
	}
	if g.IntN(4) == 0 {
		q.where.Clusters = g.some("shop", "web", "batch")
	}
	if g.IntN(4) == 0 {
		q.where.ClusterLabels = g.some("stage=test", "of="+g.one(organizations()...))
	}
	name := g.one(append(organizations(), "common", "example", "1")...)
	switch g.IntN(8) {
	case 0:
		q.filter.Text = name
	case 1:
		q.filter.Repository = g.one("*", "r.example/"+name, "*"+name)
	case 2:
		q.filter.Tag = g.one("1", "2", "latest")
	case 3:
		q.filter.Digests = []string{"sha256:" + name}
	case 4:
		q.filter.Components = []string{g.one("kubelet", "etcd", name)}
	case 5:
		q.filter.Version = g.one("<1.35", ">=1.34")
	case 6:
		q.filter.Namespaces = []string{name}
	}
	from, to := g.moment(), g.moment()
	if to.Before(from) {
		from, to = to, from
	}
	q.two = compared{from: from, to: to}
	return q
}
