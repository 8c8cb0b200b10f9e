// Package redact takes from texts what looks like a secret, before they are handed to others. It is the second line of defence:
// what writes a text is to leave secrets out by itself.
//
// Every package may import it; it imports none.
package redact

import (
	"regexp"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// named is what the names of secrets end with.
const named = `(?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key)`

// rules are what secrets look like. The group "keep" of a match stays before the mark.
var rules = []*regexp.Regexp{
	// Keys in PEM, also with the line ends of JSON.
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`),
	// The same as a Secret or a kubeconfig has it: "-----BEGIN" in base64.
	regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/_=-]{40,}`),
	// JSON Web Tokens, which service accounts have, and cookies of that form.
	regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	// KQueen's own tokens.
	regexp.MustCompile(`kq[auts1]_[0-9a-v]{20,}`),
	// Bootstrap tokens.
	regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`),
	// A user's password in a URL.
	regexp.MustCompile(`(?P<keep>[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"']*:)[^\s/@"']+@`),
	// In headers.
	regexp.MustCompile(`(?i)(?P<keep>\bbearer\s+)[^\s"',]+`),
	regexp.MustCompile(`(?i)(?P<keep>\bauthorization\\*"?\s*[:=]\s*\\*"?(?:basic\s+)?)[^\s"',\\]+`),
	// A string of JSON, to its end, and one within a string of JSON. Numbers and the like are none.
	regexp.MustCompile(`(?i)(?P<keep>"[\w-]*` + named + `"\s*:\s*")(?:[^"\\]|\\.)+`),
	regexp.MustCompile(`(?i)(?P<keep>\\"[\w-]*` + named + `\\"\s*:\s*\\")[^"\\]+`),
	// In flags, YAML and environments.
	regexp.MustCompile(`(?i)(?P<keep>\b[\w-]*` + named + `\s*[:=]\s*["']?)[^\s"',}]+`),
}

// Text returns a text without what looks like a secret. It is pure.
func Text(text string) string {
	for _, rule := range rules {
		keep := rule.SubexpIndex("keep")
		text = rule.ReplaceAllStringFunc(text, func(found string) string {
			if keep < 0 {
				return Mark
			}
			kept := rule.FindStringSubmatch(found)[keep]
			if strings.HasSuffix(found, "@") {
				return kept + Mark + "@"
			}
			return kept + Mark
		})
	}
	return text
}
