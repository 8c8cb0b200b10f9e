package provision

import (
	"fmt"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// Credential is one value with which a driver proves itself to others.
type Credential struct {
	// Key of the value, as `kqueen provisioner credentials set` takes it.
	Key string
	// Description is one sentence for users.
	Description string
	// Optional says that the driver can do without.
	Optional bool
	// Unless is the key of what takes its place: where that is set, the driver does without. Empty for nothing.
	Unless string
}

// Credentials are the values of a Provisioner's credentials by their keys. Printing them shows the keys alone.
type Credentials map[string][]byte

// String names the keys.
func (c Credentials) String() string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return "credentials(" + strings.Join(keys, ", ") + ")"
}

// GoString is String.
func (c Credentials) GoString() string { return c.String() }

// MarshalJSON writes no value, so that none gets into a log or an object by accident.
func (c Credentials) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%q", c.String()), nil }

// CheckCredentials says which key is missing, as an *invalid.Error. It is pure, and repeats no value.
func CheckCredentials(wanted []Credential, have Credentials) error {
	for _, w := range wanted {
		if !w.Optional && len(have[w.Key]) == 0 && len(have[w.Unless]) == 0 {
			return invalid.New("credentials."+w.Key, "is not set: %s", strings.TrimSuffix(w.Description, "."))
		}
	}
	return nil
}
