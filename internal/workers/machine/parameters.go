package machine

import (
	"encoding/json"
	"maps"
	"slices"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// NoParameters returns an [*invalid.Error] when a machine has parameters, for a provider whose schema has none.
func NoParameters(provider string, parameters json.RawMessage) error {
	const field = "spec.template.parameters"
	if len(parameters) == 0 {
		return nil
	}
	var all map[string]any
	if err := json.Unmarshal(parameters, &all); err != nil {
		return invalid.New(field, "is not an object: %v", err)
	}
	if unknown := slices.Sorted(maps.Keys(all)); len(unknown) > 0 {
		return invalid.New(field+"."+unknown[0], "is not known; provider %s takes no parameters", provider)
	}
	return nil
}
