// Package stdlib has no symbols.
package stdlib

import "reflect"

// Symbols by package and name.
var Symbols map[string]map[string]reflect.Value
