package changelog

import "github.com/prometheus/client_golang/prometheus"

// measures count over all clusters. They name none: clusters are as many as users like.
type measures struct {
	recorders   *prometheus.Desc
	standing    func() (recording, failing int)
	written     prometheus.Counter
	interrupted prometheus.Counter
}

func newMeasures(standing func() (recording, failing int)) *measures {
	return &measures{
		standing:  standing,
		recorders: prometheus.NewDesc("kqueen_changelog_recorders", "Clusters whose changes are recorded beside their backups, by how that goes.", []string{"state"}, nil),
		written: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kqueen_changelog_recorded_changes_total", Help: "Changes in clusters that were recorded beside their backups.",
		}),
		interrupted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kqueen_changelog_interruptions_total", Help: "Logs of changes that could not be continued: moments are missing until the next backup.",
		}),
	}
}

// Measures are what the recorders have measured.
func (r *Recorders) Measures() prometheus.Collector { return r.measures }

// Describe implements [prometheus.Collector].
func (m *measures) Describe(to chan<- *prometheus.Desc) {
	to <- m.recorders
	m.written.Describe(to)
	m.interrupted.Describe(to)
}

// Collect implements [prometheus.Collector].
func (m *measures) Collect(to chan<- prometheus.Metric) {
	recording, failing := m.standing()
	to <- prometheus.MustNewConstMetric(m.recorders, prometheus.GaugeValue, float64(recording), "recording")
	to <- prometheus.MustNewConstMetric(m.recorders, prometheus.GaugeValue, float64(failing), "failing")
	m.written.Collect(to)
	m.interrupted.Collect(to)
}

// standing counts those that record, and those that cannot.
func (r *Recorders) standing() (recording, failing int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, have := range r.all {
		if known := have.known(); known.Problem != nil || len(known.Logs) == 0 {
			failing++
		} else {
			recording++
		}
	}
	return recording, failing
}
