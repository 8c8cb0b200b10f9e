// Command bench measures what KQueen promises of speed and cost, on this machine:
//
//   - the time from creating a cluster to the first authenticated answer of its API, and until the
//     whole cluster is ready, as ratios to the time that the same kube-apiserver takes to its first
//     answer and to /readyz when it is started by hand on the same etcd, in turn in the same run;
//   - the same for several at once;
//   - the time from creating a cluster with two nodes until six pods run on them, as a ratio to that of the
//     same programs started by hand, and the memory of a node's programs;
//   - what calls of a tenant take beside one that writes, lists and watches all that it can, as ratios to the same
//     while it is alone;
//   - backups and restores of a cluster, as ratios to a snapshot of the same etcd, and what calls of another tenant take meanwhile;
//   - lists and gets of the REST API with thousands of clusters, for a member of an organization over HTTPS, as ratios
//     to the same at the API server behind it;
//   - the list of clusters of the portal in a headless browser, as ratios to that of an organization without any and to the bare
//     calls of the same browser;
//   - how long a client waits that wakes a cluster which sleeps, as a ratio to a bare start of the same API server;
//   - the upgrade of a control plane, as a ratio to the same API server that is ended and started with the next version by hand;
//   - memory and idle processor time per tenant, and the manager's memory per tenant;
//   - with -only inventory, and no installation: what the observation store takes for a year of a fleet.
//
// It starts an installation of its own in a temporary folder and removes it at the end. Figures are
// printed, never judged: machines differ, ratios less so.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 10, "how many clusters are created one after the other")
	flag.IntVar(&o.together, "together", 10, "how many clusters are created at once")
	flag.IntVar(&o.workers, "workers", 5, "how many clusters with nodes are created one after the other; 0 when it does not run as root")
	flag.IntVar(&o.clusters, "clusters", 2000, "how many clusters there are when the REST API is measured; 0 leaves that out")
	flag.IntVar(&o.requests, "requests", 1000, "how often each call of the REST API is made")
	flag.IntVar(&o.rounds, "rounds", 40, "how often each thing is done in the portal")
	flag.DurationVar(&o.neighbour, "neighbour", 20*time.Second, "how long a tenant is measured alone, and then beside a hostile one, four times in turn; 0 leaves that out, as it has to be without root and cgroups")
	flag.StringVar(&o.only, "only", "", `"workers" measures clusters with nodes, "api" the REST API, "portal" the portal in a browser, "neighbour" a tenant beside a hostile one, "backup" backups and restores, "moments" restores to moments, "sleep" clusters that sleep, "upgrade" upgrades of control planes, and "inventory" the observation store, and nothing else`)
	flag.IntVar(&o.scale, "scale", 20, "the observation store is measured with one part in so many of a fleet of 1000 clusters; 1 is the whole fleet")
	flag.IntVar(&o.days, "days", 365, "of how many days the history of the fleet is")
	flag.StringVar(&o.database, "database", "", "the observation store is measured in this database, postgres://USER:PASSWORD@HOST/NAME or sqlite:///FILE, instead of a file that is removed; one that was filled before is asked again, with the same -scale and -days")
	flag.StringVar(&o.attack, "attack", "", "be the hostile tenant that this kubeconfig is of; for this program itself")
	flag.DurationVar(&o.idle, "idle", 30*time.Second, "how long idle processor time is measured")
	flag.StringVar(&o.program, "program", "bin/kqueen", "path of kqueen")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	act := run
	if o.attack != "" {
		act = func(ctx context.Context, o options) error { return attackNow(ctx, o.attack) }
	}
	if o.only == "inventory" {
		act = inventoryAlone
	}
	err := act(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	runs, together, workers int
	clusters, requests      int
	rounds                  int
	neighbour               time.Duration
	only, attack            string
	scale, days             int
	database                string
	idle                    time.Duration
	program                 string
	json                    bool
}

// result is everything that is measured.
type result struct {
	// One is one cluster at a time.
	One pair `json:"one"`
	// Together is the same with several at once.
	Together pair `json:"together"`
	Cost     cost `json:"cost"`
	// Workers is a cluster with nodes.
	Workers workersResult `json:"workers"`
	// Neighbour is a tenant beside a hostile one.
	Neighbour *neighbourResult `json:"neighbour,omitempty"`
	// Backup is a cluster that is backed up and restored.
	Backup *backupResult `json:"backup,omitempty"`
	// Moments is another tenant while a cluster is restored to moments.
	Moments *momentsResult `json:"moments,omitempty"`
	// Sleep is a cluster that is woken.
	Sleep *sleepResult `json:"sleep,omitempty"`
	// Upgrade is a control plane that is upgraded.
	Upgrade *upgradeResult `json:"upgrade,omitempty"`
	// API is the REST API.
	API *apiResult `json:"api,omitempty"`
	// Portal is the portal in a browser.
	Portal *portalResult `json:"portal,omitempty"`
}

