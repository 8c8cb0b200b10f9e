package controlplane

const eventRateLimit = "EventRateLimit"

// eventRate is how many events an API server takes in a second; 0 for any number. Who reports more is told so, and drops
// them: programs do not wait with an event.
type eventRate int

func (r eventRate) limited() bool { return r > 0 }

// configuration lets one namespace have half of what the API server takes, so that a pod that fails in a circle leaves some for
// the others, and each up to five seconds at a time: a Deployment that starts reports a lot at once. See
// https://kubernetes.io/docs/reference/config-api/apiserver-eventratelimit.v1alpha1/
func (r eventRate) configuration() any {
	limit := func(kind string, rate int) map[string]any {
		return map[string]any{"type": kind, "qps": rate, "burst": 5 * rate}
	}
	namespace := limit("Namespace", int(r)/2)
	namespace["cacheSize"] = 500 // namespaces that are told apart; the one that was quiet longest begins anew
	return map[string]any{
		"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration",
		"limits": []any{limit("Server", int(r)), namespace},
	}
}
