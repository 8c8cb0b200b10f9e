// Package ciphers is the cipher suites that KQueen's servers offer to clients of TLS 1.2, and that the servers offer which
// it starts: those that authenticate what they encrypt (AEAD) and whose keys nothing recovers later. Suites of the CBC mode are not among them.
//
// It hides the list. TLS 1.3 has no others and no choice. Every package that opens or describes a server may import it.
package ciphers

import "crypto/tls"

// Suites are the ids of the suites, for [tls.Config]. HTTP/2 needs the first or the fourth.
func Suites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}

// Names are the same for flags and configurations of Kubernetes.
func Names() []string {
	names := make([]string, 0, len(Suites()))
	for _, id := range Suites() {
		names = append(names, tls.CipherSuiteName(id))
	}
	return names
}

// MinVersion is the lowest version of TLS in flags and configurations of Kubernetes.
const MinVersion = "VersionTLS12"