func run(ctx context.Context, o options) (err error) {
	if !slices.Contains([]string{"", "workers", "api", "portal", "neighbour", "backup", "moments", "sleep", "upgrade"}, o.only) {
		return fmt.Errorf(`-only %s: want "workers", "api", "portal", "neighbour", "backup", "moments", "sleep", "upgrade", "inventory", or nothing`, o.only)
	}
	inst, err := start(ctx, o.program)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := inst.remove(context.WithoutCancel(ctx)); err == nil {
			err = stopErr
		}
	}()
	var r result
	err = r.measure(ctx, inst, o)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	r.printParts(os.Stdout, o)
	return nil
}

// printParts prints what was measured.
func (r *result) printParts(out io.Writer, o options) {
	if o.only == "" {
		r.print(out, o)
	}
	if len(r.Workers.KQueen) > 0 {
		r.Workers.print(out)
	}
	if r.Neighbour != nil {
		r.Neighbour.print(out)
	}
	if r.Backup != nil {
		r.Backup.print(out)
	}
	if r.Moments != nil {
		r.Moments.print(out)
	}
	if r.Sleep != nil {
		r.Sleep.print(out)
	}
	if r.Upgrade != nil {
		r.Upgrade.print(out)
	}
	if r.API != nil {
		r.API.print(out)
	}
	if r.Portal != nil {
		r.Portal.print(out)
	}
}

// measure measures what the options choose.
func (r *result) measure(ctx context.Context, inst *installation, o options) (err error) {
	only := func(part string) bool { return o.only == "" || o.only == part }
	if only("workers") && o.workers > 0 {
		if r.Workers, err = workers(ctx, inst, o.workers, o.idle); err != nil {
			return err
		}
	}
	if o.only == "" {
		if err := r.planes(ctx, inst, o); err != nil {
			return err
		}
	}
	if o.runs > 0 {
		if err := r.dayTwo(ctx, inst, o, only); err != nil {
			return err
		}
	}
	if o.neighbour > 0 {
		if err := r.beside(ctx, inst, o, only); err != nil {
			return err
		}
	}
	if (only("api") || only("portal")) && o.clusters > 0 {
		return r.many(ctx, inst, o)
	}
	return nil
}

// dayTwo measures what becomes of a control plane later.
func (r *result) dayTwo(ctx context.Context, inst *installation, o options, only func(string) bool) error {
	if only("sleep") {
		slept, err := sleeps(ctx, inst, o.runs)
		if err != nil {
			return err
		}
		r.Sleep = &slept
	}
	if only("upgrade") {
		upgraded, err := upgrades(ctx, inst, o.runs)
		if err != nil {
			return err
		}
		r.Upgrade = &upgraded
	}
	return nil
}

// beside measures a tenant beside others.
func (r *result) beside(ctx context.Context, inst *installation, o options, only func(string) bool) error {
	if only("neighbour") {
		n, err := neighbour(ctx, inst, o.neighbour)
		if err != nil {
			return err
		}
		r.Neighbour = &n
	}
	if only("backup") {
		b, err := backups(ctx, inst, o.neighbour)
		if err != nil {
			return err
		}
		r.Backup = &b
	}
	if only("moments") {
		m, err := restoreMoments(ctx, inst, o.neighbour)
		if err != nil {
			return err
		}
		r.Moments = &m
	}
	return nil
}

// many measures what has to do with many clusters; last, because it leaves the installation full.
func (r *result) many(ctx context.Context, inst *installation, o options) error {
	m, err := filled(ctx, inst, o.clusters)
	if err != nil {
		return err
	}
	if o.only != "api" {
		portal, err := measurePortal(ctx, inst, m, o.clusters, o.rounds)
		if err != nil {
			return err
		}
		r.Portal = &portal
	}
	if o.only != "portal" {
		api, err := measureAPI(ctx, inst, m, o.clusters, o.requests)
		if err != nil {
			return err
		}
		r.API = &api
	}
	return nil
}

// planes measures control planes.
func (r *result) planes(ctx context.Context, inst *installation, o options) (err error) {
	if r.One, err = oneByOne(ctx, inst, o.runs); err != nil {
		return err
	}
	if r.Together, err = atOnce(ctx, inst, o.together); err != nil {
		return err
	}
	r.Cost, err = costs(ctx, inst, o.together, o.idle)
	return err
}
