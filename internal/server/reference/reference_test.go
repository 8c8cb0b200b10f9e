package reference

import (
	"flag"
	"net/http"
	"os"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/internal/server/chain"
)

var update = flag.Bool("update", false, "write what is rendered into testdata")

// smallDocument has one of each thing that a page shows, and text that is not to become part of the page.
func smallDocument() *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	inner := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
		"size":  {Type: huma.TypeInteger, Minimum: ptr.To(1.0), Maximum: ptr.To(9.0), Default: 3},
		"names": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"first": {Type: huma.TypeString}}}},
	}}
	schemas.Map()["Thing"] = &huma.Schema{
		Type: huma.TypeObject, Description: "A <script>thing</script>.", Required: []string{"name"},
		Properties: map[string]*huma.Schema{
			"name": {Type: huma.TypeString, MaxLength: ptr.To(5), Pattern: "^[a-z]+$", Description: "What it is called."}, "inner": inner,
			"labels": {Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString}},
			"port":   {OneOf: []*huma.Schema{{Type: huma.TypeInteger}, {Type: huma.TypeString}}},
		},
	}
	thing := &huma.Schema{Ref: "#/components/schemas/Thing"}
	get := &huma.Operation{
		OperationID: "getThing", Method: http.MethodGet, Summary: "Get a thing", Tags: []string{"Things"},
		Parameters: []*huma.Param{
			{Name: "thing", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}},
			{Name: "color", In: "query", Description: "Which one.", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"red", "blue"}}},
		},
		Responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: thing}}}, "404": {Description: "Not Found"},
		},
	}
	put := &huma.Operation{
		OperationID: "putThing", Method: http.MethodPut, Summary: "Put a thing", Tags: []string{"Things"},
		RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeArray, Items: thing}}}},
		Responses:   map[string]*huma.Response{"204": {Description: "No Content"}},
	}
	chain.Public(put)
	chain.Recorded("update")(put)
	return &huma.OpenAPI{
		Info: &huma.Info{Title: "Small", Version: "v1", Description: `A "small" & simple one.`}, Components: &huma.Components{Schemas: schemas},
		Paths: map[string]*huma.PathItem{"/things/{thing}": {Get: get, Put: put}},
	}
}

func TestReference(t *testing.T) {
	const golden = "testdata/reference.html"
	page, err := reference(smallDocument())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(page)); diff != "" {
		t.Errorf("the page has changed (-want +got); -update writes it\n%s", diff)
	}
}
