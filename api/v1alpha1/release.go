package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a Release, beside those of every kind.
const (
	// ConditionBinariesReady is true when the programs of the version are on disk and whole.
	ConditionBinariesReady = "BinariesReady"
)

// Reasons of a Release's conditions.
const (
	// ReasonBinariesPresent: the programs are on disk, whole, and say the right version.
	ReasonBinariesPresent = "BinariesPresent"
	// ReasonBinariesMissing: the programs are not on disk and have to be built first; the message has the command.
	ReasonBinariesMissing = "BinariesMissing"
	// ReasonFetchFailed: the programs could not be downloaded or verified.
	ReasonFetchFailed = "FetchFailed"
	// ReasonInUse: the release is being deleted and control planes still run it.
	ReasonInUse = "InUse"
)

// Release is a version of Kubernetes that KQueen can run. Its name is the version.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rel,categories=kqueen
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Upgrade From",type=string,JSONPath=`.status.upgradeFrom`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^v[0-9]+[.][0-9]+[.][0-9]+$')",message="metadata.name must be a Kubernetes version such as v1.36.3"
type Release struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ReleaseSpec `json:"spec"`
	// +optional
	Status ReleaseStatus `json:"status,omitempty"`
}

// ReleaseSpec is where the programs of a version come from.
type ReleaseSpec struct {
	// Source of the programs.
	Source ReleaseSource `json:"source"`
}

// ReleaseSource is exactly one way to get the programs of a version.
//
// +kubebuilder:validation:XValidation:rule="has(self.build) != has(self.download)",message="exactly one of build and download must be set"
type ReleaseSource struct {
	// Build: the programs are built from source on this machine, by `kqueen release build`.
	// +optional
	Build *ReleaseBuild `json:"build,omitempty"`
	// Download: the programs are downloaded in the layout of the official releases.
	// +optional
	Download *ReleaseDownload `json:"download,omitempty"`
}

// ReleaseBuild says that the programs are built from source. It has no settings.
type ReleaseBuild struct{}

// ReleaseDownload is where official programs are downloaded from.
type ReleaseDownload struct {
	// BaseURL is the part of the URL before /VERSION/bin/linux/ARCH/PROGRAM, such as "https://dl.k8s.io/release".
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[^ ]+$`
	BaseURL string `json:"baseURL"`
	// SHA256 pins the programs: the name of every one, such as "kube-apiserver", and its SHA-256 in
	// hexadecimal. Without it the .sha256 file beside each program is used, which tells a torn download
	// but not a replaced one.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	SHA256 map[string]string `json:"sha256,omitempty"`
}

// ReleaseStatus is what is known of a version's programs.
type ReleaseStatus struct {
	Status `json:",inline"`
	// UpgradeFrom says which versions may be raised to this one.
	// +optional
	UpgradeFrom string `json:"upgradeFrom,omitempty"`
	// Binaries are the programs on disk.
	// +optional
	// +listType=map
	// +listMapKey=name
	Binaries []Binary `json:"binaries,omitempty"`
}

// Binary is one program on disk.
type Binary struct {
	// Name of the program, such as "kube-apiserver".
	Name string `json:"name"`
	// SHA256 of the file, in hexadecimal. Programs built into one file share it.
	SHA256 string `json:"sha256"`
}

// +kubebuilder:object:root=true

// ReleaseList is a list of releases.
type ReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Release `json:"items"`
}

// Shared returns the part of the status that all kinds have.
func (r *Release) Shared() *Status { return &r.Status.Status }
