package objects

import (
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/body"
	"kqueen.io/kqueen/internal/server/problem"
)

type listInput struct {
	Query
	Watch       bool   `query:"watch" doc:"Answer with server-sent events: what is there, and from then on what changes."`
	FromNow     bool   `query:"fromNow" doc:"With watch: leave out what is there already."`
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"With watch: the revision to go on from."`
}

type getInput struct {
	IfNoneMatch string `header:"If-None-Match" maxLength:"256" doc:"The ETag that you have; 304 when it is still that."`
}

type createInput struct {
	DryRun  bool `query:"dryRun" doc:"Check, and answer what would be; create nothing."`
	RawBody []byte
}

type patchInput struct {
	ContentType  string `header:"Content-Type" maxLength:"256" doc:"application/merge-patch+json, or application/apply-patch+json for server-side apply."`
	IfMatch      string `header:"If-Match" maxLength:"256" doc:"For a merge patch: the ETag of what you have read, or * for whatever is there."`
	DryRun       bool   `query:"dryRun" doc:"Check, and answer what would be; change nothing."`
	FieldManager string `query:"fieldManager" maxLength:"128" doc:"For server-side apply: who manages the fields; kqueen-api when it is empty."`
	Force        bool   `query:"force" doc:"For server-side apply: take over fields that other managers have set."`
	RawBody      []byte `contentType:"application/merge-patch+json"`
}

type replaceInput struct {
	IfMatch string `header:"If-Match" maxLength:"256" doc:"The ETag of what you have read, or * for whatever is there."`
	DryRun  bool   `query:"dryRun" doc:"Check, and answer what would be; change nothing."`
	RawBody []byte
}

type deleteInput struct {
	IfMatch string `header:"If-Match" maxLength:"256" doc:"The ETag of what you have read, or * for whatever is there."`
	DryRun  bool   `query:"dryRun" doc:"Check whether it may be deleted; delete nothing."`
}

type deleteOutput struct{ Status int }

// schemas say what is valid of each kind. They are part of the document and checked for every request.
type schemas struct{ registry huma.Registry }

// newSchemas puts the schemas of all kinds into the document: Cluster is what is answered, ClusterInput what a new
// one is made from, ClusterChange what it may be changed to.
func newSchemas(registry huma.Registry) (*schemas, error) {
	known, err := definitions()
	if err != nil {
		return nil, err
	}
	s := &schemas{registry}
	for _, k := range kinds() {
		crd := known[k.Name]
		if crd == nil {
			return nil, fmt.Errorf("kind %s: it has no schema", k.Name)
		}
		answer := registry.Map()["Object"]
		if answer == nil {
			return nil, fmt.Errorf("kind %s: the document has no schema of objects", k.Name)
		}
		whole := *answer
		whole.Description, whole.Properties = k.About, maps.Clone(answer.Properties)
		input := &huma.Schema{
			Type: huma.TypeObject, Description: k.About, AdditionalProperties: false, Required: []string{"name"},
			Properties: maps.Clone(s.registry.Map()["Input"].Properties),
		}
		for _, part := range []string{"spec", "status"} {
			definition, ok := crd.Properties[part]
			if !ok {
				continue
			}
			converted, err := fromCRD(&definition)
			if err != nil {
				return nil, fmt.Errorf("kind %s: %w", k.Name, err)
			}
			name := k.Name + map[string]string{"spec": "Spec", "status": "Status"}[part]
			registry.Map()[name] = converted
			whole.Properties[part] = s.ref(name)
			if part == "spec" {
				input.Properties[part] = s.ref(name)
				if len(converted.Required) > 0 {
					input.Required = []string{"name", "spec"}
				}
			}
		}
		change := *input
		change.Properties = maps.Clone(input.Properties)
		delete(change.Properties, "name")
		change.Required = nil
		applied := change
		applied.Properties = maps.Clone(change.Properties)
		if spec := registry.Map()[k.Name+"Spec"]; spec != nil {
			applied.Properties["spec"] = partial(spec)
		}
		for name, schema := range map[string]*huma.Schema{k.Name: &whole, k.Name + "Input": input, k.Name + "Change": &change, k.Name + "Apply": &applied} {
			schema.PrecomputeMessages()
			registry.Map()[name] = schema
		}
	}
	return s, nil
}

func (s *schemas) ref(name string) *huma.Schema {
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// input reads what a caller says of a new object.
func (s *schemas) input(k kind, data []byte) (rest.Input, error) { return s.read(k.Name+"Input", data) }

// change reads what an object is to be, name and all.
func (s *schemas) change(k kind, data []byte) (rest.Input, error) {
	return s.read(k.Name+"Change", data)
}

func (s *schemas) read(schema string, data []byte) (rest.Input, error) {
	var in rest.Input
	var value any
	if err := body.Unmarshal(data, &value); err != nil {
		return in, unread(err)
	}
	result := &huma.ValidateResult{}
	huma.Validate(s.registry, s.ref(schema), huma.NewPathBuffer([]byte("body"), 4), huma.ModeWriteToServer, value, result)
	if len(result.Errors) > 0 {
		return in, problem.Invalid(result.Errors)
	}
	if err := body.Unmarshal(data, &in); err != nil {
		return in, unread(err)
	}
	return in, nil
}

// unread says why a body cannot be read.
func unread(err error) *problem.Problem {
	what := "the body is not JSON"
	if _, twice := errors.AsType[*body.DuplicateError](err); twice {
		what = "the body is not clear"
	}
	return problem.New(http.StatusBadRequest, rest.CodeInvalid, what, rest.FieldError{Detail: err.Error()})
}
