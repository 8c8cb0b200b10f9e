// Package objects serves the kinds of objects of the admin plane over the REST API, from the table beside the wire types: lists
// and watches, in one organization and over all of the caller's, objects one by one, and what is told of them, such as
// events, the work that goes on, and quotas. Lists are read from a cache once the API server has said that the caller may;
// everything else is done as the caller on the admin plane itself. It hides how objects become wire types and back, what
// cursors are, and how schemas are made of definitions.
package objects

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

// Config is what the operations stand on.
type Config struct {
	// Callers makes each call as the caller that its context names; Own asks as KQueen, and follows what callers see over
	// several organizations.
	Callers, Own client.WithWatch
	// Cache is what lists are read from; see [Kinds].
	Cache   client.Reader
	Rights  *rights.Rights
	Streams *chain.Streams
	Limits  *organization.Limits
	// Key signs cursors; 32 bytes.
	Key []byte
}

// Register adds the operations to an API.
func Register(api huma.API, c Config) error {
	// The schemas of objects are made from the definitions and have to be there before the operations that name them.
	registry := api.OpenAPI().Components.Schemas
	registry.Schema(reflect.TypeFor[rest.Object](), true, "")
	registry.Schema(reflect.TypeFor[rest.Input](), true, "")
	known, err := newSchemas(registry)
	if err != nil {
		return fmt.Errorf("make the document: %w", err)
	}
	places, sends := cursors{c.Key}, feed{c.Streams}
	for _, k := range kinds() {
		collection{
			kind: k, schemas: known, callers: c.Callers, own: c.Own, cache: c.Cache, rights: c.Rights, cursors: places, feed: sends,
		}.register(api)
	}
	(&quotas{c.Limits, c.Rights}).register(api)
	(&events{c.Callers, c.Rights, places, sends}).register(api)
	(&operations{c.Cache, c.Rights, places}).register(api)
	return nil
}

// register adds the operations of one kind.
func (c collection) register(api huma.API) {
	huma.Register(api, c.operation(http.MethodGet, "", "list"+c.PluralName(), "List "+c.Plural, watches(listening(c.watchObjects))), c.listObjects)
	huma.Register(api, c.operation(http.MethodGet, c.Parameter(), "get"+c.Name, "Get "+oneOf(c.Parameter())), c.getObject)
	if c.Can(rest.VerbCreate) {
		o := c.operation(http.MethodPost, "", "create"+c.Name, "Create "+oneOf(c.Parameter()), chain.Recorded("create"), chain.Keyed(chain.Replayed))
		o.DefaultStatus = http.StatusCreated
		o.RequestBody = c.body("application/json", c.Name+"Input")
		huma.Register(api, o, c.createObject)
	}
	if c.Can(rest.VerbUpdate) {
		o := c.operation(http.MethodPatch, c.Parameter(), "update"+c.Name, "Change "+oneOf(c.Parameter()), chain.Recorded("update"))
		o.RequestBody = c.body("application/merge-patch+json", c.Name+"Change")
		huma.Register(api, o, c.patchObject)
		// Afterwards: of several schemas huma would check bodies by any one. That of a change takes every object that can be applied.
		o.RequestBody.Content[rest.MediaApply] = &huma.MediaType{Schema: c.schemas.ref(c.Name + "Apply")}
		o = c.operation(http.MethodPut, c.Parameter(), "replace"+c.Name, "Replace all that you may say of "+oneOf(c.Parameter()), chain.Recorded("update"))
		o.RequestBody = c.body("application/json", c.Name+"Change")
		huma.Register(api, o, c.replaceObject)
	}
	if c.Can(rest.VerbDelete) {
		o := c.operation(http.MethodDelete, c.Parameter(), "delete"+c.Name, "Delete "+oneOf(c.Parameter()), chain.Recorded("delete"))
		o.DefaultStatus = http.StatusAccepted
		huma.Register(api, o, c.deleteObject)
	}
	if c.InOrganization() {
		c.registerEverywhere(api)
	}
	if c.Name == "Cluster" {
		summaries{c}.register(api)
	}
	c.document(api)
}

// operation describes one operation of the collection, or, with a parameter, of one object in it.
func (c collection) operation(method, parameter, id, summary string, options ...func(*huma.Operation)) huma.Operation {
	path := c.path()
	if parameter != "" {
		path += "/{" + parameter + "}"
	}
	o := chain.Operation(method, path, id, summary, c.PluralName(), options...)
	o.Parameters = append(pathParameters(path), o.Parameters...)
	o.Middlewares = append(o.Middlewares, c.about)
	return o
}

// about says for the audit log what kind of thing the request is about.
func (c collection) about(ctx huma.Context, next func(huma.Context)) {
	chain.Of(ctx.Context()).Object.Kind = c.Name
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
func (c collection) document(api huma.API) {
	paths, at := api.OpenAPI().Paths, rest.Prefix+c.path()
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

// oneOf is an object of a kind in a sentence, such as "an upgrade".
func oneOf(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}
