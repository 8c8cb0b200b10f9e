package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of an Upgrade, beside those of every kind, in the order in which they come true.
const (
	// ConditionPlanned is true once the steps to the version are known and no other upgrade of the cluster goes on.
	ConditionPlanned = "Planned"
	// ConditionPreflightPassed is true once nothing was found that stands against the upgrade.
	ConditionPreflightPassed = "PreflightPassed"
	// ConditionBackedUp is true once the cluster is backed up, or need not be.
	ConditionBackedUp = "BackedUp"
	// ConditionUpgraded is true once the control plane and the node pools have the version.
	ConditionUpgraded = "Upgraded"
)

// Reasons of an Upgrade's conditions.
const (
	// ReasonUpgradeRefused: the upgrade cannot be done as it is asked for; the message names the field.
	ReasonUpgradeRefused = "UpgradeRefused"
	// ReasonUpgradeWaiting: something else goes first, such as another upgrade or a restore of the cluster; the message names it.
	ReasonUpgradeWaiting = "UpgradeWaiting"
	// ReasonUpgradeChecking: what stands against the upgrade is being looked for.
	ReasonUpgradeChecking = "UpgradeChecking"
	// ReasonUpgradeBlocked: something stands against the upgrade; status.findings says what, and how to mend it.
	ReasonUpgradeBlocked = "UpgradeBlocked"
	// ReasonUpgradePaused: spec.paused is true, and the next step does not begin.
	ReasonUpgradePaused = "UpgradePaused"
	// ReasonUpgradeOutsideWindow: the next step waits for a maintenance window of the cluster; status.nextWindowTime says when it opens.
	ReasonUpgradeOutsideWindow = "UpgradeOutsideWindow"
	// ReasonUpgradeBackingUp: the cluster is being backed up.
	ReasonUpgradeBackingUp = "UpgradeBackingUp"
	// ReasonUpgradeRestoring: a backup is being compared with the cluster, or restored.
	ReasonUpgradeRestoring = "UpgradeRestoring"
	// ReasonUpgradingControlPlane: the control plane is being upgraded to the next version.
	ReasonUpgradingControlPlane = "UpgradingControlPlane"
	// ReasonUpgradingNodePool: the nodes of a pool are being replaced; the message names it.
	ReasonUpgradingNodePool = "UpgradingNodePool"
	// ReasonUpgradeGoingBack: the upgrade is being deleted, and the cluster stays at the version that it had.
	ReasonUpgradeGoingBack = "UpgradeGoingBack"
	// ReasonUpgradeFailed: a step failed; the message has its cause.
	ReasonUpgradeFailed = "UpgradeFailed"
	// ReasonUpgradeStepDone: this part of the upgrade is done.
	ReasonUpgradeStepDone = "UpgradeStepDone"
)

// Upgrade brings one cluster whose control plane KQueen hosts to another version of Kubernetes: it looks for what stands against that,
// backs the cluster up, upgrades the control plane minor by minor, and then the nodes, pool by pool. A rollback goes the other way. An
// Upgrade that has ended does nothing more.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=upg,categories=kqueen
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.status.fromVersion`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Completed",type=date,JSONPath=`.status.completionTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters"
type Upgrade struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec UpgradeSpec `json:"spec"`
	// +optional
	Status UpgradeStatus `json:"status,omitempty"`
}

