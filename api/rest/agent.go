package rest

import "time"

// AgentIdentity is what an agent in a cluster proves itself with. The agent has made it.
type AgentIdentity struct {
	Identity string `json:"identity" maxLength:"200" format:"password" writeOnly:"true"`
}

// AgentToken lets an agent enroll for a cluster.
type AgentToken struct {
	// Token can be used once. The API does not return it again.
	Token     string    `json:"token" format:"password" doc:"One-time token with which the agent enrolls. It is not shown again."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When the token expires."`
	// Manifests are what is applied to the cluster, in YAML. They have the token in them.
	Manifests string `json:"manifests" format:"password" doc:"What is applied to the cluster to start the agent there, in YAML. It has the token in it."`
	// Command fetches the manifests and applies them, with the user's own kubectl.
	Command string `json:"command" format:"password" doc:"Shell command that fetches the manifests and applies them to the cluster of kubectl's current context."`
}

// AgentTokenRequest says how an agent is to be.
type AgentTokenRequest struct {
	// Members lets members of the organization enter the cluster, with their roles.
	Members bool `json:"members,omitempty" doc:"Let members of the organization enter the cluster through KQueen, with their roles."`
	// Image is that of the agent; empty for the installation's own.
	Image string `json:"image,omitempty" maxLength:"512" doc:"Image of the agent; that of the installation where it is left out."`
}
