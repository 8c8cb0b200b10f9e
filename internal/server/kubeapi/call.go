package kubeapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

// call is a request to the Kubernetes API, as far as it is one that callers may make here.
type call struct {
	// Path is the path at the API server, put together from what was read: nothing else of the caller's path goes there.
	Path string
	// Document names what is asked about the API itself, such as discoveryGroups; empty for objects.
	Document document
	// Group is that of a document or resource; the core group has none.
	Group    string
	Verb     string
	Resource resource
	// Namespace, Name and Subresource are empty where the path has none.
	Namespace, Name, Subresource string
}

// document is what a caller asks about the API itself.
type document string

const (
	version       document = "version"
	coreVersions  document = "coreVersions"
	groups        document = "groups"
	group         document = "group"
	resources     document = "resources"
	openAPIIndex  document = "openAPIIndex"
	openAPISchema document = "openAPISchema"
)

// resource is one that callers reach here. What a caller may do with its objects is decided by RBAC.
type resource struct {
	Group, Version, Plural string
	// Kind is what the audit log calls it.
	Kind string
	// Writes are the API verbs beside get, list and watch.
	Writes []string
	// Subresources are those that are reached, too.
	Subresources []string
}

// API verbs of Kubernetes.
const (
	apiVerbGet    = "get"
	apiVerbList   = "list"
	apiVerbWatch  = "watch"
	apiVerbCreate = "create"
	apiVerbUpdate = "update"
	apiVerbPatch  = "patch"
	apiVerbDelete = "delete"
)

// resourcesHere are all resources that callers reach: the kinds that the REST API serves, events, and what a caller asks about
// their own rights. Organizations and identity providers are only read here: some of their changes take a fresh session, which
// the REST API asks for (see chain.RequireFresh).
func resourcesHere() []resource {
	reviews := []string{apiVerbCreate}
	all := []resource{
		{"", "v1", "events", "Event", nil, nil},
		{"events.k8s.io", "v1", "events", "Event", nil, nil},
		{"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "", reviews, nil},
		{"authorization.k8s.io", "v1", "selfsubjectrulesreviews", "", reviews, nil},
		{"authentication.k8s.io", "v1", "selfsubjectreviews", "", reviews, nil},
	}
	for _, k := range rest.Kinds() {
		r := resource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Plural: k.Plural, Kind: k.Name}
		if k.InOrganization() {
			r.Writes = writesOf(k)
		}
		if k.Name == "NodePool" {
			r.Subresources = []string{"scale"}
		}
		all = append(all, r)
	}
	return all
}

// writesOf are the API verbs with which objects of a kind are changed.
func writesOf(k rest.Kind) []string {
	var verbs []string
	if k.Can(rest.VerbCreate) {
		verbs = append(verbs, apiVerbCreate)
	}
	if k.Can(rest.VerbUpdate) {
		verbs = append(verbs, apiVerbUpdate, apiVerbPatch)
	}
	if k.Can(rest.VerbDelete) {
		verbs = append(verbs, apiVerbDelete)
	}
	return verbs
}

// changes says whether a call changes an object: those are in the audit log.
func (c call) changes() bool {
	return c.Resource.Kind != "" && slices.Contains(c.Resource.Writes, c.Verb)
}

// organization is that of the call's namespace; empty where it is in none.
func (c call) organization() string {
	name, ok := v1alpha1.OrganizationOf(c.Namespace)
	if !ok {
		return ""
	}
	return name
}

// read reads a request. Its path is that below the prefix of this package. It is pure; status is that of the refusal of a call
// that callers cannot make here, and 0 for one that they can.
func read(method, path string, query url.Values) (c call, status int) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if slices.ContainsFunc(parts, func(part string) bool { return part == "" || len(content.IsPathSegmentName(part)) > 0 }) {
		return call{}, http.StatusNotFound
	}
	if c, ok := readDocument(parts); ok {
		if method != http.MethodGet && method != http.MethodHead {
			return call{}, http.StatusMethodNotAllowed
		}
		return c, 0
	}
	c, ok := readObject(parts)
	if !ok {
		return call{}, http.StatusNotFound
	}
	c.Verb = apiVerbOf(method, c.Name, query)
	if !c.possible() {
		return call{}, http.StatusMethodNotAllowed
	}
	return c, 0
}

