// Package certcrypto has the kinds of private keys.
package certcrypto

// KeyType is an algorithm and its size.
type KeyType string

// Kinds of keys.
const (
	EC256   KeyType = "EC256"
	EC384   KeyType = "EC384"
	RSA2048 KeyType = "RSA2048"
	RSA4096 KeyType = "RSA4096"
	RSA8192 KeyType = "RSA8192"
)
