package collector_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/simulator"
)

func number(n int) string { return strconv.Itoa(n) }

// counts is in how many clusters something is, and how often.
type counts struct{ clusters, places int }

// located is a container of a cluster.
type located struct {
	cluster string
	simulator.Container
}

// truth is what the simulator knows of one moment.
type truth struct {
	at       time.Time
	images   map[[3]string]counts // by repository, tag and digest
	kubelets map[string]counts    // by version
	// containers is nil where they are not compared one by one.
	containers map[located]bool
}

func truthOf(fleet *simulator.Fleet, each bool) *truth {
	out := &truth{images: map[[3]string]counts{}, kubelets: map[string]counts{}}
	if each {
		out.containers = map[located]bool{}
	}
	for _, name := range fleet.Names() {
		images, kubelets := map[[3]string]int{}, map[string]int{}
		for _, c := range fleet.Cluster(name).Truth() {
			colon := strings.LastIndexByte(c.Image, ':')
			images[[3]string{c.Image[:colon], c.Image[colon+1:], c.Digest}]++
			if each {
				out.containers[located{name, c}] = true
			}
		}
		for _, k := range fleet.Cluster(name).Kubelets() {
			kubelets[k.Version]++
		}
		add(out.images, images)
		add(out.kubelets, kubelets)
	}
	return out
}

// add adds what one cluster has.
func add[K comparable](all map[K]counts, of map[K]int) {
	for key, n := range of {
		all[key] = counts{all[key].clusters + 1, all[key].places + n}
	}
}

// verdict is how an answer of the store is beside the truth. One whose numbers are not the same is wrong on both sides.
type verdict struct {
	of                string
	want, found, same int
	example           string // of what differs
}

func compare[K, V comparable](of string, want, got map[K]V) verdict {
	v := verdict{of: of, want: len(want), found: len(got)}
	for key, value := range got {
		switch expected, there := want[key]; {
		case there && expected == value:
			v.same++
		default:
			v.example = fmt.Sprintf("%v is %v, want %v", key, value, expected)
		}
	}
	for key := range want {
		if _, there := got[key]; !there {
			v.example = fmt.Sprintf("%v is missing", key)
		}
	}
	return v
}

func right(verdicts []verdict) bool {
	for _, v := range verdicts {
		if v.same != v.want || v.same != v.found {
			return false
		}
	}
	return true
}

func say(verdicts []verdict) string {
	var out strings.Builder
	for _, v := range verdicts {
		fmt.Fprintf(&out, "%s: %d there, %d found, recall %.4g %%, precision %.4g %% %s\n", v.of, v.want, v.found,
			100*float64(v.same)/float64(max(v.want, 1)), 100*float64(v.same)/float64(max(v.found, 1)), v.example)
	}
	return out.String()
}

var ofKubelets = inventory.Filter{Components: []string{"kubelet"}}

// judge compares images and kubelets at a time; the zero time is now.
func (w *play) judge(of *truth, at time.Time) []verdict {
	w.t.Helper()
	images, kubelets := map[[3]string]counts{}, map[string]counts{}
	for _, row := range pages(w.t, inventory.Filter{At: at}, w.store.Images) {
		images[[3]string{row.Image.Repository, row.Image.Tag, row.Image.Digest}] = counts{row.Clusters, row.Containers}
	}
	f := ofKubelets
	f.At = at
	for _, row := range pages(w.t, f, w.store.Binaries) {
		kubelets[row.Version] = counts{row.Clusters, row.Nodes}
	}
	return []verdict{compare("images", of.images, images), compare("kubelets", of.kubelets, kubelets)}
}

// judgeContainers compares containers one by one, where they were kept.
func (w *play) judgeContainers(of *truth, at time.Time) []verdict {
	w.t.Helper()
	if of.containers == nil {
		return nil
	}
	got := map[located]bool{}
	for _, name := range w.fleet.Names() {
		for _, row := range pages(w.t, inventory.Filter{Clusters: []string{name}, At: at}, w.store.Containers) {
			got[located{row.ClusterUID, simulator.Container{
				Namespace: row.Key.Namespace, Pod: row.Key.Name, UID: row.Key.UID, Name: row.Key.Part,
				Image: row.Container.Image.Reference, Digest: row.Container.Image.Digest, Node: row.Container.Node,
			}}] = true
		}
	}
	return []verdict{compare("containers", of.containers, got)}
}

// between compares what appeared and vanished between two of the times.
func (w *play) between(from, to int) {
	w.t.Helper()
	began := time.Now()
	before, after := w.truths[from], w.truths[to]
	images, kubelets := map[[3]string]bool{}, map[string]bool{}
	for _, c := range pages(w.t, inventory.Filter{}, func(ctx context.Context, f inventory.Filter) (inventory.Page[inventory.Change[inventory.ImageRow]], error) {
		return w.store.ImagesBetween(ctx, f, before.at, after.at)
	}) {
		images[[3]string{c.Row.Image.Repository, c.Row.Image.Tag, c.Row.Image.Digest}] = c.Appeared
	}
	for _, c := range pages(w.t, ofKubelets, func(ctx context.Context, f inventory.Filter) (inventory.Page[inventory.Change[inventory.BinaryRow]], error) {
		return w.store.BinariesBetween(ctx, f, before.at, after.at)
	}) {
		kubelets[c.Row.Version] = c.Appeared
	}
	verdicts := []verdict{compare("images", changed(before.images, after.images), images), compare("kubelets", changed(before.kubelets, after.kubelets), kubelets)}
	w.t.Logf("between %d and %d (%s):\n%s", from, to, time.Since(began).Round(time.Millisecond), say(verdicts))
	if !right(verdicts) {
		w.t.Errorf("between %d and %d the store says something else than what changed", from, to)
	}
}

// changed is what is in one of two truths alone: true for what appeared.
func changed[K comparable](before, after map[K]counts) map[K]bool {
	out := map[K]bool{}
	for key := range after {
		if _, there := before[key]; !there {
			out[key] = true
		}
	}
	for key := range before {
		if _, there := after[key]; !there {
			out[key] = false
		}
	}
	return out
}