// UpgradeSpec says which cluster is upgraded to which version.
//
// +kubebuilder:validation:XValidation:rule=`self.clusterName == oldSelf.clusterName && self.version == oldSelf.version && self.backup == oldSelf.backup && (has(self.rollback) && self.rollback) == (has(oldSelf.rollback) && oldSelf.rollback) && (has(self.restoreBackupName) ? self.restoreBackupName : "") == (has(oldSelf.restoreBackupName) ? oldSelf.restoreBackupName : "")`,message="clusterName, version, backup, rollback and restoreBackupName cannot be changed; delete this upgrade, which ends it, and create another one"
// +kubebuilder:validation:XValidation:rule="!has(self.restoreBackupName) || (has(self.rollback) && self.rollback)",message="restoreBackupName is for a rollback; set rollback, too, or leave it out"
type UpgradeSpec struct {
	// ClusterName names the Cluster, in the same namespace. KQueen hosts its control plane.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ClusterName string `json:"clusterName"`
	// Version of Kubernetes that the cluster is upgraded to, such as "v1.37.2". It may be several minors ahead: the control plane goes
	// through each of them. Of a rollback it is older than that of the cluster, by at most one minor.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+$`
	Version string `json:"version"`
	// Rollback brings the cluster back to an older version, with all that it stores: the nodes first, then the control plane, which emulates the
	// older minor before its programs are replaced.
	// +optional
	Rollback bool `json:"rollback,omitempty"`
	// RestoreBackupName names a Backup of the cluster, in the same namespace and of the minor of version, that a rollback restores before the
	// programs of the control plane are replaced: what was written to the cluster since the backup is lost, and what only the newer minor knows
	// stands against it no more. The state before is in a backup that the restore makes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RestoreBackupName string `json:"restoreBackupName,omitempty"`
	// Backup says whether the cluster is backed up before it is changed, to the BackupStore default.
	// +optional
	// +kubebuilder:default=true
	Backup *bool `json:"backup,omitempty"`
	// Paused keeps the next step from beginning. One that has begun goes on.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// IgnoreMaintenance lets steps begin outside of the maintenance windows of the cluster, and while it is frozen.
	// +optional
	IgnoreMaintenance bool `json:"ignoreMaintenance,omitempty"`
	// Ignore names checks whose findings do not keep the upgrade from going on.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Enum=ClusterReady;ClusterReadable;VersionSkew;NodesReady;DeprecatedAPIs;StoredVersions;DisruptionBudgets;AdmissionWebhooks;ConversionWebhooks;BackupStore;NewerObjects
	Ignore []string `json:"ignore,omitempty"`
}

// Values of status.findings[].check and of spec.ignore: what is looked at before an upgrade.
const (
	// CheckClusterReady: the cluster is ready.
	CheckClusterReady = "ClusterReady"
	// CheckClusterReadable: what the other checks need to know could be read.
	CheckClusterReadable = "ClusterReadable"
	// CheckVersionSkew: no node is too old for a version on the way.
	CheckVersionSkew = "VersionSkew"
	// CheckNodesReady: all nodes are ready.
	CheckNodesReady = "NodesReady"
	// CheckDeprecatedAPIs: clients call no API that a version on the way does not serve any more.
	CheckDeprecatedAPIs = "DeprecatedAPIs"
	// CheckStoredVersions: custom resources are stored in versions that are served.
	CheckStoredVersions = "StoredVersions"
	// CheckDisruptionBudgets: no PodDisruptionBudget keeps its pods on their node for ever.
	CheckDisruptionBudgets = "DisruptionBudgets"
	// CheckAdmissionWebhooks: no webhook that cannot answer is asked about nodes, pods or leases.
	CheckAdmissionWebhooks = "AdmissionWebhooks"
	// CheckConversionWebhooks: webhooks that convert custom resources can answer.
	CheckConversionWebhooks = "ConversionWebhooks"
	// CheckBackupStore: the cluster can be backed up, or was a short time ago.
	CheckBackupStore = "BackupStore"
	// CheckNewerObjects: nothing is stored in an API that the older minor does not have. It is looked at before a rollback.
	CheckNewerObjects = "NewerObjects"
	// CheckOwnVersions: no node pool has a version of its own. It never blocks.
	CheckOwnVersions = "OwnVersions"
	// CheckMaintenance: the cluster may be changed now. It never blocks; steps wait until it may.
	CheckMaintenance = "Maintenance"
	// CheckManualMachines: no node pool has machines that its user joins. It never blocks.
	CheckManualMachines = "ManualMachines"
)

