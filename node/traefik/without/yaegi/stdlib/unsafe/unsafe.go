// Package unsafe has no symbols.
package unsafe

import "reflect"

// Symbols by package and name.
var Symbols map[string]map[string]reflect.Value
