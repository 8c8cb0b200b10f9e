package rehearsal

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kqueen.io/kqueen/internal/clusters/stored"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

const (
	// maxName is how much of a name is kept; Kubernetes allows 253.
	maxName = 253
	// maxObjects is how many stored objects are looked at: their names are held in memory.
	maxObjects = 500_000
)

// object is one that is stored, with the version of its group in which it is.
type object struct {
	version string
	name    stored.Name
}

// inventory is what is stored, by kind.
type inventory map[schema.GroupKind][]object

// unread is the kind of values whose kind cannot be told.
var unread schema.GroupKind

// take reads what is stored in a keyspace.
func take(entries iter.Seq2[datastore.Entry, error]) (inventory, error) {
	all, n := inventory{}, 0
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if n++; n > maxObjects {
			return nil, fmt.Errorf("the cluster stores more than %d objects, which is more than a rehearsal looks at", maxObjects)
		}
		kind := stored.KindOf(e)
		all[kind.GroupKind()] = append(all[kind.GroupKind()], object{kind.Version, stored.NameOf(e.Key)})
	}
	return all, nil
}

// kinds are those of an inventory, in order.
func (i inventory) kinds() []schema.GroupKind {
	all := make([]schema.GroupKind, 0, len(i))
	for k := range i {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b schema.GroupKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return all
}
