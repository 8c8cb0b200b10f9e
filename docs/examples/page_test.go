package examples_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the code into the page")

const page = "../development/drivers.md"

// block is a file of an example on the page.
var block = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```go\n(.*?)```\n")

// TestPage: the code on the page is that of the examples, whose tests run the contract suites.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := block.FindAllSubmatch(text, -1)
	if len(blocks) < 5 {
		t.Errorf("the page has %d files, want at least 5", len(blocks))
	}
	for _, b := range blocks {
		code, err := os.ReadFile(filepath.Join("..", string(b[1])))
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(string(code), string(b[2])); diff != "" && !*update {
			t.Errorf("%s is not what the page shows; run: go test ./docs/examples -update\n%s", b[1], diff)
		}
	}
	if !*update {
		return
	}
	written := block.ReplaceAllFunc(text, func(b []byte) []byte {
		file := string(block.FindSubmatch(b)[1])
		code, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		return []byte("<!-- file: " + file + " -->\n```go\n" + string(code) + "```\n")
	})
	if err := os.WriteFile(page, written, 0o644); err != nil {
		t.Fatal(err)
	}
}
