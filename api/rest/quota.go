package rest

// Quota is what an organization may have and what it has.
type Quota struct {
	Clusters Use `json:"clusters"`
	// Nodes counts each node pool with the most that it may have.
	Nodes Use `json:"nodes"`
}

// Use is how much of something there is.
type Use struct {
	Used int64 `json:"used"`
	// Limit is absent where there is none.
	Limit *int64 `json:"limit,omitempty"`
}
