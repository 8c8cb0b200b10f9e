// Package inventory has the commands that ask what runs in clusters, now and before: images, containers, versions, nodes,
// workloads, certificates and findings; and, of one cluster now, what belongs to what and what is used. It hides pages, how a moment is said
// and how a graph is drawn. The root command alone enters.
package inventory
