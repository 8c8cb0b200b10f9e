package v1alpha1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Reasons of the condition AddonsReady.
const (
	// ReasonAddonsReady: what the addons run is there and ready.
	ReasonAddonsReady = "AddonsReady"
	// ReasonNoNodePools: addons come with the first node pool.
	ReasonNoNodePools = "NoNodePools"
	// ReasonAddonsProgressing: the message names the addon that is not ready yet.
	ReasonAddonsProgressing = "AddonsProgressing"
	// ReasonAddonsFailed: the message names the addon and what is wrong with it.
	ReasonAddonsFailed = "AddonsFailed"
	// ReasonAddonsUnreachable: the cluster's API server could not be asked, or refused the objects of an addon.
	ReasonAddonsUnreachable = "AddonsUnreachable"
	// ReasonIngressKeysUnusable: the Secret with the default certificate of the cluster's Ingresses cannot be read, written or renewed.
	ReasonIngressKeysUnusable = "IngressKeysUnusable"
)

// AddonSetting says how an addon is in a cluster. What it leaves out is as the organization, the provisioner and the catalogue
// say, in this order.
type AddonSetting struct {
	// Name of the addon, as in the catalogue: coredns, kube-proxy, metrics-server, or flannel.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Enabled says whether the cluster has the addon. When it is switched off, its objects are deleted.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Values are settings of the addon. Their schema is the addon's; the documentation of addons lists them.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
}

// AddonStatus is how an addon is in a cluster.
type AddonStatus struct {
	// Name of the addon.
	Name string `json:"name"`
	// Version is that of the application.
	// +optional
	Version string `json:"version,omitempty"`
	// State is Ready, Progressing, Failed, or UserOwned: an object of the addon's name is there that KQueen did not create, or
	// that a user has taken over by its label app.kubernetes.io/managed-by, so that KQueen leaves the addon alone.
	// +kubebuilder:validation:Enum=Ready;Progressing;Failed;UserOwned
	State string `json:"state"`
	// Message says what is missing, or whose the objects are.
	// +optional
	Message string `json:"message,omitempty"`
}

// Values of status.addons[].state.
const (
	// AddonReady: all that the addon runs is ready.
	AddonReady = "Ready"
	// AddonProgressing: what the addon runs is not ready yet.
	AddonProgressing = "Progressing"
	// AddonFailed: what the addon runs has failed.
	AddonFailed = "Failed"
	// AddonUserOwned: KQueen leaves the addon to the user.
	AddonUserOwned = "UserOwned"
)

// LabelAddon is on every object of an addon in a cluster, with the addon's name.
const LabelAddon = "kqueen.io/addon"
