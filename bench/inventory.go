package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"kqueen.io/kqueen/internal/clusters/inventory"
)

// A fleet of full scale.
const (
	fleetClusters      = 1000
	fleetContainers    = 750 // of each cluster
	fleetOrganizations = 10
	// fleetChurn is how many of a hundred containers of a cluster are replaced each day.
	fleetChurn = 5
	// workloadPods is how many pods a workload has; all of them are replaced at once.
	workloadPods = 5
	// fleetApps is from how many repositories images come; each has a new tag every week.
	fleetApps = 400
	nodePods  = 50

	inventoryRuns = 40
)

// inventoryResult is what the observation store takes.
type inventoryResult struct {
	// Scale is which part of the clusters of a whole fleet there are.
	Scale      int     `json:"scale"`
	Days       int     `json:"days"`
	Database   string  `json:"database"`
	Clusters   int     `json:"clusters"`
	Rows       int     `json:"rows"`
	FirstRates float64 `json:"firstRowsPerSecond"`
	ChurnRates float64 `json:"churnRowsPerSecond"`
	Bytes      int64   `json:"bytes"`
	// Memory is the most that this program had at once, with SQLite in it.
	Memory int64 `json:"memory"`
	// Queries are what questions took, and Processor what of that this program worked, in seconds.
	Queries   map[string][]float64 `json:"queries"`
	Processor map[string][]float64 `json:"processor"`
}

