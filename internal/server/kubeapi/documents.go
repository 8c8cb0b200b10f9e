package kubeapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// narrow returns of a document what callers reach here, so that clients that go through all that they discover, as GitOps tools
// do, meet no refusal. Documents that need no narrowing are returned as they are. It is pure.
func narrow(c call, data []byte) ([]byte, error) {
	switch c.Document {
	case coreVersions:
		return change(data, func(v *metav1.APIVersions) { v.ServerAddressByClientCIDRs = []metav1.ServerAddressByClientCIDR{} })
	case groups:
		return change(data, func(l *metav1.APIGroupList) {
			l.Groups = slices.DeleteFunc(l.Groups, func(g metav1.APIGroup) bool { return !hasGroup(g.Name, "") })
			for i := range l.Groups {
				narrowGroup(&l.Groups[i])
			}
		})
	case group:
		return change(data, narrowGroup)
	case resources:
		return change(data, func(l *metav1.APIResourceList) { l.APIResources = narrowResources(c.Group, l.APIResources) })
	case openAPIIndex:
		return change(data, func(index *openAPI) {
			for path := range index.Paths {
				parts := strings.Split(path, "/")
				if len(parts) != 3 || parts[0] != "apis" || !hasGroup(parts[1], parts[2]) {
					delete(index.Paths, path)
				}
			}
		})
	}
	return data, nil
}

// openAPI is the index of the documents of OpenAPI v3, by group and version.
type openAPI struct {
	Paths map[string]json.RawMessage `json:"paths"`
}

func change[T any](data []byte, edit func(*T)) ([]byte, error) {
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("read the API server's answer: %w", err)
	}
	edit(v)
	return json.Marshal(v)
}

// narrowGroup leaves the versions that are reached here, and no addresses of the API server.
func narrowGroup(g *metav1.APIGroup) {
	g.ServerAddressByClientCIDRs = nil
	g.Versions = slices.DeleteFunc(g.Versions, func(v metav1.GroupVersionForDiscovery) bool { return !hasGroup(g.Name, v.Version) })
	if len(g.Versions) > 0 && !hasGroup(g.Name, g.PreferredVersion.Version) {
		g.PreferredVersion = g.Versions[0]
	}
}

// narrowResources leaves the resources of a group that are reached here, with the API verbs that they have here.
func narrowResources(group string, all []metav1.APIResource) []metav1.APIResource {
	left := []metav1.APIResource{}
	for _, a := range all {
		plural, sub, _ := strings.Cut(a.Name, "/")
		for _, r := range resourcesHere() {
			if r.Group != group || r.Plural != plural || sub != "" && !slices.Contains(r.Subresources, sub) {
				continue
			}
			a.Verbs = slices.DeleteFunc(a.Verbs, func(verb string) bool {
				return !call{Verb: verb, Resource: r, Subresource: sub}.possible()
			})
			left = append(left, a)
		}
	}
	return left
}
