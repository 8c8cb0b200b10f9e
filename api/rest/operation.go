package rest

import "time"

// Operation is work on one object that goes on now, or that does not get on.
type Operation struct {
	Object ObjectReference `json:"object"`
	// Cluster that the object belongs to.
	Cluster string `json:"cluster,omitempty"`
	// Action is what is done: create, update, upgrade, scale or delete.
	Action string `json:"action"`
	// State is Running, Retrying (a step failed and is tried again) or Stalled (a user has to act).
	State string `json:"state"`
	// Reason is a word for programs, of the object's conditions; Message says what is waited for.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// LastTransitionAt is when the work began or, when it is stalled, when it stopped; absent until its controller has begun.
	LastTransitionAt *time.Time `json:"lastTransitionAt,omitempty"`
	// NextRetryAt is when a step that failed is tried again.
	NextRetryAt *time.Time `json:"nextRetryAt,omitempty"`
	// Progress is how far it is, where that can be counted.
	Progress *Progress `json:"progress,omitempty"`
}

// Progress counts steps, machines or whatever the work consists of.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// Actions of operations.
const (
	ActionCreate  = "create"
	ActionUpdate  = "update"
	ActionUpgrade = "upgrade"
	ActionScale   = "scale"
	ActionDelete  = "delete"
)

// States of operations.
const (
	StateRunning  = "Running"
	StateRetrying = "Retrying"
	StateStalled  = "Stalled"
)
