package provision

import "errors"

// Errors that the caller of a driver acts on. A driver wraps them with its own words, which users read:
// fmt.Errorf("%w: the region north has no such machines", provision.ErrCapacity).
var (
	// ErrNotFound says that there is no such cluster. It is an answer of the outside, never a guess: a call that did
	// not come through is ErrUnreachable, or any other error.
	ErrNotFound = errors.New("cluster not found")
	// ErrUnreachable says that the outside did not answer, or not yet: how the cluster is cannot be told.
	ErrUnreachable = errors.New("the provisioner cannot be reached")
	// ErrOffline says that the cluster is reached by an agent in it of which nothing was heard for too long.
	ErrOffline = errors.New("the agent in the cluster is not connected")
	// ErrPending says that what the cluster is reached by is still to come.
	ErrPending = errors.New("the cluster waits for its agent")
	// ErrCredentials says that the cluster refuses the credentials that its user has set.
	ErrCredentials = errors.New("the cluster refuses the credentials")
	// ErrCapacity says that the outside has no capacity, or that a quota out there is used up. Trying again soon is no use.
	ErrCapacity = errors.New("there is no capacity")
)
