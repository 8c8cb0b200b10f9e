// Package inventory keeps what runs in clusters, now and at every time before: it is the observation store.
//
// It hides how intervals of validity are kept in SQL, how content is kept once, and how a cluster's access is checked inside each
// query. What it knows can be rebuilt by asking clusters again, but for the past. Package collector writes to it, and the REST API
// reads.
package inventory
