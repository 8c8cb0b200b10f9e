package rest

import "time"

// CredentialRequest asks for a credential for a cluster.
type CredentialRequest struct {
	// Access is the role in the cluster; the highest that you may have when it is absent.
	Access string `json:"access,omitempty" enum:"view,edit,cluster-admin"`
	// LifetimeSeconds is from ten minutes to a day; an hour when it is absent.
	LifetimeSeconds int `json:"lifetimeSeconds,omitempty" minimum:"600" maximum:"86400"`
	// UID is of the cluster that is meant: another cluster of the same name is a conflict. Any cluster of that name when it is absent.
	UID string `json:"uid,omitempty" maxLength:"64"`
}

// ClusterCredential is a bearer token for one cluster.
type ClusterCredential struct {
	Token   string    `json:"token" format:"password"`
	Expires time.Time `json:"expiresAt"`
	Access  string    `json:"access"`
}

// KubeconfigRequest asks for a kubeconfig without secrets: kqueen fetches credentials when they are needed.
type KubeconfigRequest struct {
	CredentialRequest
	// Context is the context of kqueen with which it asks for credentials; its current one when it is absent.
	Context string `json:"context,omitempty" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$"`
}

// Kubeconfig is a kubeconfig in YAML. That of the cluster's own administrator has a private key in it.
type Kubeconfig struct {
	Kubeconfig string `json:"kubeconfig" format:"password"`
	Access     string `json:"access"`
	// UID is that of the cluster.
	UID string `json:"uid"`
}
