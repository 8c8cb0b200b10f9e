package server

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOpenAPIOfPortal: the types of the portal are generated from this document, so that what it asks and what is answered cannot differ.
func TestOpenAPIOfPortal(t *testing.T) {
	path := filepath.Join("..", "..", "web", "openapi.json")
	document, err := json.Marshal(newFixture(t).api.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, document, "", " "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the API has changed: go test ./internal/server -run TestOpenAPIOfPortal -update (-want +got)\n%s", diff)
	}
}
