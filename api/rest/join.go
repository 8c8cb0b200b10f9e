package rest

import "time"

// JoinToken is what one machine joins a cluster with.
type JoinToken struct {
	Machine string `json:"machine"`
	Cluster string `json:"cluster"`
	// Version of Kubernetes that the machine is to have.
	Version string `json:"version"`
	// Server is host:port of the API server, as machines reach it.
	Server string `json:"server"`
	// Token is a bootstrap token of Kubernetes. It joins this one machine, once, and before Expires.
	Token   string    `json:"token" format:"password"`
	Expires time.Time `json:"expiresAt"`
	// CACertHashes are those of the public keys that may sign the server's certificate: "sha256:" and hexadecimal digits.
	CACertHashes []string `json:"caCertHashes"`
}
