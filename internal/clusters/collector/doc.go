// Package collector watches every connected cluster and tells the observation store what runs there.
//
// It hides how the Kubernetes API is listed and watched within bounds, what of an object is looked at, how changes are gathered, and
// what a hostile API server can cost: no more than its [Limits], and nothing of another cluster. A cluster has one session of
// goroutines. Nothing is kept on disk: after a restart everything is listed again. Package app wires it, and no other package imports it.
package collector
