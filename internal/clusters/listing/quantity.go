package listing

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxQuantity is how long a quantity may be, in bytes, and maxExponent how large its decimal exponent.
	maxQuantity = 63
	maxExponent = 18
)

// Quantity reads an amount of a resource as an API server says it. What is not one counts as none, and so does one with an exponent that
// no API server writes: to read 1e-1000000000, the library computes a thousand million digits.
func Quantity(s string) resource.Quantity {
	if len(s) > maxQuantity {
		return resource.Quantity{}
	}
	// E and Ei are suffixes, for 10^18 and 2^60.
	if at := strings.IndexAny(s, "eE"); at >= 0 && s[at+1:] != "" && s[at+1:] != "i" {
		exponent, err := strconv.Atoi(s[at+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return resource.Quantity{}
		}
	}
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}
