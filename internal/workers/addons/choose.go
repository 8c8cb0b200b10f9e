package addons

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/schema"
)

// Chosen is an addon that a cluster has, with its values, those by default among them.
type Chosen struct {
	Addon

	Values map[string]any
}

// Choose returns the addons that a cluster has, in the order of the catalogue. Of several settings of one addon a later one
// counts, field by field and value by value: those of the provisioner come first, then the organization's and the cluster's. What
// [Check] refuses does not count. It is pure.
func Choose(cni string, settings ...[]v1alpha1.AddonSetting) []Chosen {
	var out []Chosen
	for _, a := range Catalogue() {
		enabled, values := a.Default, defaults(a.Schema)
		for _, all := range settings {
			for _, s := range all {
				if s.Name != a.Name || check("", s) != nil {
					continue
				}
				if s.Enabled != nil {
					enabled = *s.Enabled
				}
				maps.Copy(values, decode(s))
			}
		}
		if a.CNI != "" {
			enabled = a.CNI == cni
		}
		if enabled {
			out = append(out, Chosen{a, values})
		}
	}
	return out
}

// Check says what is wrong with settings, which stand at a field such as "spec.addons". What an object had already it keeps: a
// later catalogue that does not know a setting keeps no user from changing the rest. The error is an *invalid.Error that names the
// place.
func Check(field string, had, settings []v1alpha1.AddonSetting) error {
	for i, s := range settings {
		if slices.ContainsFunc(had, func(h v1alpha1.AddonSetting) bool { return same(h, s) }) {
			continue
		}
		if err := check(fmt.Sprintf("%s[%d]", field, i), s); err != nil {
			return err
		}
	}
	return nil
}

// same says whether two settings say the same.
func same(a, b v1alpha1.AddonSetting) bool {
	return a.Name == b.Name && ptr.Equal(a.Enabled, b.Enabled) && schema.Same(raw(a), raw(b))
}

// raw are the values of a setting as they were written; nil for none.
func raw(s v1alpha1.AddonSetting) json.RawMessage {
	if s.Values == nil {
		return nil
	}
	return s.Values.Raw
}

func check(field string, s v1alpha1.AddonSetting) error {
	a, ok := named(s.Name)
	if !ok {
		return invalid.New(field+".name", "there is no addon %q; must be one of %s", s.Name, strings.Join(names(), ", "))
	}
	if a.CNI != "" && s.Enabled != nil {
		return invalid.New(field+".enabled", "%s belongs to spec.cni %s and cannot be switched", a.Name, a.CNI)
	}
	return schema.Check(field+".values", a.Schema, raw(s))
}

func names() []string {
	var out []string
	for _, a := range Catalogue() {
		out = append(out, a.Name)
	}
	return out
}

// decode returns the values of a setting that was checked.
func decode(s v1alpha1.AddonSetting) map[string]any {
	values := map[string]any{}
	if s.Values != nil {
		_ = json.Unmarshal(s.Values.Raw, &values) // the schema has taken it
	}
	return values
}

// defaults are the values of a schema's properties that are not said.
func defaults(of json.RawMessage) map[string]any {
	var s struct {
		Properties map[string]struct {
			Default any `json:"default"`
		} `json:"properties"`
	}
	values := map[string]any{}
	_ = json.Unmarshal(of, &s) // TestCatalogue
	for name, p := range s.Properties {
		if p.Default != nil {
			values[name] = p.Default
		}
	}
	return values
}
