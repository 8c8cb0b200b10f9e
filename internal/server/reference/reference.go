// Package reference renders the document of the REST API for readers: pages of operations and schemas that need no script and
// nothing of another host. It is pure but for the handler that serves what is made once.
package reference

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

//go:embed page.html
var referencePage string

// Path is where the reference is, among the pages of the documentation.
const Path = "/docs/reference/operations"

// policy lets browsers take the style of the documentation, and nothing else from anywhere.
const policy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Serve answers with a page of the documentation, or with its style.
func Serve(w http.ResponseWriter, kind string, data []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", policy)
	_, _ = w.Write(data)
}

// Register serves the reference of a document, which is whole by now. The page is made when the first reader asks.
func Register(mux *http.ServeMux, api *huma.OpenAPI) {
	made := sync.OnceValues(func() ([]byte, error) { return reference(api) })
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) {
		page, err := made()
		if err != nil {
			chain.WriteProblem(w, r, problem.Of(err))
			return
		}
		Serve(w, "text/html; charset=utf-8", page)
	})
}

type referenceDocument struct {
	Title, Version, Description string
	Tags                        []referenceTag
	Schemas                     []referenceSchema
}

type referenceTag struct {
	Name       string
	Operations []referenceOperation
}

type referenceOperation struct {
	ID, Method, Path, Summary, Action string
	Public                            bool
	Parameters                        []referenceField
	Bodies                            []referenceBody
	Answers                           []referenceAnswer
}

// referenceField is a parameter, or a field of a schema.
type referenceField struct {
	Name, In, Description string
	Required              bool
	Type                  referenceType
}

type referenceBody struct {
	Media string
	Type  referenceType
}

type referenceAnswer struct {
	Status, Description string
	Bodies              []referenceBody
}

type referenceSchema struct {
	Name, Description string
	Type              referenceType
	Fields            []referenceField
}

// reference renders a document for readers: pages of operations by their tags, and the schemas. It is pure.
func reference(api *huma.OpenAPI) ([]byte, error) {
	t, err := template.New("reference").Parse(referencePage)
	if err != nil {
		return nil, fmt.Errorf("read the page of the document: %w", err)
	}
	document := referenceDocument{Title: api.Info.Title, Version: api.Info.Version, Description: api.Info.Description, Tags: referenceTags(api)}
	schemas := api.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		schema := schemas[name]
		document.Schemas = append(document.Schemas, referenceSchema{
			Name: name, Description: schema.Description, Type: typeOf(schema), Fields: fieldsOf(schema, "", 0),
		})
	}
	var out bytes.Buffer
	if err := t.Execute(&out, document); err != nil {
		return nil, fmt.Errorf("write the page of the document: %w", err)
	}
	return out.Bytes(), nil
}

func referenceTags(api *huma.OpenAPI) []referenceTag {
	byTag := map[string][]referenceOperation{}
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		for _, o := range chain.OperationsOf(api.Paths[path]) {
			tag := "Others"
			if len(o.Tags) > 0 {
				tag = o.Tags[0]
			}
			byTag[tag] = append(byTag[tag], referenceOf(path, o))
		}
	}
	tags := make([]referenceTag, 0, len(byTag))
	for _, name := range slices.Sorted(maps.Keys(byTag)) {
		tags = append(tags, referenceTag{name, byTag[name]})
	}
	return tags
}

func referenceOf(path string, o *huma.Operation) referenceOperation {
	op := referenceOperation{ID: o.OperationID, Method: o.Method, Path: path, Summary: o.Summary, Public: chain.IsPublic(o)}
	op.Action = chain.ActionOf(o)
	for _, p := range o.Parameters {
		op.Parameters = append(op.Parameters, referenceField{Name: p.Name, In: p.In, Description: p.Description, Required: p.Required, Type: typeOf(p.Schema)})
	}
	slices.SortStableFunc(op.Parameters, func(a, b referenceField) int { return cmp.Compare(a.In, b.In) })
	if o.RequestBody != nil {
		op.Bodies = bodiesOf(o.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		response := o.Responses[status]
		op.Answers = append(op.Answers, referenceAnswer{Status: status, Description: response.Description, Bodies: bodiesOf(response.Content)})
	}
	return op
}

func bodiesOf(content map[string]*huma.MediaType) []referenceBody {
	bodies := make([]referenceBody, 0, len(content))
	for _, media := range slices.Sorted(maps.Keys(content)) {
		bodies = append(bodies, referenceBody{media, typeOf(content[media].Schema)})
	}
	return bodies
}

// anchor is the name of a schema that is referred to.
func anchor(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }
