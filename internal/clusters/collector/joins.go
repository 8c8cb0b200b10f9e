package collector

import (
	"slices"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// joins is what objects of a cluster say of others: which controllers own ReplicaSets and Jobs, which kube-proxy runs on a node, and which
// components of the control plane are seen as pods. It is not safe for concurrent use.
type joins struct {
	owners  map[string]owner            // of a ReplicaSet or Job, by its UID
	nodes   map[string]known            // by name
	proxies map[string]runs             // by node
	proxied map[string]string           // the node, by the UID of the pod
	planes  map[string]map[string]bool  // UIDs of pods, by component
	changed map[string][]inventory.Item // nodes that another object changed, by UID
}

// known is a node as it was seen, by which kube-proxy is written in later.
type known struct {
	uid   string
	items []inventory.Item
}

type runs struct{ pod, version string }

func newJoins() *joins {
	return &joins{
		owners: map[string]owner{}, nodes: map[string]known{}, proxies: map[string]runs{}, proxied: map[string]string{},
		planes: map[string]map[string]bool{}, changed: map[string][]inventory.Item{},
	}
}

func (j *joins) own(m *meta) {
	o := m.controller()
	j.owners[m.UID] = owner{Kind: intern(listing.Clean(o.Kind, maxWord)), Name: listing.Clean(o.Name, maxName)}
}

func (j *joins) ownerOf(uid string) (owner, bool) {
	o, ok := j.owners[uid]
	return o, ok
}

// pod notes what of a pod matters to others, and returns its items.
func (j *joins) pod(p *pod, items []inventory.Item) []inventory.Item {
	uid, proxy, on := p.Meta.UID, "", ""
	for _, set := range j.planes {
		delete(set, uid)
	}
	for _, item := range items {
		if item.Component == nil {
			continue
		}
		if item.Key.Part == kubeProxy {
			proxy, on = item.Component.Version, item.Key.Name
		}
		if slices.Contains(unseen, item.Key.Part) {
			if j.planes[item.Key.Part] == nil {
				j.planes[item.Key.Part] = map[string]bool{}
			}
			j.planes[item.Key.Part][uid] = true
		}
	}
	if on == "" {
		j.unproxy(uid)
		return items
	}
	j.proxied[uid] = on
	if j.proxies[on] != (runs{uid, proxy}) {
		j.proxies[on] = runs{uid, proxy}
		j.change(on)
	}
	return items
}

func (j *joins) unproxy(uid string) {
	on, ok := j.proxied[uid]
	if !ok {
		return
	}
	delete(j.proxied, uid)
	if j.proxies[on].pod == uid {
		delete(j.proxies, on)
		j.change(on)
	}
}

// change writes kube-proxy into a node that is known.
func (j *joins) change(on string) {
	k, ok := j.nodes[on]
	if !ok {
		return
	}
	// A copy: what was handed out before is not ours any more.
	changed := *k.items[0].Node
	changed.KubeProxyVersion = j.proxies[on].version
	k.items = slices.Clone(k.items)
	k.items[0].Node = &changed
	j.nodes[on], j.changed[k.uid] = k, k.items
}

func (j *joins) node(n *node) []inventory.Item {
	name := listing.Clean(n.Meta.Name, maxName)
	items := nodeItems(n, j.proxies[name].version)
	j.nodes[name] = known{uid: n.Meta.UID, items: items}
	delete(j.changed, n.Meta.UID)
	return items
}

// seen says whether a component of the control plane runs as a pod.
func (j *joins) seen(part string) bool { return len(j.planes[part]) > 0 }

// forget drops what an object said that is gone.
func (j *joins) forget(uid, name string) {
	delete(j.owners, uid)
	j.unproxy(uid)
	for _, set := range j.planes {
		delete(set, uid)
	}
	if j.nodes[name].uid == uid {
		delete(j.nodes, name)
		delete(j.changed, uid)
	}
}
