// Package syscall has no symbols.
package syscall

import "reflect"

// Symbols by package and name.
var Symbols map[string]map[string]reflect.Value
