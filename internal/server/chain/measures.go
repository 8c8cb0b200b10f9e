package chain

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// measures count requests. They name neither callers nor paths, which are as many as callers like.
type measures struct {
	requests *prometheus.CounterVec
	took     prometheus.Histogram
}

func newMeasures() *measures {
	return &measures{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kqueen_api_requests_total", Help: "Requests, by what they were answered.",
		}, []string{"method", "code"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kqueen_api_request_duration_seconds", Help: "How long requests took, streams included.", Buckets: prometheus.DefBuckets,
		}),
	}
}

// Measures are what the chain has measured.
func (c *Chain) Measures() prometheus.Collector { return c.measures }

// Describe implements [prometheus.Collector].
func (m *measures) Describe(to chan<- *prometheus.Desc) {
	m.requests.Describe(to)
	m.took.Describe(to)
}

// Collect implements [prometheus.Collector].
func (m *measures) Collect(to chan<- prometheus.Metric) {
	m.requests.Collect(to)
	m.took.Collect(to)
}

// request counts one. Methods that no operation has count as one, because a caller can make up any.
func (m *measures) request(method string, status int, took time.Duration) {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE":
	default:
		method = "other"
	}
	m.requests.WithLabelValues(method, strconv.Itoa(status)).Inc()
	m.took.Observe(took.Seconds())
}
