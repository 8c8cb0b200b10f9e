package collector

import "github.com/prometheus/client_golang/prometheus"

// measures count over all clusters. They name none: clusters are as many as users like.
type measures struct {
	clusters    *prometheus.Desc
	standing    func() (live, lost int)
	changes     prometheus.Counter
	storeErrors prometheus.Counter
}

func newMeasures(standing func() (live, lost int)) *measures {
	return &measures{
		standing: standing,
		clusters: prometheus.NewDesc("kqueen_inventory_clusters", "Clusters whose inventory is collected, by whether they are watched now.", []string{"state"}, nil),
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kqueen_inventory_changes_total", Help: "Changes in clusters that were handed to the inventory's store.",
		}),
		storeErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kqueen_inventory_store_errors_total", Help: "Calls that the inventory's store refused; they are tried again.",
		}),
	}
}

// Measures are what the collector has measured.
func (c *Collector) Measures() prometheus.Collector { return c.measures }

// Describe implements [prometheus.Collector].
func (m *measures) Describe(to chan<- *prometheus.Desc) {
	to <- m.clusters
	m.changes.Describe(to)
	m.storeErrors.Describe(to)
}

// Collect implements [prometheus.Collector].
func (m *measures) Collect(to chan<- prometheus.Metric) {
	live, lost := m.standing()
	to <- prometheus.MustNewConstMetric(m.clusters, prometheus.GaugeValue, float64(live), "live")
	to <- prometheus.MustNewConstMetric(m.clusters, prometheus.GaugeValue, float64(lost), "lost")
	m.changes.Collect(to)
	m.storeErrors.Collect(to)
}
