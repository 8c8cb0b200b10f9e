// Command generate writes the reference part of the pages in docs/reference/kinds from
// the custom resource definitions and from the constants beside the Go types.
//
// What stands in a page above the marker is written by hand and stays; what
// stands between the markers is written here. It hides how a schema becomes a
// table. Nothing imports it; "make generate" runs it, and its test fails when
// a page, a definition or a deep copy is not what the Go types say.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

func main() {
	var from sources
	flag.StringVar(&from.crds, "crds", "api/crds", "folder of the custom resource definitions")
	flag.StringVar(&from.types, "types", "api/v1alpha1", "folder of the Go types")
	out := flag.String("out", "docs/reference/kinds", "folder of the pages")
	flag.Parse()
	if err := write(from, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// sources is where the pages are made from.
type sources struct {
	// crds is the folder of the definitions, one per YAML file.
	crds string
	// types is the folder of the Go package that the definitions were generated from.
	types string
}

// write writes the generated part of every page in the folder out.
func write(from sources, out string) error {
	parts, err := generate(from)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(parts) {
		path := filepath.Join(out, name)
		have, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return fmt.Errorf("%s is missing; write what is above the line %q by hand first", path, beginMarker)
		}
		if err != nil {
			return fmt.Errorf("read page: %w", err)
		}
		page, err := splice(string(have), parts[name])
		if err != nil {
			return fmt.Errorf("page %s: %w", path, err)
		}
		if page == string(have) {
			continue
		}
		if err := atomicfile.Write(path, []byte(page), 0o644); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}

// generate returns the generated part of every page by the page's file name.
func generate(from sources) (map[string]string, error) {
	kinds, err := readKinds(from.crds)
	if err != nil {
		return nil, err
	}
	words, err := readWords(from.types, kindNames(kinds))
	if err != nil {
		return nil, err
	}
	parts := map[string]string{indexName: renderIndex(kinds, words[common])}
	for i := range kinds {
		parts[kinds[i].page()] = renderKind(&kinds[i], words[kinds[i].name()])
	}
	return parts, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