// inventoryAlone measures the observation store, for which no installation is needed.
func inventoryAlone(ctx context.Context, o options) (err error) {
	to, err := openMeasured(ctx, o.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	r, err := measureInventory(ctx, to, max(o.scale, 1), max(o.days, 1))
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	r.print(os.Stdout)
	return nil
}

func measureInventory(ctx context.Context, to *measured, scale, days int) (*inventoryResult, error) {
	begin := time.Date(2025, 11, 1, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(0, 0, days)
	store := inventory.New(to.DB, func() time.Time { return end })
	if err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	r := &inventoryResult{Scale: scale, Days: days, Database: to.name, Clusters: max(fleetClusters/scale, 1), Queries: map[string][]float64{}, Processor: map[string][]float64{}}
	// One that was filled before has no other rows.
	err := to.QueryRowContext(ctx, `SELECT COUNT(*) FROM inventory_rows`).Scan(&r.Rows)
	if err == nil && r.Rows == 0 {
		err = r.fill(ctx, &fleet{begin: begin, store: store, clusters: r.Clusters})
	}
	if err != nil {
		return nil, err
	}
	if r.Bytes, err = to.settle(ctx); err != nil {
		return nil, err
	}
	if err := r.ask(ctx, store, begin, end); err != nil {
		return nil, err
	}
	r.Memory, err = peakMemory()
	return r, err
}

// fill writes the history of a fleet.
func (r *inventoryResult) fill(ctx context.Context, f *fleet) error {
	started := time.Now()
	if err := f.day(ctx, 0, fleetContainers/workloadPods); err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	r.Rows = f.rows
	r.FirstRates = float64(f.rows) / time.Since(started).Seconds()
	started = time.Now()
	replaced := fleetContainers * fleetChurn / 100 / workloadPods
	for day := 1; day < r.Days; day++ {
		// 37.5 containers a day are 7.5 workloads.
		if err := f.day(ctx, day, replaced+day%2); err != nil {
			return fmt.Errorf("change the store: %w", err)
		}
	}
	r.ChurnRates = float64(f.rows-r.Rows) / time.Since(started).Seconds()
	r.Rows = f.rows
	return nil
}

// fleet is clusters that change.
type fleet struct {
	begin    time.Time
	store    *inventory.Store
	clusters int
	rows     int
	// next is the workload of each cluster that is replaced next, and made how many pods it had.
	next, made int
	// pods are those that there are, by cluster and workload.
	pods map[[2]int][]inventory.Key
}

// day replaces so many workloads of each cluster.
func (f *fleet) day(ctx context.Context, day, workloads int) error {
	if f.pods == nil {
		f.pods = map[[2]int][]inventory.Key{}
	}
	for c := range f.clusters {
		changes := inventory.Changes{At: f.begin.AddDate(0, 0, day).Add(time.Duration(c) * time.Second)}
		if day == 0 {
			changes.Whole = []inventory.Kind{inventory.KindContainer, inventory.KindComponent}
			changes.Set = append(changes.Set, components(c)...)
			f.rows += len(changes.Set)
		}
		for n := range workloads {
			workload := (f.next + n) % (fleetContainers / workloadPods)
			changes.Gone = append(changes.Gone, f.pods[[2]int{c, workload}]...)
			set := f.replace(c, workload, day)
			changes.Set = append(changes.Set, set...)
			f.rows += len(set)
		}
		if err := f.store.Apply(ctx, fleetCluster(c), changes); err != nil {
			return err
		}
	}
	f.next += workloads
	return nil
}

func fleetCluster(c int) inventory.Cluster {
	return inventory.Cluster{
		UID: fmt.Sprintf("3f0d5a52-1c1e-4c5e-9d6e-%012d", c), Organization: fmt.Sprintf("organization-%d", c%fleetOrganizations),
		Name: fmt.Sprintf("cluster-%04d", c), Labels: map[string]string{"stage": []string{"test", "production"}[c%2]},
	}
}

func components(c int) []inventory.Item {
	out := []inventory.Item{{
		Key:       inventory.Key{Kind: inventory.KindComponent, Part: "kube-apiserver"},
		Component: &inventory.Component{Version: fmt.Sprintf("v1.%d.%d", 33+c%4, c%3)},
	}}
	for node := range fleetContainers / nodePods {
		out = append(out, inventory.Item{
			Key:       inventory.Key{Kind: inventory.KindComponent, Name: fleetNode(c, node), Part: "kubelet"},
			Component: &inventory.Component{Version: fmt.Sprintf("v1.%d.%d", 33+c%4, c%3)},
		})
	}
	return out
}

func fleetNode(c, node int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.compute.internal", c/250, c%250, node)
}

// replace returns the containers of a workload's new pods. Every twentieth runs what all clusters run, and the others an image of the week.
func (f *fleet) replace(c, workload, day int) []inventory.Item {
	app := (c*7 + workload) % fleetApps
	if workload%20 == 0 {
		app = workload
	}
	repository := fmt.Sprintf("registry.example.com/team-%d/app-%d", app%20, app)
	tag := fmt.Sprintf("1.%d.%d", day/7, app%3)
	image := inventory.Image{
		Reference: repository + ":" + tag, Repository: repository, Tag: tag, Digest: fmt.Sprintf("sha256:%032d%026d%06d", app, day/7, app%3),
	}
	var out []inventory.Item
	var keys []inventory.Key
	for range workloadPods {
		f.made++
		key := inventory.Key{
			Kind: inventory.KindContainer, Namespace: fmt.Sprintf("team-%d", workload%12), Part: "main",
			Name: fmt.Sprintf("app-%d-%08x-%05x", app, uint32(day*2654435761), f.made%0xfffff),
			UID:  fmt.Sprintf("%08x-6b0e-4a39-8f1c-%012x", uint32(f.made*2654435761), f.made),
		}
		keys = append(keys, key)
		out = append(out, inventory.Item{Key: key, Container: &inventory.Container{
			Type: inventory.TypeApp, Image: image, WorkloadKind: "Deployment", WorkloadName: fmt.Sprintf("app-%d", app),
			Node: fleetNode(c, f.made%(fleetContainers/nodePods)), Phase: "Running",
		}})
	}
	f.pods[[2]int{c, workload}] = keys
	return out
}

// ask asks what users ask, of all organizations and of one.
func (r *inventoryResult) ask(ctx context.Context, s *inventory.Store, begin, end time.Time) error {
	all, own := inventory.Scope{All: true}, inventory.Scope{Organizations: []string{"organization-3"}}
	day := func(n int) time.Time { return begin.AddDate(0, 0, n%r.Days).Add(12 * time.Hour) }
	questions := map[string]func(n int) error{
		"images, first page":       func(int) error { return asked(s.Images(ctx, inventory.Filter{Scope: all})) },
		"images, one organization": func(int) error { return asked(s.Images(ctx, inventory.Filter{Scope: own})) },
		"images, as of a day":      func(n int) error { return asked(s.Images(ctx, inventory.Filter{Scope: all, At: day(n * 9)})) },
		"images, search": func(n int) error {
			return asked(s.Images(ctx, inventory.Filter{Scope: all, Text: fmt.Sprintf("app-%d:", n*7)}))
		},
		"images, search, as of a day": func(n int) error {
			return asked(s.Images(ctx, inventory.Filter{Scope: all, Text: fmt.Sprintf("app-%d:", n*7), At: day(n * 9)}))
		},
		"images between 30 days": func(n int) error {
			return asked(s.ImagesBetween(ctx, inventory.Filter{Scope: all}, day(n*8), day(n*8).AddDate(0, 0, 30)))
		},
		"images, search of one": func(n int) error {
			return asked(s.Images(ctx, inventory.Filter{Scope: own, Text: fmt.Sprintf("app-%d:", n*7)}))
		},
		"images, search of what many have": func(int) error { return asked(s.Images(ctx, inventory.Filter{Scope: all, Text: "team-1"})) },
		"images, search of what none has":  func(int) error { return asked(s.Images(ctx, inventory.Filter{Scope: all, Text: "log4shell"})) },
		"containers, search": func(n int) error {
			return asked(s.Containers(ctx, inventory.Filter{Scope: all, Text: fmt.Sprintf("app-%d:", n*7)}))
		},
		"containers, first page":  func(int) error { return asked(s.Containers(ctx, inventory.Filter{Scope: all})) },
		"containers, as of a day": func(n int) error { return asked(s.Containers(ctx, inventory.Filter{Scope: all, At: day(n * 9)})) },
		"containers of a repository": func(n int) error {
			return asked(s.Containers(ctx, inventory.Filter{Scope: all, Repository: repositoryOf(n * 7)}))
		},
		"containers of one, as of a day": func(n int) error {
			return asked(s.Containers(ctx, inventory.Filter{Scope: all, Repository: repositoryOf(n * 7), At: day(n * 9)}))
		},
		"containers of what all run": func(n int) error {
			return asked(s.Containers(ctx, inventory.Filter{Scope: all, Repository: repositoryOf(n % 7 * 20)}))
		},
		"binaries": func(int) error { return asked(s.Binaries(ctx, inventory.Filter{Scope: all})) },
		"kubelets before 1.35": func(int) error {
			return asked(s.BinaryPlaces(ctx, inventory.Filter{Scope: all, Components: []string{"kubelet"}, Version: "<1.35"}))
		},
		"findings, first page": func(int) error { return asked(s.Findings(ctx, inventory.Filter{Scope: all})) },
		"confirm all": func(int) error {
			var live []string
			for c := range r.Clusters {
				live = append(live, fleetCluster(c).UID)
			}
			return s.Confirm(ctx, end, live)
		},
	}
	for name, question := range questions {
		for n := range inventoryRuns {
			started, worked := time.Now(), ownProcessorTime()
			if err := question(n); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			r.Queries[name] = append(r.Queries[name], time.Since(started).Seconds())
			r.Processor[name] = append(r.Processor[name], (ownProcessorTime() - worked).Seconds())
		}
	}
	return nil
}

func asked[T any](_ inventory.Page[T], err error) error { return err }

func repositoryOf(n int) string {
	app := n % fleetApps
	return fmt.Sprintf("registry.example.com/team-%d/app-%d", app%20, app)
}

// ownProcessorTime is how long this process has worked. Where others work, too, what questions take by that is less of theirs.
func ownProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is the most memory that this process had.
func peakMemory() (int64, error) {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes << 10, nil
		}
	}
	return 0, errors.New("/proc/self/status does not say how much memory there was")
}

