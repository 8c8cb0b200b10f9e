package host

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/server/status"
)

// ownGroup is where what no cluster needs alone is shown.
const ownGroup = "kqueen"

// group is what runs for one cluster, or for KQueen itself.
type group struct {
	name      string
	workloads []status.WorkloadStatus
}

// grouped sorts workloads by what they run for: KQueen first, and then cluster by cluster. It is pure.
func grouped(workloads []status.WorkloadStatus) []group {
	of := func(w status.WorkloadStatus) string {
		if w.Cluster == "" {
			return ownGroup
		}
		return w.Cluster
	}
	sorted := slices.Clone(workloads)
	slices.SortStableFunc(sorted, func(a, b status.WorkloadStatus) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(workloadName(a), workloadName(b)))
	})
	var groups []group
	for _, w := range sorted {
		if len(groups) == 0 || groups[len(groups)-1].name != of(w) {
			groups = append(groups, group{name: of(w)})
		}
		last := &groups[len(groups)-1]
		last.workloads = append(last.workloads, w)
	}
	return groups
}

// workloadName is a workload in the table: the control plane of its cluster, or the name of a node.
func workloadName(w status.WorkloadStatus) string {
	name := w.Name
	if w.Cluster != "" {
		_, name, _ = strings.Cut(w.Name, "/")
	}
	if _, cluster, _ := strings.Cut(w.Cluster, "/"); w.Cluster != "" && cluster == name && !w.Node {
		return "control-plane"
	}
	return name
}

// total is what several programs use together.
type total struct {
	programs, ready, restarts int
	memory                    uint64
	cpu                       float64
}

func (t *total) add(c status.ComponentStatus) {
	t.programs++
	if c.State == "Ready" {
		t.ready++
	}
	t.restarts += c.Restarts
	t.memory += c.MemoryBytes
	t.cpu += c.CPUSeconds
}

// state says how many are ready, if not all are.
func (t *total) state() string {
	if t.ready == t.programs {
		return "Ready"
	}
	return fmt.Sprintf("%d/%d Ready", t.ready, t.programs)
}

// printWorkloads prints what runs, with totals for each cluster and for all.
func printWorkloads(out io.Writer, workloads []status.WorkloadStatus) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "CLUSTER\tWORKLOAD\tCOMPONENT\tSTATE\tPID\tRESTARTS\tMEMORY\tCPU")
	sum := func(of string, t total) {
		fmt.Fprintf(w, "%s\ttotal\t%s\t%s\t-\t%d\t%s\t%.1fs\n", console.CleanLine(of), text.Count(t.programs, "program"), t.state(), t.restarts, mebibytes(t.memory), t.cpu)
	}
	var all total
	clusters := 0
	for _, g := range grouped(workloads) {
		var t total
		for _, workload := range g.workloads {
			for _, c := range workload.Components {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%.1fs\n", console.CleanLine(g.name), console.CleanLine(workloadName(workload)), c.Name, c.State, c.PID, c.Restarts, mebibytes(c.MemoryBytes), c.CPUSeconds)
				t.add(c)
				all.add(c)
			}
		}
		sum(g.name, t)
		if g.name != ownGroup {
			clusters++
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s, %s, %s, %.1fs CPU\n", text.Count(clusters, "cluster"), text.Count(all.programs, "program"), mebibytes(all.memory), all.cpu)
	return err
}
