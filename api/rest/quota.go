package rest

// Quota is what an organization uses, and how much it may use.
type Quota struct {
	Clusters Use `json:"clusters"`
	// Nodes counts each node pool with the most that it may have.
	Nodes Use `json:"nodes"`
	// Machines counts those nodes by machine provider.
	Machines MachinesUse `json:"machines"`
	// CPU is how many processors those nodes have, such as "1500m" or "2".
	CPU UseOfQuantity `json:"cpu"`
	// Memory is how many bytes of memory those nodes have, such as "4Gi".
	Memory UseOfQuantity `json:"memory"`
	// Store is how many bytes hosted control planes hold in data stores, when it was last measured.
	Store UseOfQuantity `json:"store"`
}

// MachinesUse is how many nodes each machine provider makes.
type MachinesUse struct {
	// Local are machines on the host of KQueen.
	Local Use `json:"local"`
	// Manual are machines that users join.
	Manual Use `json:"manual"`
}

// Use is how much of a resource is used, as a count.
type Use struct {
	Used int64 `json:"used"`
	// Limit is absent when there is none.
	Limit *int64 `json:"limit,omitempty"`
}

// UseOfQuantity is how much of a resource is used, as a Kubernetes quantity such as "1500m" or "4Gi".
type UseOfQuantity struct {
	Used string `json:"used"`
	// Limit is absent when there is none.
	Limit string `json:"limit,omitempty"`
}
