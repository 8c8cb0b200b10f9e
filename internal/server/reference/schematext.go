package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// deepestField bounds how far into a schema its fields are listed.
const deepestField = 8

// referenceType is the type of something in words: what comes before the name of a schema, that name, and its limits.
type referenceType struct{ Before, Schema, Limits string }

// typeOf says in words what a schema takes. It is pure.
func typeOf(s *huma.Schema) referenceType {
	if s == nil {
		return referenceType{Before: "anything"}
	}
	if s.Ref != "" {
		return referenceType{Schema: anchor(s.Ref)}
	}
	t := referenceType{Before: s.Type, Limits: limitsOf(s)}
	switch values, mapped := s.AdditionalProperties.(*huma.Schema); {
	case s.Type == huma.TypeArray:
		inner := typeOf(s.Items)
		t.Before, t.Schema = "list of "+inner.Before, inner.Schema
	case s.Type == huma.TypeObject && mapped:
		inner := typeOf(values)
		t.Before, t.Schema = "map of "+inner.Before, inner.Schema
	case len(s.OneOf) > 0:
		var names []string
		for _, one := range s.OneOf {
			names = append(names, one.Type)
		}
		t.Before = strings.Join(names, " or ")
	case s.Type == "":
		t.Before = "anything"
	}
	if s.Format != "" {
		t.Before += " (" + s.Format + ")"
	}
	return t
}

// limitsOf says in words what of a type is taken.
func limitsOf(s *huma.Schema) string {
	var limits []string
	add := func(format string, args ...any) { limits = append(limits, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		names := make([]string, 0, len(s.Enum))
		for _, value := range s.Enum {
			names = append(names, fmt.Sprint(value))
		}
		add("one of %s", strings.Join(names, ", "))
	}
	for _, number := range []struct {
		name string
		is   *float64
	}{{"at least", s.Minimum}, {"at most", s.Maximum}} {
		if number.is != nil {
			add("%s %v", number.name, *number.is)
		}
	}
	for _, count := range []struct {
		name string
		is   *int
	}{
		{"at least %d characters", s.MinLength}, {"at most %d characters", s.MaxLength}, {"at least %d items", s.MinItems},
		{"at most %d items", s.MaxItems}, {"at most %d entries", s.MaxProperties},
	} {
		if count.is != nil {
			add(count.name, *count.is)
		}
	}
	if s.Pattern != "" {
		add("matches %s", s.Pattern)
	}
	if value, err := json.Marshal(s.Default); err == nil && s.Default != nil {
		add("default %s", value)
	}
	return strings.Join(limits, "; ")
}

// fieldsOf lists what an object may have, what is inside of it as well: "network.podCIDR", "taints[].key".
func fieldsOf(s *huma.Schema, before string, depth int) []referenceField {
	if s == nil || s.Ref != "" || depth > deepestField {
		return nil
	}
	if s.Type == huma.TypeArray {
		return fieldsOf(s.Items, strings.TrimSuffix(before, ".")+"[].", depth+1)
	}
	var fields []referenceField
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		fields = append(fields, referenceField{
			Name: before + name, Description: p.Description, Required: slices.Contains(s.Required, name), Type: typeOf(p),
		})
		fields = append(fields, fieldsOf(p, before+name+".", depth+1)...)
	}
	return fields
}
