// Package backup holds the reconcilers of BackupStore, Backup and Restore: it reads the keyspace of a hosted control plane into an
// archive, looks at times whether the archive is still whole, and writes it back while the control plane stands still, or into the keyspace of a
// new cluster before that first starts.
//
// Reading, verifying and writing take long and go on beside the reconcilers; one that is interrupted begins again and finds what the
// first one did. A restore that has begun to write is finished, or taken back, before the control plane starts again: no API server
// ever sees half of a state.
//
// Package app calls Setup.
package backup
