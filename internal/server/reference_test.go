package server

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

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
		OperationID: "putThing", Method: http.MethodPut, Summary: "Put a thing", Tags: []string{"Things"}, Metadata: map[string]any{metaAction: "update"},
		RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeArray, Items: thing}}}},
		Responses:   map[string]*huma.Response{"204": {Description: "No Content"}},
	}
	public(put)
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

// TestServedReference: the page has every operation and schema of the document, leads nowhere else, and needs nobody to
// be signed in.
func TestServedReference(t *testing.T) {
	h := newHouse(t)
	a := h.do(t.Context(), t, "", "GET", "/docs", "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	page := string(a.body)
	policy := a.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "//") {
		t.Errorf("the policy is %q", policy)
	}
	for path, item := range h.door.OpenAPI().Paths {
		for _, o := range operationsOf(item) {
			if !strings.Contains(page, `<section id="`+o.OperationID+`">`) || !strings.Contains(page, "<code>"+path+"</code>") {
				t.Errorf("%s %s (%s) is not in the page", o.Method, path, o.OperationID)
			}
		}
	}
	served := map[string]bool{}
	for _, attribute := range []string{` href="`, ` src="`, ` action="`, `url(`, `@import`} {
		for _, part := range strings.Split(page+string(referenceStyle), attribute)[1:] {
			target, _, _ := strings.Cut(part, `"`)
			name, here := strings.CutPrefix(target, "#")
			switch {
			case here && !strings.Contains(page, ` id="`+name+`"`):
				t.Errorf("%s leads to nothing", target)
			case !here && (!strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//")):
				t.Errorf("the page takes %q from elsewhere", target)
			case !here:
				served[target] = true
			}
		}
	}
	for _, bad := range []string{"<script", "<iframe", "<img", "style=\"", "onclick"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if !served["/docs/style.css"] || !served["/openapi.json"] {
		t.Errorf("the page names %v", served)
	}
	for target := range served {
		if a := h.do(t.Context(), t, "", "GET", target, ""); a.status != http.StatusOK {
			t.Errorf("%s: %d", target, a.status)
		}
	}
	if a := h.do(t.Context(), t, "", "POST", "/docs", "x"); a.status < http.StatusBadRequest {
		t.Errorf("POST /docs: %d", a.status)
	}
}
