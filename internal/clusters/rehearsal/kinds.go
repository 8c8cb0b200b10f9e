package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/stored"
)

// definition is what is needed of a CustomResourceDefinition.
type definition struct {
	name       string
	kind       schema.GroupKind
	plural     string
	namespaced bool
	// versions says of each version that there is whether it is served.
	versions map[string]bool
	// webhook says that a webhook converts its objects between versions.
	webhook bool
}

var definitionResource = Resource{
	GroupVersionKind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, Plural: "customresourcedefinitions",
}

// definitionsOf reads those of a server.
func definitionsOf(ctx context.Context, s Server) ([]definition, error) {
	var all []definition
	err := s.List(ctx, definitionResource, func(raw []byte) error {
		d, err := readDefinition(raw)
		all = append(all, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	return all, nil
}

// readDefinition reads one. It is pure.
func readDefinition(raw []byte) (definition, error) {
	var in struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Group string `json:"group"`
			Scope string `json:"scope"`
			Names struct {
				Kind   string `json:"kind"`
				Plural string `json:"plural"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
			Conversion struct {
				Strategy string `json:"strategy"`
			} `json:"conversion"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return definition{}, fmt.Errorf("read CustomResourceDefinition: %w", err)
	}
	d := definition{
		name: listing.Clean(in.Metadata.Name, maxName), plural: in.Spec.Names.Plural, namespaced: in.Spec.Scope == "Namespaced",
		kind:    schema.GroupKind{Group: listing.Clean(in.Spec.Group, maxName), Kind: listing.Clean(in.Spec.Names.Kind, maxName)},
		webhook: in.Spec.Conversion.Strategy == "Webhook", versions: map[string]bool{},
	}
	for _, v := range in.Spec.Versions {
		d.versions[listing.Clean(v.Name, maxName)] = v.Served
	}
	return d, nil
}

// in is the resource of a definition in a version.
func (d definition) in(version string) Resource {
	return Resource{GroupVersionKind: d.kind.WithVersion(version), Plural: d.plural, Namespaced: d.namespaced, Written: true}
}

func definitionOf(all []definition, kind schema.GroupKind) *definition {
	i := slices.IndexFunc(all, func(d definition) bool { return d.kind == kind })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// absent are definitions with a version that is to be served and is not: an API server serves them some time after it began. It is pure.
func absent(all []definition, served Served, have inventory) []string {
	var out []string
	for _, d := range all {
		for version, on := range d.versions {
			_, there := served.Resources[d.kind]
			if on && len(have[d.kind]) > 0 && (!there || !served.Versions[schema.GroupVersion{Group: d.kind.Group, Version: version}]) {
				out = append(out, d.name)
			}
		}
	}
	return out
}

// inVersions returns the objects that are stored in a version that their definition has; those that are not are findings.
func (t *trial) inVersions(d definition, objects []object) []object {
	var good []object
	gone := map[string][]object{}
	for _, o := range objects {
		if _, there := d.versions[o.version]; there {
			good = append(good, o)
		} else {
			gone[o.version] = append(gone[o.version], o)
		}
	}
	for version, lost := range gone {
		t.blocks(v1alpha1.CheckStoredVersions, d.kind.Kind+" "+lost[0].name.String(),
			fmt.Sprintf("it%s is stored as %s/%s, a version that CustomResourceDefinition %s does not have: no object of the kind can be listed", and(lost), d.kind.Group, version, d.name),
			"put the version back into the definition, write the objects again, and take the version out of status.storedVersions before it goes")
	}
	return good
}

// and says how many objects there are beside the first.
func and(objects []object) string { return beside(int64(len(objects) - 1)) }

// unserved notes objects of a kind that has no API.
func (t *trial) unserved(kind schema.GroupKind, objects []object) {
	if len(objects) == 0 {
		return
	}
	o := objects[0]
	version := schema.GroupVersion{Group: kind.Group, Version: o.version}
	object, fix := kind.Kind+" "+o.name.String(), "delete the objects, or write them in another kind, while the cluster still runs the version that it has"
	if _, there := t.before.Resources[kind]; there {
		t.blocks(v1alpha1.CheckServedAPIs, object, fmt.Sprintf("it%s is stored as %s, which %s does not serve: it can neither be read nor deleted there", and(objects), version, t.version), fix)
		return
	}
	t.warns(v1alpha1.CheckServedAPIs, object, fmt.Sprintf("it%s is stored as %s, which neither the cluster as it is nor %s serves", and(objects), version, t.version),
		"it takes space and does nothing more; have an administrator of KQueen remove it from the data store")
}

// damaged notes values of which not even the kind can be read.
func (t *trial) damaged(objects []object) {
	t.blocks(v1alpha1.CheckStoredObjects, objects[0].name.String(),
		fmt.Sprintf("what is stored of it%s is damaged: not even its kind can be read", and(objects)), "restore the object from a backup")
}

// converted asks the cluster itself for objects that a webhook converts, in each version: an API server over a copy calls no webhook. It
// only reads.
func converted(ctx context.Context, live Server, all []definition, have inventory) ([]v1alpha1.UpgradeFinding, error) {
	var out []v1alpha1.UpgradeFinding
	for _, d := range all {
		objects := have[d.kind]
		if !d.webhook || len(objects) == 0 {
			continue
		}
		for _, version := range slices.Sorted(d.served()) {
			r := d.in(version)
			err := live.List(ctx, r, func([]byte) error { return nil })
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if unanswered(err) {
				return nil, fmt.Errorf("list %s of the cluster: %w", d.name, err)
			}
			if err == nil {
				continue
			}
			out = append(out, finding(v1alpha1.SeverityBlocks, v1alpha1.CheckConversionWebhooks, d.kind.Kind+" "+first(ctx, live, r, objects).String(),
				fmt.Sprintf("the webhook of CustomResourceDefinition %s does not convert it to %s: %s", d.name, version, listing.Reason(err)),
				"mend the webhook; until then the objects of the kind can neither be listed nor deleted"))
		}
	}
	return out, nil
}

// askedOne is how many objects are asked for to find one that a webhook does not convert.
const askedOne = 50

// first is the first object that cannot be read, or the first of all where that was not found.
func first(ctx context.Context, s Server, r Resource, objects []object) stored.Name {
	for _, o := range objects[:min(len(objects), askedOne)] {
		n := o.name
		if s.Get(ctx, r, n.Namespace, n.Name) != nil {
			return n
		}
	}
	return objects[0].name
}

// served are the versions of a definition that are served.
func (d definition) served() iter.Seq[string] {
	return func(yield func(string) bool) {
		for version, on := range d.versions {
			if on && !yield(version) {
				return
			}
		}
	}
}
