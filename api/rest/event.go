package rest

import "time"

// ObjectEvent is something that happened to an object, in the words of its controller. Events are kept for an hour.
type ObjectEvent struct {
	// LastSeenAt is when it was last seen, and FirstSeenAt when first.
	LastSeenAt  time.Time `json:"lastSeenAt"`
	FirstSeenAt time.Time `json:"firstSeenAt"`
	// Type is Normal or Warning.
	Type string `json:"type"`
	// Reason is a word for programs.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Count is how often it was seen.
	Count int32 `json:"count"`
	// Object is what it happened to.
	Object ObjectReference `json:"object"`
	// Reporter is the controller that reports it.
	Reporter string `json:"reporter,omitempty"`
}

// ObjectReference names an object of the same organization.
type ObjectReference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}
