package objects

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// fromCRD turns a schema of the admin plane into one of OpenAPI 3.1, so that there is one source for what is valid.
// What only the API server can say (CEL rules, lists that are maps) is left to it.
func fromCRD(p *apiextensionsv1.JSONSchemaProps) (*huma.Schema, error) {
	s := &huma.Schema{Type: p.Type, Description: p.Description, Format: p.Format, Pattern: p.Pattern, Nullable: p.Nullable}
	s.MinLength, s.MaxLength = number(p.MinLength), number(p.MaxLength)
	s.MinItems, s.MaxItems = number(p.MinItems), number(p.MaxItems)
	s.MinProperties, s.MaxProperties = number(p.MinProperties), number(p.MaxProperties)
	s.Minimum, s.Maximum = p.Minimum, p.Maximum
	s.Required = slices.Clone(p.Required)
	if s.Format == "byte" { // OpenAPI 3.1 says it so
		s.Format, s.ContentEncoding = "", "base64"
	}
	var err error
	if s.Default, err = decoded(p.Default); err != nil {
		return nil, err
	}
	for i := range p.Enum {
		value, err := decoded(&p.Enum[i])
		if err != nil {
			return nil, err
		}
		s.Enum = append(s.Enum, value)
	}
	if p.XIntOrString {
		s.Type, s.OneOf = "", []*huma.Schema{{Type: huma.TypeInteger}, {Type: huma.TypeString}}
	}
	if p.Items != nil && p.Items.Schema != nil {
		if s.Items, err = fromCRD(p.Items.Schema); err != nil {
			return nil, err
		}
	}
	if err := properties(s, p); err != nil {
		return nil, err
	}
	s.PrecomputeMessages()
	for _, alternative := range s.OneOf {
		alternative.PrecomputeMessages()
	}
	return s, nil
}

// properties says what an object may have. What is not named is refused, unless the admin plane keeps it.
func properties(s *huma.Schema, p *apiextensionsv1.JSONSchemaProps) error {
	if p.Type != "object" {
		return nil
	}
	s.AdditionalProperties = ptr.Deref(p.XPreserveUnknownFields, false)
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		values, err := fromCRD(p.AdditionalProperties.Schema)
		if err != nil {
			return err
		}
		s.AdditionalProperties = values
	}
	if len(p.Properties) == 0 {
		return nil
	}
	s.Properties = map[string]*huma.Schema{}
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		inner := p.Properties[name]
		property, err := fromCRD(&inner)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.Properties[name] = property
	}
	return nil
}

func number(from *int64) *int {
	if from == nil {
		return nil
	}
	return ptr.To(int(*from))
}

func decoded(from *apiextensionsv1.JSON) (any, error) {
	if from == nil {
		return nil, nil
	}
	var value any
	if err := json.Unmarshal(from.Raw, &value); err != nil {
		return nil, fmt.Errorf("read a value of the schema: %w", err)
	}
	return value, nil
}