func (r *inventoryResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "OBSERVATION STORE, %s, 1/%d OF %d CLUSTERS, %d DAYS\t\n", r.Database, r.Scale, fleetClusters, r.Days)
	fmt.Fprintf(w, "clusters\t%d\n", r.Clusters)
	fmt.Fprintf(w, "rows\t%d\n", r.Rows)
	if r.FirstRates > 0 {
		fmt.Fprintf(w, "rows a second, whole lists\t%.0f\n", r.FirstRates)
		fmt.Fprintf(w, "rows a second, 37 at a time\t%.0f\n", r.ChurnRates)
	}
	fmt.Fprintf(w, "size\t%.0f MiB, %.0f bytes a row\n", float64(r.Bytes)/(1<<20), float64(r.Bytes)/float64(r.Rows))
	fmt.Fprintf(w, "memory, at most\t%d MiB\n", r.Memory>>20)
	fmt.Fprint(w, "\nQUESTION\tp50\tp95\tp100\tPROCESSOR p50\tp95\n")
	names := make([]string, 0, len(r.Queries))
	for name := range r.Queries {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		times, worked := slices.Sorted(slices.Values(r.Queries[name])), slices.Sorted(slices.Values(r.Processor[name]))
		fmt.Fprintf(w, "%s\t%.1fms\t%.1fms\t%.1fms\t%.1fms\t%.1fms\n", name, 1000*median(times), 1000*times[len(times)*95/100], 1000*times[len(times)-1],
			1000*median(worked), 1000*worked[len(worked)*95/100])
	}
	_ = w.Flush()
}
