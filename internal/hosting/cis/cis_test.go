package cis

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the page anew")

// TestPage: docs/development/cis.md says what the table does. Bless a change with: go test ./internal/hosting/cis -update.
func TestPage(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "development", "cis.md")
	if *update {
		if err := os.WriteFile(path, []byte(Page()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Page(), string(page)); diff != "" {
		t.Errorf("docs/development/cis.md (-want +got):\n%s", diff)
	}
}

// TestTable: every item is looked at or has a reason, once.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range slices.Concat(Items(), NodeItems()) {
		if seen[i.Number] || i.Title == "" || i.Holds == nil && i.Reason == "" {
			t.Errorf("item %s is there twice, has no title, or neither a check nor a reason", i.Number)
		}
		seen[i.Number] = true
	}
	if len(seen) != 72+25 {
		t.Errorf("the tables have %d items, want those of sections 1 to 4", len(seen))
	}
}

// TestReasonsAreUpToDate: an item that is met needs no reason why it is not.
func TestReasonsAreUpToDate(t *testing.T) {
	pulled := Found{Programs: map[string]Program{apiServer: {Args: []string{"--enable-admission-plugins=AlwaysPullImages"}}}}
	for _, r := range Check(pulled) {
		if r.Number == "1.2.11" && r.Problem == nil {
			t.Error("AlwaysPullImages is there, and so is the reason why it is not")
		}
	}
}