// possible says whether the API verb is one that the resource has here.
func (c call) possible() bool {
	switch c.Verb {
	case apiVerbGet, apiVerbList, apiVerbWatch:
		return !slices.Equal(c.Resource.Writes, []string{apiVerbCreate}) // of what is only created there are no objects
	case apiVerbCreate:
		return c.Subresource == "" && slices.Contains(c.Resource.Writes, apiVerbCreate)
	}
	return slices.Contains(c.Resource.Writes, c.Verb)
}

// fixedDocuments are those whose paths name no group, by path.
func fixedDocuments() map[string]document {
	return map[string]document{"/version": version, "/api": coreVersions, "/apis": groups, "/openapi/v3": openAPIIndex}
}

// readDocument reads the paths at which an API server tells what there is.
func readDocument(parts []string) (call, bool) {
	c := call{Path: "/" + strings.Join(parts, "/"), Verb: apiVerbGet}
	if fixed, ok := fixedDocuments()[c.Path]; ok {
		c.Document = fixed
		return c, true
	}
	switch {
	case len(parts) == 2 && parts[0] == "apis" && hasGroup(parts[1], ""):
		c.Document, c.Group = group, parts[1]
	case len(parts) == 2 && parts[0] == "api" && hasGroup("", parts[1]):
		c.Document = resources
	case len(parts) == 3 && parts[0] == "apis" && hasGroup(parts[1], parts[2]):
		c.Document, c.Group = resources, parts[1]
	case len(parts) == 5 && slices.Equal(parts[:3], []string{"openapi", "v3", "apis"}) && hasGroup(parts[3], parts[4]):
		c.Document, c.Group = openAPISchema, parts[3]
	default:
		return call{}, false
	}
	return c, true
}

// hasGroup says whether some resource of a group, and of a version unless that is empty, is reached here.
func hasGroup(group, version string) bool {
	return slices.ContainsFunc(resourcesHere(), func(r resource) bool {
		return r.Group == group && (version == "" || r.Version == version)
	})
}

// readObject reads the paths of objects.
func readObject(parts []string) (call, bool) {
	c := call{Path: "/" + strings.Join(parts, "/")}
	var groupName, versionName string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		versionName, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		groupName, versionName, parts = parts[1], parts[2], parts[3:]
	default:
		return call{}, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		c.Namespace, parts = parts[1], parts[2:]
	}
	all := resourcesHere()
	found := slices.IndexFunc(all, func(r resource) bool {
		return r.Group == groupName && r.Version == versionName && r.Plural == parts[0]
	})
	if found < 0 || len(parts) > 3 {
		return call{}, false
	}
	c.Resource = all[found]
	if len(parts) > 1 {
		c.Name = parts[1]
	}
	if len(parts) > 2 {
		c.Subresource = parts[2]
		if !slices.Contains(c.Resource.Subresources, c.Subresource) {
			return call{}, false
		}
	}
	return c, true
}

// apiVerbOf is what a request asks for; empty for what has no API verb here, as the deletion of a collection.
func apiVerbOf(method, name string, query url.Values) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		switch {
		case name != "":
			return apiVerbGet
		case watches(query):
			return apiVerbWatch
		}
		return apiVerbList
	case http.MethodPost:
		if name == "" {
			return apiVerbCreate
		}
	case http.MethodPut:
		return apiVerbUpdate
	case http.MethodPatch:
		return apiVerbPatch
	case http.MethodDelete:
		if name != "" {
			return apiVerbDelete
		}
	}
	return ""
}

// watches says what the API server takes for a watch: every value but these two, the empty one, too.
func watches(query url.Values) bool {
	values, ok := query["watch"]
	return ok && values[0] != "0" && !strings.EqualFold(values[0], "false")
}
