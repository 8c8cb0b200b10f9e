package rest

// MostCounts is how many values a [Counts] has at most.
const MostCounts = 100

// Readiness of clusters, as they are counted.
const (
	CountedReady    = "ready"
	CountedNotReady = "notReady"
	CountedUnknown  = "unknown"
)

// ClusterSummary is how many clusters there are that you may list.
type ClusterSummary struct {
	// Total counts all, those that are being deleted as well.
	Total int `json:"total"`
	// Deleting counts those that are being deleted.
	Deleting int `json:"deleting"`
	// ByReadiness counts ready, notReady and unknown.
	ByReadiness Counts `json:"byReadiness"`
	// ByVersion counts versions of Kubernetes: those that run, or that were asked for where none runs yet. A cluster of which neither is
	// known has an empty one.
	ByVersion Counts `json:"byVersion"`
	// ByProvisioner counts by the name of the Provisioner.
	ByProvisioner  Counts `json:"byProvisioner"`
	ByOrganization Counts `json:"byOrganization"`
}

// Counts says how often there is which value.
type Counts struct {
	// Items are the most frequent values, up to 100, from the most frequent on; those that are as frequent are in the order of their names.
	Items []Count `json:"items"`
	// More is how many have other values.
	More int `json:"more"`
}

// Count is how often there is a value.
type Count struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}
