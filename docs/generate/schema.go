package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// kind is one custom resource definition with the one version that it has.
type kind struct {
	crd     *apiextensionsv1.CustomResourceDefinition
	version apiextensionsv1.CustomResourceDefinitionVersion
}

func (k *kind) name() string { return k.crd.Spec.Names.Kind }
func (k *kind) page() string { return strings.ToLower(k.name()) + ".md" }

func (k *kind) root() *apiextensionsv1.JSONSchemaProps { return k.version.Schema.OpenAPIV3Schema }

func kindNames(kinds []kind) []string {
	var names []string
	for i := range kinds {
		names = append(names, kinds[i].name())
	}
	return names
}

// readKinds returns the kinds that are defined in the folder dir, by name.
func readKinds(dir string) ([]kind, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("folder %s holds no definitions; generate them first", dir)
	}
	var kinds []kind
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read definition: %w", err)
		}
		k, err := decodeKind(data)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", path, err)
		}
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.name(), b.name()) })
	return kinds, nil
}

func decodeKind(data []byte) (kind, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		return kind{}, err
	}
	if n := len(crd.Spec.Versions); n != 1 {
		return kind{}, fmt.Errorf("%d versions; a page can describe one", n)
	}
	k := kind{crd: crd, version: crd.Spec.Versions[0]}
	if k.version.Schema == nil || k.version.Schema.OpenAPIV3Schema == nil {
		return kind{}, errors.New("the version has no schema")
	}
	return k, nil
}

// field is one row of a table of fields.
type field struct {
	// Path from the top of the object, such as spec.network.podCIDR; [] stands for each item of a list.
	Path string
	// Type in words, such as "list of string".
	Type string
	// Default in JSON, empty for none.
	Default string
	// Required says that the field must be given wherever the object around it is.
	Required bool
	// Constraints in words or as patterns.
	Constraints []string
	// Description is the comment in the Go type.
	Description string
}

// fieldsOf returns all fields below the field at path, in the order of their names, each before what it holds.
func fieldsOf(path string, s *apiextensionsv1.JSONSchemaProps) []field {
	var out []field
	for _, name := range sortedKeys(s.Properties) {
		child := s.Properties[name]
		at := path + "." + name
		out = append(out, field{
			Path:        at,
			Type:        typeOf(&child),
			Default:     defaultOf(&child),
			Required:    slices.Contains(s.Required, name),
			Constraints: constraintsOf(&child),
			Description: child.Description,
		})
		if isConditions(&child) {
			continue
		}
		out = append(out, fieldsOf(at, &child)...)
		if item := itemOf(&child); item != nil {
			out = append(out, fieldsOf(at+"[]", item)...)
		}
		if value := valueOf(&child); value != nil {
			out = append(out, fieldsOf(at+".*", value)...)
		}
	}
	return out
}

// isConditions tells the list of conditions, whose items are the same in all of Kubernetes and not described again.
func isConditions(s *apiextensionsv1.JSONSchemaProps) bool {
	item := itemOf(s)
	return item != nil && slices.Contains(item.Required, "lastTransitionTime")
}

func itemOf(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

func valueOf(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

func typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	if isConditions(s) {
		return "list of conditions"
	}
	if item := itemOf(s); item != nil {
		return "list of " + typeOf(item)
	}
	if value := valueOf(s); value != nil {
		return "map of " + typeOf(value)
	}
	switch {
	case s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields:
		return "object of any fields"
	case s.Format == "date-time":
		return "time"
	case s.Format != "":
		return s.Type + " (" + s.Format + ")"
	}
	return s.Type
}

func defaultOf(s *apiextensionsv1.JSONSchemaProps) string {
	// The default of an object is there so that the defaults of its fields apply; it says nothing to a reader.
	if s.Default == nil || string(s.Default.Raw) == "{}" {
		return ""
	}
	return string(s.Default.Raw)
}

// constraintsOf returns what a value must be, in words; patterns stand in backquotes, messages of rules in quotes.
func constraintsOf(s *apiextensionsv1.JSONSchemaProps) []string {
	out := sizesOf(s)
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.Pattern != "" {
		add("pattern %s", code(s.Pattern))
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, code(string(v.Raw)))
		}
		add("one of %s", strings.Join(values, ", "))
	}
	if s.XListType != nil && *s.XListType == "set" {
		add("no item twice")
	}
	for _, rule := range rulesOf(s) {
		add("“%s”", rule)
	}
	if item := itemOf(s); item != nil && len(item.Properties) == 0 {
		for _, c := range constraintsOf(item) {
			add("each: %s", c)
		}
	}
	return out
}

// sizesOf returns how long, many or large a value may be.
func sizesOf(s *apiextensionsv1.JSONSchemaProps) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, size := range []struct {
		of       string
		min, max *int64
	}{
		{"characters", s.MinLength, s.MaxLength},
		{"items", s.MinItems, s.MaxItems},
		{"entries", s.MinProperties, s.MaxProperties},
	} {
		switch {
		case size.min != nil && *size.min == 1:
			add("not empty")
		case size.min != nil:
			add("at least %d %s", *size.min, size.of)
		}
		if size.max != nil {
			add("at most %d %s", *size.max, size.of)
		}
	}
	if s.Minimum != nil {
		add("at least %s", strconv.FormatFloat(*s.Minimum, 'f', -1, 64))
	}
	if s.Maximum != nil {
		add("at most %s", strconv.FormatFloat(*s.Maximum, 'f', -1, 64))
	}
	return out
}

// rulesOf returns the messages of the CEL rules of a value.
func rulesOf(s *apiextensionsv1.JSONSchemaProps) []string {
	var out []string
	for _, rule := range s.XValidations {
		words := rule.Message
		if words == "" {
			words = code(rule.Rule)
		}
		out = append(out, words)
	}
	return out
}
