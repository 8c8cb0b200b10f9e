// Package aws has the values that calls of Amazon's API take.
package aws

// Config of clients.
type Config struct{}

// CredentialsProvider knows who calls.
type CredentialsProvider any

// NewCredentialsCache returns what it is given.
func NewCredentialsCache(p CredentialsProvider) CredentialsProvider { return p }

// String returns a pointer to it.
func String(text string) *string { return &text }

// ToString returns what is there, or nothing.
func ToString(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// ToInt32 returns what is there, or 0.
func ToInt32(number *int32) int32 {
	if number == nil {
		return 0
	}
	return *number
}
