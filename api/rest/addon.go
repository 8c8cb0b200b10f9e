package rest

import "encoding/json"

// Addon is an application of the catalogue, which KQueen runs in clusters.
type Addon struct {
	Name string `json:"name"`
	// Summary is a phrase: what a cluster has by it.
	Summary string `json:"summary"`
	// Default says whether a cluster has it of which no setting says otherwise.
	Default bool `json:"default"`
	// Version is that of the application. It is absent when this installation has no image of it, and for kube-proxy, which has
	// the version of each cluster.
	Version string `json:"version,omitempty"`
	// CNI is the value of spec.cni with which a cluster has it, and with that alone. It is absent for one that can be switched.
	CNI string `json:"cni,omitempty"`
	// Kubernetes are the releases that this version is for, as a constraint of SemVer such as ">=1.34". It is absent for one that is
	// for all.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Uses are addons without which a part of it has no effect.
	Uses []AddonUse `json:"uses,omitempty"`
	// ValuesSchema is the JSON Schema (2020-12) of its values.
	ValuesSchema json.RawMessage `json:"valuesSchema"`
}

// ClusterAddon is how an addon of the catalogue is to be in a cluster, and how it is.
type ClusterAddon struct {
	Name string `json:"name"`
	// Enabled says whether the cluster is to have it.
	Enabled bool `json:"enabled"`
	// From is who says so: cluster, organization, provisioner, catalogue where none of them does, or cni where spec.cni of the
	// Cluster does.
	From string `json:"from"`
	// Values are those of all settings together, and those by default.
	Values map[string]any `json:"values"`
	// Version, State and Message are how it was seen last, as in status.addons of the Cluster. They are absent for one that the cluster
	// does not have.
	Version string `json:"version,omitempty"`
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
}

// AddonUse is an addon that another one uses.
type AddonUse struct {
	Name string `json:"name"`
	// For is a phrase: what there is not without it.
	For string `json:"for"`
}