// UpgradeStatus is what is known of an upgrade.
type UpgradeStatus struct {
	Status `json:",inline"`
	// ClusterUID is the UID of the Cluster.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`
	// FromVersion is the version that the cluster had before.
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`
	// Steps are those of the upgrade in their order. They are planned again until the control plane is changed.
	// +optional
	// +listType=atomic
	Steps []UpgradeStep `json:"steps,omitempty"`
	// Findings are what the last look found that stands against the upgrade, or is to be known.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Findings []UpgradeFinding `json:"findings,omitempty"`
	// OmittedFindings is how many findings there are beside those.
	// +optional
	OmittedFindings int32 `json:"omittedFindings,omitempty"`
	// BackupName names the Backup that was made for the upgrade.
	// +optional
	BackupName string `json:"backupName,omitempty"`
	// CheckedTime is when it was looked at last what stands against the upgrade.
	// +optional
	CheckedTime *metav1.Time `json:"checkedTime,omitempty"`
	// NextWindowTime is when the next step may begin, while it waits for a maintenance window of the cluster.
	// +optional
	NextWindowTime *metav1.Time `json:"nextWindowTime,omitempty"`
	// CompletionTime is when the upgrade ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// UpgradeStep is one step of an upgrade.
type UpgradeStep struct {
	// Name of the step, for progress displays.
	Name string `json:"name"`
	// Kind says what the step is about.
	// +kubebuilder:validation:Enum=Preflight;Backup;ControlPlane;NodePool;Emulation;Comparison;Restore
	Kind string `json:"kind"`
	// Version that the step leads to.
	// +optional
	Version string `json:"version,omitempty"`
	// Object is the name of the node pool, of the backup or of the restore.
	// +optional
	Object string `json:"object,omitempty"`
	// State says how far the step is.
	// +kubebuilder:validation:Enum=Pending;Running;Done;Skipped;Failed
	State string `json:"state"`
	// Why the step is there.
	// +optional
	Why string `json:"why,omitempty"`
	// Message says what the step waits for, or why it was skipped.
	// +optional
	Message string `json:"message,omitempty"`
	// StartedTime and FinishedTime are when it began and ended.
	// +optional
	StartedTime *metav1.Time `json:"startedTime,omitempty"`
	// +optional
	FinishedTime *metav1.Time `json:"finishedTime,omitempty"`
	// LastSeconds is how long such a step took in the last upgrade of the cluster that has ended; absent when there is none.
	// +optional
	LastSeconds int64 `json:"lastSeconds,omitempty"`
}

// Values of status.steps[].kind.
const (
	StepPreflight    = "Preflight"
	StepBackup       = "Backup"
	StepControlPlane = "ControlPlane"
	StepNodePool     = "NodePool"
	// StepEmulation has the control plane behave as an older minor, with the programs that it has.
	StepEmulation = "Emulation"
	// StepComparison reads all of a backup, and says what restoring it would change. It changes nothing.
	StepComparison = "Comparison"
	// StepRestore restores it.
	StepRestore = "Restore"
)

// Values of status.steps[].state.
const (
	StepPending = "Pending"
	StepRunning = "Running"
	StepDone    = "Done"
	StepSkipped = "Skipped"
	StepFailed  = "Failed"
)

// Ended says whether nothing is left to do in a step.
func (s *UpgradeStep) Ended() bool { return s.State == StepDone || s.State == StepSkipped }

// UpgradeFinding is something that stands against an upgrade, or is to be known.
type UpgradeFinding struct {
	// Check that found it.
	Check string `json:"check"`
	// Severity says whether the upgrade goes on all the same.
	// +kubebuilder:validation:Enum=Blocks;Warns
	Severity string `json:"severity"`
	// Object that it is about, such as "PodDisruptionBudget shop/web".
	// +optional
	Object string `json:"object,omitempty"`
	// Message says what is wrong, and Fix what to do.
	Message string `json:"message"`
	// +optional
	Fix string `json:"fix,omitempty"`
}

// Values of status.findings[].severity.
const (
	// SeverityBlocks keeps the upgrade from going on, unless its check is in spec.ignore.
	SeverityBlocks = "Blocks"
	// SeverityWarns is to be known.
	SeverityWarns = "Warns"
)

// Shared returns the part of the status that all kinds have.
func (u *Upgrade) Shared() *Status { return &u.Status.Status }

// +kubebuilder:object:root=true

// UpgradeList is a list of upgrades.
type UpgradeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Upgrade `json:"items"`
}

// Labels and annotations of upgrades.
const (
	// LabelUpgrade on a Backup is the UID of the Upgrade that made it, before it changed the cluster; on a Restore that of the one that it is a
	// step of.
	LabelUpgrade = "kqueen.io/upgrade"
	// AnnotationUpgrade on a Cluster is the UID of the Upgrade that goes on. Another one waits for it.
	AnnotationUpgrade = "kqueen.io/upgrade"
	// AnnotationPatchedTo on a Cluster is the last version for which an Upgrade was created by its upgrade channel. It is not tried again.
	AnnotationPatchedTo = "kqueen.io/patched-to"
	// AnnotationUpgradeHolds on a NodePool without a version of its own is the version that its machines keep until it is the pool's turn
	// in the upgrade of its cluster.
	AnnotationUpgradeHolds = "kqueen.io/upgrade-holds"
)
