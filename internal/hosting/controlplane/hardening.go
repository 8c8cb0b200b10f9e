package controlplane

// Settings that the CIS Kubernetes Benchmark asks for beyond what the components do by themselves. Package hosting/cis has its
// whole table, and a test holds every description against it.
const (
	// endsOnTime ends tokens in pods when they say so, after an hour, and not a year later. Kubelets renew them before.
	endsOnTime = "--service-account-extend-token-expiration=false"
	// terminatedPods is how many pods that have ended are kept. Upstream's own 12,500 would fill a keyspace.
	terminatedPods = "--terminated-pod-gc-threshold=1000"
)

// admissionPlugins are those that an API server has beside upstream's own.
func (d Description) admissionPlugins() []string {
	plugins := []string{
		"NodeRestriction",
		// A user who may write a Service could take the traffic of any address for it: CVE-2020-8554.
		"DenyServiceExternalIPs",
	}
	if d.size().events.limited() {
		plugins = append(plugins, eventRateLimit)
	}
	return plugins
}
