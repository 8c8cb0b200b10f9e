package rehearsal

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// entriesOf are those of a keyspace, in the order of their keys.
func entriesOf(of map[string]string) iter.Seq2[datastore.Entry, error] {
	return func(yield func(datastore.Entry, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if !yield(datastore.Entry{Key: key, Value: []byte(of[key])}, nil) {
				return
			}
		}
	}
}

func TestTake(t *testing.T) {
	got, err := take(entriesOf(map[string]string{
		"pods/shop/web":                   `{"apiVersion":"v1","kind":"Pod"}`,
		"example.com/widgets/shop/a":      `{"apiVersion":"example.com/v1","kind":"Widget","spec":{"n":1}}`,
		"example.com/widgets/shop/b":      `{"apiVersion":"example.com/v1alpha1","kind":"Widget"}`,
		"secrets/shop/key":                "k8s:enc:secretbox:v1:key1:\x00\x01",
		"services/specs/shop/web":         `{"apiVersion":"v1","kind":"Service"}`,
		"minions/n1":                      `{"apiVersion":"v1","kind":"Node"}`,
		"configmaps/shop/damaged":         "k8s\x00\xff\xff\xff",
		"configmaps/shop/encrypted":       "k8s:enc:secretbox:v1:key1:\x00",
		"configmaps/shop/cut":             `{"apiVersion":"v1","ki`,
		"configmaps/shop/none":            "",
		"configmaps/shop/kindless":        `{"apiVersion":"v1"}`,
		"configmaps/shop/versions":        `{"apiVersion":"a/b/c","kind":"X"}`,
		"example.com/widgets/shop/\x1b[2": `{"apiVersion":"example.com/v1","kind":"\u001b]0;"}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, kind := range got.kinds() {
		for _, o := range got[kind] {
			lines = append(lines, kind.String()+" "+o.version+" "+o.name.String())
		}
	}
	want := []string{
		"  shop/cut", "  shop/damaged", "  shop/encrypted", "  shop/kindless", "  shop/none", "  shop/versions",
		"Node v1 n1", "Pod v1 shop/web", "Secret v1 shop/key", "Service v1 shop/web",
		"Widget.example.com v1 shop/a", "Widget.example.com v1alpha1 shop/b",
		listing.Clean("\x1b]0;", maxName) + ".example.com v1 shop/" + listing.Clean("\x1b[2", maxName),
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTakeFails(t *testing.T) {
	broken := errors.New("no answer")
	if _, err := take(func(yield func(datastore.Entry, error) bool) { yield(datastore.Entry{}, broken) }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := take(func(yield func(datastore.Entry, error) bool) {
		for range maxObjects + 1 {
			if !yield(datastore.Entry{Key: "x"}, nil) {
				return
			}
		}
	}); err == nil {
		t.Error("got no error for too many objects")
	}
}
