package collector

import (
	"maps"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// How long texts of a cluster may be, in bytes, and how many of them an object may have. Kubernetes itself allows no more in names,
// keys and values; a hostile API server does. PostgreSQL refuses bytes that no text has.
const (
	maxName    = 253
	maxUID     = 64
	maxImage   = 512
	maxWord    = 128
	maxMessage = 256
	maxLabel   = 63
	maxMap     = 64
	maxList    = 128
)

// cleanMap returns labels as the store takes them: the first of them in the order of their names. It is nil for none.
func cleanMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(m))
	out := make(map[string]string, min(len(keys), maxMap))
	for _, key := range keys[:min(len(keys), maxMap)] {
		out[listing.Clean(key, maxName+1+maxLabel)] = listing.Clean(m[key], maxLabel)
	}
	return out
}

// cleanSet returns words once each, sorted and without empty ones. It is nil for none.
func cleanSet(all []string) []string {
	var out []string
	for _, one := range all[:min(len(all), maxList)] {
		if one = listing.Clean(one, maxName); one != "" {
			out = append(out, one)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lastPart is what stands after the last slash.
func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
