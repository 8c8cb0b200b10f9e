// Package backupschedule holds the reconciler of BackupSchedule: it creates a Backup when one is due, says when the last one is not taken,
// and deletes those that its retention does not keep. It knows backups as objects alone; package backup takes and removes them.
//
// What is due and what is kept are pure functions of times. Package app calls Setup, and has Validator refuse schedules at admission.
package backupschedule
