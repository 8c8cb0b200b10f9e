package kube

import "k8s.io/client-go/rest"

// BackgroundProtocol is offered in the TLS handshake (ALPN, RFC 7301) by calls that KQueen makes by itself. No server chooses it. A gateway
// that stands in for an API server that sleeps sees by it that no user asks, and does not wake it.
const BackgroundProtocol = "kqueen-background"

// Background marks the calls of a config as KQueen's own.
func Background(config *rest.Config) {
	config.NextProtos = BackgroundProtocols()
}

// BackgroundProtocols are all that such a call offers.
func BackgroundProtocols() []string { return []string{"h2", "http/1.1", BackgroundProtocol} }
