// Package stored tells what the objects are that an API server has stored, without knowing their types: by the mark that Kubernetes gives to
// each value, and by its key.
//
// It hides how API servers name keys and wrap values. What is stored is not trusted: what it says of itself is in one line and cut. Restores
// that bring back some objects import it, rehearsals, and rollbacks.
package stored

import (
	"bytes"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// maxName is how much of a name is kept; Kubernetes allows 253 for each part.
const maxName = 253

// protobufPrefix begins values that Kubernetes stores as protobuf, and encryptedPrefix those that it has encrypted: KQueen has it encrypt
// Secrets alone. Sources: k8s.io/apimachinery/pkg/runtime/serializer/protobuf and k8s.io/apiserver/pkg/storage/value.
var (
	protobufPrefix  = []byte("k8s\x00")
	encryptedPrefix = []byte("k8s:enc:")
)

// KindOf tells of which kind and version a stored value is; the zero value where that cannot be read. It is pure.
func KindOf(e datastore.Entry) schema.GroupVersionKind {
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
		return schema.GroupVersionKind{}
	}
	return version.WithKind(listing.Clean(meta.Kind, maxName))
}

// Name is that of an object; Namespace is empty for one that is in none.
type Name struct{ Namespace, Name string }

func (n Name) String() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

// NameOf reads the name of an object in its key, which is [GROUP/]RESOURCE/[NAMESPACE/]NAME: only custom resources and those of the API's
// own extensions have a group before them, which has a dot, and what belongs to Services has one word more. It is pure.
func NameOf(key string) Name {
	parts := strings.Split(key, "/")
	switch {
	case len(parts) > 1 && (strings.Contains(parts[0], ".") || parts[0] == "services"):
		parts = parts[2:]
	default:
		parts = parts[1:]
	}
	switch len(parts) {
	case 0:
		return Name{Name: listing.Clean(key, maxName)}
	case 1:
		return Name{Name: listing.Clean(parts[0], maxName)}
	}
	return Name{listing.Clean(parts[0], maxName), listing.Clean(strings.Join(parts[1:], "/"), maxName)}
}
