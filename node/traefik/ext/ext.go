// Package ext has what other products of Traefik's makers add to its configuration, which is nothing here.
package ext

// HTTP is added to the HTTP part.
type HTTP struct{}

// Router is added to each router.
type Router struct{}
