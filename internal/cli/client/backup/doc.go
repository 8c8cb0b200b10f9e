// Package backup has the commands about backups of clusters, their stores, and restores. Only those that lose something ask first.
//
// It hides how the objects are built from flags and shown. Only the root command imports it.
package backup
