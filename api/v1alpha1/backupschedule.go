package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a BackupSchedule, beside those of every kind.
const (
	// ConditionScheduled is true while it is known when the next backup is taken.
	ConditionScheduled = "Scheduled"
	// ConditionLastBackupTaken is true while the last backup that was due is taken.
	ConditionLastBackupTaken = "LastBackupTaken"
	// ConditionRetained is true while there are no backups beside those that spec.retention keeps.
	ConditionRetained = "Retained"
	// ConditionChangesRecorded is true while the changes between backups are recorded, where spec.recoveryWindowHours asks for it.
	ConditionChangesRecorded = "ChangesRecorded"
)

// Reasons of the conditions of a BackupSchedule.
const (
	// ReasonScheduled: the next backup is taken at status.nextTime.
	ReasonScheduled = "Scheduled"
	// ReasonSchedulePaused: spec.paused is true, and no backup is taken.
	ReasonSchedulePaused = "SchedulePaused"
	// ReasonScheduleRefused: there can be no backup as it is asked for; the message names the field.
	ReasonScheduleRefused = "ScheduleRefused"
	// ReasonScheduleFailed: a backup could not be created or deleted; the message has the cause.
	ReasonScheduleFailed = "ScheduleFailed"
	// ReasonLastBackupTaken: the last backup that was due is taken, or none was due yet.
	ReasonLastBackupTaken = "LastBackupTaken"
	// ReasonLastBackupPending: the last backup that was due is not taken yet; the message has the cause.
	ReasonLastBackupPending = "LastBackupPending"
	// ReasonLastBackupMissed: the last backup that was due was not taken within an hour; the message has the cause.
	ReasonLastBackupMissed = "LastBackupMissed"
	// ReasonRetained: no backup is there beside those that are kept.
	ReasonRetained = "Retained"
	// ReasonChangesRecorded: changes are recorded; status.earliestRecoveryTime has the first moment that can be restored.
	ReasonChangesRecorded = "ChangesRecorded"
	// ReasonRecordingStarting: the recording of changes begins, or waits for the backup that changes are applied to.
	ReasonRecordingStarting = "RecordingStarting"
	// ReasonRecordingFailed: changes cannot be recorded now; the message has the cause.
	ReasonRecordingFailed = "RecordingFailed"
	// ReasonRecordingOff: spec.recoveryWindowHours is empty, or the schedule is paused.
	ReasonRecordingOff = "RecordingOff"
	// ReasonRecordingInterrupted: for some time no changes were recorded; an event says why.
	ReasonRecordingInterrupted = "RecordingInterrupted"
	// ReasonBackupExpired: a backup that is not kept any more is deleted; an event has its name.
	ReasonBackupExpired = "BackupExpired"
)

// LabelBackupSchedule on a Backup is the UID of the BackupSchedule that took it, whose retention deletes it.
const LabelBackupSchedule = "kqueen.io/backup-schedule"

// BackupSchedule takes backups of one cluster at times, and deletes those of its own that are not kept any more. It records the changes
// between them where that is asked for. Backups stay when it is deleted, and what was recorded goes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bks,categories=kqueen
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastTakenTime`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 49",message="metadata.name must have at most 49 characters, because the names of its backups begin with it"
type BackupSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackupScheduleSpec `json:"spec"`
	// +optional
	Status BackupScheduleStatus `json:"status,omitempty"`
}

// BackupScheduleSpec says of which cluster backups are taken, when, and which are kept.
//
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName && self.storeName == oldSelf.storeName",message="clusterName and storeName cannot be changed; create another BackupSchedule"
type BackupScheduleSpec struct {
	// ClusterName names the Cluster, in the same namespace. KQueen hosts its control plane.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ClusterName string `json:"clusterName"`
	// StoreName names the BackupStore.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StoreName string `json:"storeName,omitempty"`
	// Schedule says when, as cron does: minute, hour, day of the month, month and day of the week, such as "30 2 * * *", or one of @hourly,
	// @daily, @weekly, @monthly and @yearly. Two times are at least 15 minutes apart.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`
	// TimeZone is the name of the time zone of the schedule and of the days that retention counts, such as "Europe/Prague".
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Paused keeps backups from being taken and deleted.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// Retention says which backups are kept. A backup is kept by any of its rules, and the newest whole one always.
	// +optional
	// +kubebuilder:default={keepLast: 7}
	Retention *BackupRetention `json:"retention,omitempty"`
	// RecoveryWindowHours is how far back any moment can be restored, such as 168 for a week: the changes between backups are recorded, and the
	// backups kept that they are applied to. A Backup with spec.asOfTime is of such a moment. Empty for none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8784
	RecoveryWindowHours int32 `json:"recoveryWindowHours,omitempty"`
}

// BackupRetention says which backups of a schedule are kept. Only whole ones count; those of an earlier cluster of the same name and those
// that are damaged are never deleted.
//
// +kubebuilder:validation:XValidation:rule="has(self.keepLast) || has(self.keepDaily) || has(self.keepWeekly) || has(self.keepMonthly)",message="say how many are kept: keepLast, keepDaily, keepWeekly or keepMonthly"
type BackupRetention struct {
	// KeepLast is how many of the newest backups are kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepLast int32 `json:"keepLast,omitempty"`
	// KeepDaily is of how many days the newest backup is kept; days without a backup do not count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepDaily int32 `json:"keepDaily,omitempty"`
	// KeepWeekly is of how many weeks, from Monday on, the newest backup is kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepWeekly int32 `json:"keepWeekly,omitempty"`
	// KeepMonthly is of how many months the newest backup is kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepMonthly int32 `json:"keepMonthly,omitempty"`
}

// BackupScheduleStatus is what is known of a schedule of backups.
type BackupScheduleStatus struct {
	Status `json:",inline"`
	// NextTime is when the next backup is due.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
	// LastTime is when a backup was due the last time, and LastBackupName names it.
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`
	// +optional
	LastBackupName string `json:"lastBackupName,omitempty"`
	// LastTakenTime is when the newest backup of the schedule was complete.
	// +optional
	LastTakenTime *metav1.Time `json:"lastTakenTime,omitempty"`
	// Backups is how many backups of the schedule there are.
	// +optional
	Backups int32 `json:"backups,omitempty"`
	// RecordingTime is from when on changes are recorded without a gap.
	// +optional
	RecordingTime *metav1.Time `json:"recordingTime,omitempty"`
	// EarliestRecoveryTime and LatestRecoveryTime are the first and the last moment that can be restored, as far as was known when the
	// status was written; the last one goes on meanwhile.
	// +optional
	EarliestRecoveryTime *metav1.Time `json:"earliestRecoveryTime,omitempty"`
	// +optional
	LatestRecoveryTime *metav1.Time `json:"latestRecoveryTime,omitempty"`
}

// Shared returns the part of the status that all kinds have.
func (s *BackupSchedule) Shared() *Status { return &s.Status.Status }

// +kubebuilder:object:root=true

// BackupScheduleList is a list of schedules of backups.
type BackupScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BackupSchedule `json:"items"`
}
