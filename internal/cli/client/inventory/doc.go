// Package inventory has the commands that ask what runs in clusters, now and before: images, containers, versions, nodes,
// workloads, certificates and findings. It hides pages, and how a moment is said. The root command alone enters.
package inventory
