package gateway

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Outcomes of a connection.
const (
	outcomePassed    = "passed"     // on to a backend
	outcomeFull      = "full"       // the gateway, or the share of the client's address, had no place
	outcomeHostFull  = "host_full"  // the same of one host
	outcomeNoHello   = "no_hello"   // no TLS hello or HTTP request came in time
	outcomeNoHost    = "no_host"    // there is no route for the name
	outcomeNoBackend = "no_backend" // it did not answer
	outcomeGaveWay   = "gave_way"   // silent for longest, it made place for another one of the same address
	outcomeSilent    = "silent"     // nothing came after the hello
	outcomeAsleep    = "asleep"     // for an API server that sleeps, which it did not wake, or which was not awake in time
)

// metrics count what a gateway does. They have no names of hosts: any user of the machine may read them.
type metrics struct {
	registry *prometheus.Registry
	outcomes *prometheus.CounterVec
}

func newMetrics(open func() int) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kqueen_gateway_connections_total", Help: "Connections of clients, by what became of them.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{
		outcomePassed, outcomeFull, outcomeHostFull, outcomeNoHello, outcomeNoHost, outcomeNoBackend, outcomeGaveWay, outcomeSilent, outcomeAsleep,
	} {
		m.outcomes.WithLabelValues(outcome) // a rate needs the zero, too
	}
	m.registry.MustRegister(m.outcomes, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kqueen_gateway_connections_open", Help: "Open connections of clients, those without a name yet included.",
	}, func() float64 { return float64(open()) }))
	return m
}

func (m *metrics) count(outcome string) { m.outcomes.WithLabelValues(outcome).Inc() }

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
