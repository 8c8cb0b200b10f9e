package rest

import "time"

// Operation is work on one object that goes on now, or that does not get on.
type Operation struct {
	Object ObjectReference `json:"object"`
	// Cluster that the object belongs to.
	Cluster string `json:"cluster,omitempty"`
	// Action is what is done: create, update, upgrade, rollback, rehearse, scale, backup, restore, rotate or delete.
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

// KindsOfOperations are the kinds of objects on which work goes on.
func KindsOfOperations() []string {
	return []string{"Cluster", "NodePool", "Machine", "Upgrade", "Rehearsal", "Backup", "Restore", "Rotation"}
}

// Actions of operations.
const (
	ActionCreate  = "create"
	ActionUpdate  = "update"
	ActionUpgrade = "upgrade"
	ActionScale   = "scale"
	ActionDelete  = "delete"

	ActionRollback = "rollback"
	ActionRehearse = "rehearse"
	ActionBackup   = "backup"
	ActionRestore  = "restore"
	ActionRotate   = "rotate"
)

// States of operations.
const (
	StateRunning  = "Running"
	StateRetrying = "Retrying"
	StateStalled  = "Stalled"
)
