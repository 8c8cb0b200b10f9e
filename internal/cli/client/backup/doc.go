// Package backup has the commands about backups of clusters, their stores, and restores. Only the root command uses it.
package backup
