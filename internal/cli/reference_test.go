//go:build linux

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/manual"
)

// TestReference: docs/reference/cli has a page for each command, which says what its help says. Bless a change with:
// go test ./internal/cli -run TestReference -update.
func TestReference(t *testing.T) {
	const folder = "../../docs/reference/cli"
	want := manual.Pages(newRoot(connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})))
	if *update {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, page := range want {
		path := filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(page, string(have)); diff != "" {
			t.Errorf("docs/reference/cli/%s is out of date; run: make generate (-want +have):\n%s", name, diff)
		}
	}
	have, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range have {
		if _, ok := want[entry.Name()]; !ok {
			t.Errorf("docs/reference/cli/%s is the page of no command; remove it", entry.Name())
		}
	}
}
