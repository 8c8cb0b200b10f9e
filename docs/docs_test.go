package docs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/docs"
)

func TestOrder(t *testing.T) {
	all := map[string]string{
		"docs/README.md":       "[b](guides/b.md) and [again](guides/b.md#part), [kinds](kinds/README.md), [a](guides/a.md), [x](https://example.com/x.md), [top](../CHANGELOG.md)",
		"docs/guides/a.md":     "[c](c.md)",
		"docs/guides/b.md":     "",
		"docs/guides/c.md":     "",
		"docs/kinds/README.md": "[k](k.md) [gone](gone.md) [back](../README.md)",
		"docs/kinds/k.md":      "",
	}
	want := []string{"docs/README.md", "docs/guides/b.md", "docs/kinds/README.md", "docs/kinds/k.md", "docs/guides/a.md"}
	if diff := cmp.Diff(want, docs.Order(all, "docs/README.md")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
