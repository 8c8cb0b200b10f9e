// Package changelog records each change of hosted clusters' keyspaces beside their backups, so that a cluster can be restored as it was at any
// moment between two of them.
//
// It hides how changes are watched, gathered and written, what is done when that stops for a while, and which part of a log is needed
// still. The reconciler of BackupSchedule says which clusters are recorded ([Recorders.Ensure]); that of Backup reads ([Replay]).
//
// A log has no gap in its revisions. Where etcd does not know any more what was written meanwhile, a new log begins, which needs a backup
// of its own to start from. Times are when KQueen was told of a change, which is some milliseconds after it was made. What was written
// while KQueen did not run is in the log, but not when: a moment of that time is refused.
package changelog
