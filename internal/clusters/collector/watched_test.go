package collector_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// BenchmarkWatched has a collector in a process of its own watch so many simulated clusters of about 750 containers each, in which nothing
// changes, and says what memory and processor time that process takes. What one cluster costs is the difference. Run it with -benchtime 1x.
func BenchmarkWatched(b *testing.B) {
	for _, clusters := range []int{10, 110} {
		b.Run(fmt.Sprint(clusters), func(b *testing.B) {
			for b.Loop() {
				watched(b, clusters)
			}
		})
	}
}

func watched(b *testing.B, clusters int) {
	b.Helper()
	const quiet = time.Minute
	w := newPlay(b, scale{clusters: clusters, nodes: 10, pods: 440, look: time.Second}, databasetest.SQLite(b))
	w.collector.start()
	w.settle("first lists")
	first := w.collector.stat()
	select {
	case <-time.After(quiet):
	case <-b.Context().Done():
	}
	last := w.collector.stat()
	w.collector.end()
	b.ReportMetric(float64(first.ResidentMemory())/(1<<20), "MiB-then")
	b.ReportMetric(float64(last.ResidentMemory())/(1<<20), "MiB")
	b.ReportMetric(100*(last.CPUTime()-first.CPUTime())/quiet.Seconds(), "%cpu")
	b.ReportMetric(first.CPUTime()/float64(clusters), "cpu-s/first-lists")
}

// stat is what the process uses.
func (p *process) stat() procfs.ProcStat {
	p.t.Helper()
	proc, err := procfs.NewProc(p.cmd.Process.Pid)
	if err != nil {
		p.t.Fatal(err)
	}
	stat, err := proc.Stat()
	if err != nil {
		p.t.Fatal(err)
	}
	return stat
}
