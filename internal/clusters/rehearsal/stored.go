package rehearsal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

const (
	// maxName is how much of a name that was stored is kept; Kubernetes allows 253 for each part.
	maxName = 253
	// maxObjects is how many stored objects are looked at: their names are held in memory.
	maxObjects = 500_000
)

// protobufPrefix begins values that Kubernetes stores as protobuf, and encryptedPrefix those that it has encrypted: KQueen has it encrypt
// Secrets alone. Sources: k8s.io/apimachinery/pkg/runtime/serializer/protobuf and k8s.io/apiserver/pkg/storage/value.
var (
	protobufPrefix  = []byte("k8s\x00")
	encryptedPrefix = []byte("k8s:enc:")
)

// name is that of an object; Namespace is empty for one that is in none.
type name struct{ Namespace, Name string }

func (n name) String() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

// object is one that is stored: the version of its group in which it is, and the end of its key, "NAMESPACE/NAME" or "…/NAME".
type object struct{ version, tail string }

// inventory is what is stored, by kind.
type inventory map[schema.GroupKind][]object

// unread is the kind of values whose kind cannot be told.
var unread = schema.GroupKind{Kind: "unknown"}

// take reads what is stored in a keyspace. A value that is damaged is of the kind [unread].
func take(entries iter.Seq2[datastore.Entry, error]) (inventory, error) {
	all, n := inventory{}, 0
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if n++; n > maxObjects {
			return nil, fmt.Errorf("the cluster stores more than %d objects, which is more than a rehearsal looks at", maxObjects)
		}
		kind := kindOf(e)
		all[kind.GroupKind()] = append(all[kind.GroupKind()], object{kind.Version, tailOf(e.Key)})
	}
	return all, nil
}

// kindOf tells of which kind and version a stored value is, without knowing its type. It is pure.
func kindOf(e datastore.Entry) schema.GroupVersionKind {
	var meta runtime.TypeMeta
	switch {
	case bytes.HasPrefix(e.Value, protobufPrefix):
		var unknown runtime.Unknown
		if unknown.Unmarshal(e.Value[len(protobufPrefix):]) == nil {
			meta = unknown.TypeMeta
		}
	case bytes.HasPrefix(e.Value, encryptedPrefix):
		if strings.HasPrefix(e.Key, "secrets/") {
			meta = runtime.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		}
	default:
		if json.Unmarshal(e.Value, &meta) != nil {
			meta = runtime.TypeMeta{}
		}
	}
	version, err := schema.ParseGroupVersion(listing.Clean(meta.APIVersion, maxName))
	if err != nil || version.Version == "" || meta.Kind == "" {
		return unread.WithVersion("")
	}
	return version.WithKind(listing.Clean(meta.Kind, maxName))
}

// tailOf is the end of a key that names an object: API servers end keys in the namespace and the name. It is pure.
func tailOf(key string) string {
	parts := strings.Split(key, "/")
	return listing.Clean(strings.Join(parts[max(0, len(parts)-2):], "/"), 2*maxName)
}

// named reads a tail as the name of an object of a kind that has namespaces, or has none. It is pure.
func named(tail string, namespaced bool) name {
	before, last, _ := strings.Cut(tail, "/")
	if namespaced {
		return name{before, last}
	}
	return name{Name: last}
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
