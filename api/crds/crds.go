// Package crds holds the custom resource definitions that are generated from
// the Go types in api/v1alpha1. A program that installs KQueen into an API server
// takes them from here.
package crds

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// Schema numbers how objects are stored. It grows with each change that an object of before has to be converted for, and the
// conversion (internal/engine/conversion) with it. Definitions without [SchemaAnnotation] are of schema 1.
const Schema = 2

// SchemaAnnotation on a definition is the schema of all objects of its kind.
const SchemaAnnotation = "kqueen.io/schema"

// All returns every definition, in the order of the file names. Each says of which schema it is.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("decode %s: %w", name, err)
		}
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, SchemaAnnotation, strconv.Itoa(Schema))
		all = append(all, crd)
	}
	return all, nil
}
