package server

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
)

// routes registers everything that there is.
func (s *Server) routes() error {
	// The schemas of objects are made from the CRDs and have to be there before the operations that name them.
	registry := s.api.OpenAPI().Components.Schemas
	schemaOf[rest.Object](registry)
	schemaOf[rest.Input](registry)
	known, err := newSchemas(registry)
	if err != nil {
		return fmt.Errorf("make the document: %w", err)
	}
	for _, k := range kinds() {
		collection{s, k, known}.register()
	}
	s.registerSignIn()
	s.registerFlows()
	s.registerProviders()
	s.registerMe()
	s.registerUsers()
	s.registerServiceAccounts()
	s.registerAudit()
	s.registerExports()
	s.registerOrganization()
	s.registerMembers()
	s.registerCredentials()
	s.registerEvents()
	s.registerOperations()
	s.registerClusterAccess()
	s.registerJoin()
	s.documentProblems()
	return nil
}

// register adds the operations of one kind.
func (c collection) register() {
	huma.Register(c.api, c.operation(http.MethodGet, "", "list"+c.PluralName(), "List "+c.Plural, watches(listening(c.watchObjects))), c.listObjects)
	huma.Register(c.api, c.operation(http.MethodGet, c.Parameter(), "get"+c.Name, "Get a "+c.Parameter()), c.getObject)
	if c.Can(rest.VerbCreate) {
		o := c.operation(http.MethodPost, "", "create"+c.Name, "Create a "+c.Parameter(), recorded("create"))
		o.DefaultStatus = http.StatusCreated
		o.RequestBody = c.body("application/json", c.Name+"Input")
		huma.Register(c.api, o, c.createObject)
	}
	if c.Can(rest.VerbUpdate) {
		o := c.operation(http.MethodPatch, c.Parameter(), "update"+c.Name, "Change a "+c.Parameter(), recorded("update"))
		o.RequestBody = c.body("application/merge-patch+json", c.Name+"Change")
		huma.Register(c.api, o, c.patchObject)
		o = c.operation(http.MethodPut, c.Parameter(), "replace"+c.Name, "Replace all that you may say of a "+c.Parameter(), recorded("update"))
		o.RequestBody = c.body("application/json", c.Name+"Change")
		huma.Register(c.api, o, c.replaceObject)
	}
	if c.Can(rest.VerbDelete) {
		o := c.operation(http.MethodDelete, c.Parameter(), "delete"+c.Name, "Delete a "+c.Parameter(), recorded("delete"))
		o.DefaultStatus = http.StatusAccepted
		huma.Register(c.api, o, c.deleteObject)
	}
	if c.InOrganization() {
		c.registerEverywhere()
	}
	c.document()
}

// operation describes one operation of the collection, or, with a parameter, of one object in it.
func (c collection) operation(method, parameter, id, summary string, options ...func(*huma.Operation)) huma.Operation {
	path := c.path()
	if parameter != "" {
		path += "/{" + parameter + "}"
	}
	o := operation(method, path, id, summary, c.PluralName(), options...)
	o.Parameters = pathParameters(path)
	o.Middlewares = append(o.Middlewares, c.about)
	return o
}

// about says for the action log what kind of thing the request is about.
func (c collection) about(ctx huma.Context, next func(huma.Context)) {
	requestOf(ctx.Context()).object.kind = c.Name
	next(ctx)
}

// pathParameters documents the parameters of a path, which handlers read from the request.
func pathParameters(path string) []*huma.Param {
	var all []*huma.Param
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			all = append(all, &huma.Param{
				Name: strings.TrimSuffix(name, "}"), In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
			})
		}
	}
	return all
}

func (c collection) body(mediaType, schema string) *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{mediaType: {Schema: c.schemas.ref(schema)}}}
}

// document says in the document what the answers hold.
func (c collection) document() {
	paths, at := c.api.OpenAPI().Paths, rest.Prefix+c.path()
	answers := func(o *huma.Operation, schema *huma.Schema) {
		if o == nil {
			return
		}
		for status, response := range o.Responses {
			if media := response.Content["application/json"]; media != nil && strings.HasPrefix(status, "2") {
				media.Schema = schema
			}
		}
	}
	name := c.Name + "List"
	list := *c.schemas.registry.Map()["List"]
	list.Properties = map[string]*huma.Schema{
		"items":  {Type: huma.TypeArray, Items: c.schemas.ref(c.Name)},
		"cursor": list.Properties["cursor"],
	}
	list.PrecomputeMessages()
	c.schemas.registry.Map()[name] = &list
	answers(paths[at].Get, c.schemas.ref(name))
	answers(paths[at].Post, c.schemas.ref(c.Name))
	one := paths[at+"/{"+c.Parameter()+"}"]
	answers(one.Get, c.schemas.ref(c.Name))
	answers(one.Patch, c.schemas.ref(c.Name))
	answers(one.Put, c.schemas.ref(c.Name))
	lists := []*huma.Operation{paths[at].Get}
	if everywhere := paths[rest.Prefix+"/"+c.Plural]; c.InOrganization() {
		answers(everywhere.Get, c.schemas.ref(name))
		lists = append(lists, everywhere.Get)
	}
	for _, o := range lists {
		if ok := o.Responses["200"]; ok != nil {
			ok.Content["text/event-stream"] = eventStream()
		}
	}
}

// documentProblems puts our own problems in the place of huma's.
func (s *Server) documentProblems() {
	schemas := s.api.OpenAPI().Components.Schemas
	ours := schemaOf[rest.Problem](schemas)
	delete(schemas.Map(), "ErrorModel")
	delete(schemas.Map(), "ErrorDetail")
	for _, item := range s.api.OpenAPI().Paths {
		for _, o := range operationsOf(item) {
			for status, response := range o.Responses {
				if media := response.Content["application/problem+json"]; media != nil && !strings.HasPrefix(status, "2") {
					media.Schema = ours
				}
			}
		}
	}
}

// operationsOf returns the operations of a path.
func operationsOf(item *huma.PathItem) []*huma.Operation {
	var all []*huma.Operation
	for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// schemaOf puts the schema of a Go type into the document and returns a reference to it.
func schemaOf[T any](registry huma.Registry) *huma.Schema {
	return registry.Schema(reflect.TypeFor[T](), true, "")
}
