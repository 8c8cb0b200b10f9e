package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// model is what the store says, kept as whole states of clusters: it is slow and plain.
type model struct{ clusters []*modelCluster }

type modelCluster struct {
	Cluster
	states []modelState
	asOf   time.Time
	ended  time.Time
}

type modelState struct {
	at    time.Time
	items map[Key]Item
}

// apply does what the store does, with a state of its own for each change.
func (c *modelCluster) apply(changes Changes) {
	at := changes.At
	if at.Before(c.asOf) {
		at = c.asOf
	}
	next := map[Key]Item{}
	if len(c.states) > 0 {
		next = maps.Clone(c.states[len(c.states)-1].items)
	}
	maps.DeleteFunc(next, func(key Key, _ Item) bool {
		return slices.Contains(changes.Whole, key.Kind) || slices.Contains(changes.Gone, key)
	})
	for _, item := range changes.Set {
		next[item.Key] = item
	}
	if n := len(c.states); n > 0 && c.states[n-1].at.Equal(at) {
		c.states = c.states[:n-1]
	}
	c.states = append(c.states, modelState{at: at, items: next})
	c.asOf = at
}

func (c *modelCluster) end(at time.Time) {
	if at.Before(c.asOf) {
		at = c.asOf
	}
	// What came at that moment was there for no time at all.
	if n := len(c.states); n > 0 && c.states[n-1].at.Equal(at) {
		c.states = c.states[:n-1]
	}
	c.ended, c.asOf = at, at
}

// items are those at a time; the zero time is now.
func (c *modelCluster) items(at time.Time) map[Key]Item {
	if !c.ended.IsZero() && (at.IsZero() || !at.Before(c.ended)) {
		return nil
	}
	if at.IsZero() || at.After(c.asOf) {
		at = c.asOf
	}
	for _, state := range slices.Backward(c.states) {
		if !state.at.After(at) {
			return state.items
		}
	}
	return nil
}

// takes says whether a filter takes a cluster.
func (f Filter) takes(c *modelCluster) bool {
	if !f.Scope.All && !slices.Contains(f.Scope.Organizations, c.Organization) ||
		len(f.Organizations) > 0 && !slices.Contains(f.Organizations, c.Organization) ||
		len(f.Clusters) > 0 && !slices.Contains(f.Clusters, c.Name) {
		return false
	}
	for key, value := range f.ClusterLabels {
		if c.Labels[key] != value {
			return false
		}
	}
	return true
}

func (f Filter) takesItem(item Item) bool {
	if len(f.Namespaces) > 0 && !slices.Contains(f.Namespaces, item.Key.Namespace) {
		return false
	}
	switch {
	case item.Container != nil:
		i := item.Container.Image
		return (f.Text == "" || strings.Contains(i.Reference, f.Text)) && (f.Repository == "" || f.Repository == i.Repository) && (f.Tag == "" || f.Tag == i.Tag) &&
			(len(f.Digests) == 0 || slices.Contains(f.Digests, i.Digest))
	case item.Component != nil:
		return len(f.Components) == 0 || slices.Contains(f.Components, item.Key.Part)
	}
	return true
}

// find returns the keys of all items of a kind, as the store orders them.
func (m *model) find(f Filter, kind Kind) []string {
	var out []string
	for _, c := range m.ordered(f) {
		items := c.items(f.At)
		for _, key := range slices.SortedFunc(maps.Keys(items), compareKeys) {
			if key.Kind == kind && f.takesItem(items[key]) {
				out = append(out, describe(c.UID, items[key]))
			}
		}
	}
	return out
}

func (m *model) ordered(f Filter) []*modelCluster {
	out := slices.DeleteFunc(slices.Clone(m.clusters), func(c *modelCluster) bool { return !f.takes(c) })
	slices.SortFunc(out, func(a, b *modelCluster) int {
		return cmp.Or(cmp.Compare(a.Organization, b.Organization), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return out
}

// images groups containers.
func (m *model) images(f Filter) []ImageRow {
	found := map[[3]string]*ImageRow{}
	for _, c := range m.ordered(f) {
		in := map[*ImageRow]bool{}
		for _, item := range c.items(f.At) {
			if item.Container == nil || !f.takesItem(item) {
				continue
			}
			i := item.Container.Image
			key := [3]string{i.Repository, i.Tag, i.Digest}
			row := found[key]
			if row == nil {
				row = &ImageRow{Image: i}
				row.First, row.Last = m.seen(f, func(other Item) bool { return other.Container != nil && other.Container.Image == i })
				found[key] = row
			}
			row.Containers++
			in[row] = true
		}
		for row := range in {
			row.Clusters++
		}
	}
	return inOrder(found)
}

// binaries groups components.
func (m *model) binaries(f Filter) []BinaryRow {
	found := map[[3]string]*BinaryRow{}
	for _, c := range m.ordered(f) {
		in := map[*BinaryRow]bool{}
		for _, item := range c.items(f.At) {
			if item.Component == nil || !f.takesItem(item) {
				continue
			}
			of := item.Component
			key := [3]string{item.Key.Part, of.Version, strconv.FormatBool(of.Managed)}
			row := found[key]
			if row == nil {
				row = &BinaryRow{Component: item.Key.Part, Version: of.Version, Managed: of.Managed}
				row.First, row.Last = m.seen(f, func(other Item) bool {
					return other.Component != nil && other.Key.Part == row.Component && *other.Component == *of
				})
				found[key] = row
			}
			if item.Key.Name != "" {
				row.Nodes++
			}
			in[row] = true
		}
		for row := range in {
			row.Clusters++
		}
	}
	return inOrder(found)
}

func inOrder[T any](found map[[3]string]*T) []T {
	var out []T
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, *found[key])
	}
	return out
}

// seen is when something was first and last there, in the clusters that the filter takes.
func (m *model) seen(f Filter, is func(Item) bool) (first, last time.Time) {
	there := false
	for _, c := range m.ordered(f) {
		was := false
		for _, state := range c.states {
			has := false
			for _, item := range state.items {
				has = has || is(item)
			}
			if has && (first.IsZero() || state.at.Before(first)) {
				first = state.at
			}
			if was && !has && state.at.After(last) {
				last = state.at
			}
			was = has
		}
		switch {
		case was && c.ended.IsZero():
			there = true
		case was && c.ended.After(last):
			last = c.ended
		}
	}
	if there {
		return first, time.Time{}
	}
	return first, last
}

// between compares groups of two times.
func changesOf[T any](before, after []T, key func(T) [3]string) []Change[T] {
	has := func(rows []T, one T) bool {
		return slices.ContainsFunc(rows, func(other T) bool { return key(other) == key(one) })
	}
	var out []Change[T]
	for _, row := range before {
		if !has(after, row) {
			out = append(out, Change[T]{Row: row})
		}
	}
	for _, row := range after {
		if !has(before, row) {
			out = append(out, Change[T]{Appeared: true, Row: row})
		}
	}
	slices.SortFunc(out, func(a, b Change[T]) int {
		left, right := key(a.Row), key(b.Row)
		return slices.Compare(left[:], right[:])
	})
	return out
}
