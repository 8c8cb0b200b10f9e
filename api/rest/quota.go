package rest

// Quota is what an organization may have and what it has.
type Quota struct {
	Clusters Use `json:"clusters"`
	// Nodes counts each node pool with the most that it may have.
	Nodes Use `json:"nodes"`
	// CPU is how many processors those nodes have, such as "1500m" or "2".
	CPU UseOfQuantity `json:"cpu"`
	// Memory is how many bytes of memory those nodes have, such as "4Gi".
	Memory UseOfQuantity `json:"memory"`
	// Store is how many bytes hosted control planes hold in data stores, when it was last measured.
	Store UseOfQuantity `json:"store"`
}

// Use is how much of something there is.
type Use struct {
	Used int64 `json:"used"`
	// Limit is absent where there is none.
	Limit *int64 `json:"limit,omitempty"`
}

// UseOfQuantity is how much of something there is that is not counted one by one, in Kubernetes' notation of quantities.
type UseOfQuantity struct {
	Used string `json:"used"`
	// Limit is absent where there is none.
	Limit string `json:"limit,omitempty"`
}
