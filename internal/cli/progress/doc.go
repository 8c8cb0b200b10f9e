// Package progress shows how long work gets on: the steps until an object is ready, drawn in place on a terminal and
// line by line elsewhere. It makes no call: who waits hands it what was last seen.
package progress
