package simulator

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// showSeed is what the showcase begins with: the same clusters at every start.
const showSeed = 1

// profile says what a cluster of the showcase is.
type profile struct {
	name, version string
	// kubelets are the versions of its nodes, in turn; those of the cluster where there are none.
	kubelets []string
	nodes    int
	apps     []app
	trouble  func(path string, at time.Time) int
}

// app is one Deployment, with a Service. What has no tag is a program of the organization's own, of which there are ever newer ones.
type app struct {
	namespace, name, image, tag string
	replicas                    int
}

// profiles are all clusters of the showcase. Their names begin with the organization that they are made for.
func profiles() []profile {
	database, cache, proxy := "docker.io/library/postgres", "docker.io/library/redis", "docker.io/library/nginx"
	shop := []app{
		{"storefront", "web", "registry.shop.example/web", "", 3}, {"storefront", "cart", "registry.shop.example/cart", "", 2},
		{"storefront", "proxy", proxy, "1.27.4", 2}, {"data", "sessions", cache, "7.4.2", 1},
	}
	bank := []app{
		{"ledger", "postings", "registry.bank.example/postings", "", 3}, {"ledger", "statements", "registry.bank.example/statements", "", 2},
		{"ledger", "database", database, "16.8", 1}, {"gateway", "proxy", proxy, "1.25.5", 2},
	}
	games := []app{
		{"matches", "arena", "registry.games.example/arena", "", 4}, {"matches", "lobby", "registry.games.example/lobby", "", 2},
		{"data", "scores", cache, "7.2.7", 1},
	}
	return []profile{
		{name: "shop-eu", version: "v1.36.3", nodes: 5, apps: shop},
		{name: "shop-us", version: "v1.36.3", kubelets: []string{"v1.36.3", "v1.35.4", "v1.35.4"}, nodes: 4, apps: shop},
		{name: "shop-staging", version: "v1.36.1", nodes: 2, apps: shop[:2]},
		{name: "shop-edge", version: "v1.35.4", nodes: 1, apps: shop[2:], trouble: awayAtTimes},
		{name: "bank-core", version: "v1.35.4", nodes: 6, apps: bank},
		{name: "bank-standby", version: "v1.35.4", kubelets: []string{"v1.35.4", "v1.34.6"}, nodes: 6, apps: bank[2:], trouble: notReady},
		{name: "bank-cards", version: "v1.34.6", kubelets: []string{"v1.33.9"}, nodes: 3, apps: bank[1:]},
		{name: "bank-archive", version: "v1.33.9", nodes: 2, apps: bank[2:3], trouble: away},
		{name: "games-arena", version: "v1.36.3", nodes: 4, apps: games},
		{name: "games-lab", version: "v1.36.3", nodes: 2, apps: games[:1]},
		{name: "games-partner", version: "v1.35.2", nodes: 2, apps: games[1:], trouble: expired},
	}
}

// away has nothing answer, as when the load balancer before an API server has no server left.
func away(string, time.Time) int { return http.StatusServiceUnavailable }

// awayAtTimes has the same a few minutes of each half hour.
func awayAtTimes(_ string, at time.Time) int {
	if at.Minute()%30 >= 24 {
		return http.StatusServiceUnavailable
	}
	return 0
}

// expired refuses what the caller presents.
func expired(string, time.Time) int { return http.StatusUnauthorized }

// notReady answers all but whether the API server is ready.
func notReady(path string, _ time.Time) int {
	if path == "readyz" {
		return http.StatusInternalServerError
	}
	return 0
}

// Show is the clusters of a demonstration, which change by themselves while it lives. Make it with Showcase.
type Show struct {
	*Fleet

	shown []*shown
	next  int
}

// Names are those of the clusters of the showcase, sorted.
func Names() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}

// troubled are the clusters that do not answer well at all times, which is meant.
func troubled() map[string]bool {
	out := map[string]bool{}
	for _, p := range profiles() {
		if p.trouble != nil {
			out[p.name] = true
		}
	}
	return out
}

// Showcase returns the clusters of a demonstration, the same each time. Their resource versions begin with the time, so that a watch
// that began before a restart is told that its version has expired.
func Showcase(now time.Time) *Show {
	f := &Show{Fleet: &Fleet{clusters: map[string]*Cluster{}}}
	for i, p := range profiles() {
		s := newShown(p, uint64(i), now)
		f.shown = append(f.shown, s)
		f.clusters[p.name] = s.Cluster
	}
	return f
}

// beat is the time between two changes of a show.
const beat = 30 * time.Second

// Live changes one cluster after the other, until ctx ends.
func (s *Show) Live(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.Step()
		}
	}
}

// Step makes one change to one cluster, and ends the watches of those that do not answer now.
func (s *Show) Step() {
	s.shown[s.next].step()
	s.next = (s.next + 1) % len(s.shown)
	for _, c := range s.shown {
		if c.failing("version") != 0 {
			c.CutWatches()
		}
	}
}

// groups are the resources that clusters of the showcase have, or could have, with their groups.
var groups = map[string]string{
	"pods": "", "nodes": "", "namespaces": "", "services": "", "persistentvolumes": "", "persistentvolumeclaims": "", "events": "",
	"deployments": "apps", "replicasets": "apps", "statefulsets": "apps", "daemonsets": "apps", "jobs": "batch", "cronjobs": "batch",
	"ingresses": "networking.k8s.io", "networkpolicies": "networking.k8s.io", "poddisruptionbudgets": "policy",
	"horizontalpodautoscalers": "autoscaling", "httproutes": "gateway.networking.k8s.io", "csidrivers": "storage.k8s.io",
}

// noObjects has none of any of these.
func noObjects() map[string]map[string]stored {
	all := map[string]map[string]stored{}
	for resource := range groups {
		all[resource] = map[string]stored{}
	}
	return all
}
