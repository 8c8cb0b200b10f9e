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
	// Asked says that a setting switches it on, and not the catalogue alone.
	Asked bool
}

// Settled is an addon of the catalogue with all that settings say of it for a cluster.
type Settled struct {
	Chosen

	// Enabled says whether the cluster has it, and From who says so.
	Enabled bool
	From    Source
}

// Source is who says whether a cluster has an addon.
type Source int

// The sources, those that count more later.
const (
	// FromCatalogue: no setting says it, or none can, because the addon belongs to a CNI.
	FromCatalogue Source = iota
	FromProvisioner
	FromOrganization
	FromCluster
)

// Settle says how each addon of the catalogue is to be in a cluster, in the order of the catalogue. Settings are those of the
// provisioner, the organization and the cluster, in this order: of several settings of one addon a later one counts, field by
// field and value by value. What [Check] refuses does not count. It is pure.
func Settle(cni string, settings ...[]v1alpha1.AddonSetting) []Settled {
	var out []Settled
	for _, a := range Catalogue() {
		s := Settled{Chosen: Chosen{Addon: a, Values: defaults(a.Schema)}, Enabled: a.Default && (a.OffWithCNI == "" || a.OffWithCNI != cni)}
		for i, all := range settings {
			s.apply(FromCatalogue+Source(i)+1, all)
		}
		if a.CNI != "" {
			s.Enabled = a.CNI == cni
		}
		out = append(out, s)
	}
	return out
}

func (s *Settled) apply(from Source, settings []v1alpha1.AddonSetting) {
	for _, said := range settings {
		if said.Name != s.Name || check("", said) != nil {
			continue
		}
		if said.Enabled != nil {
			s.Enabled, s.From, s.Asked = *said.Enabled, from, *said.Enabled
		}
		maps.Copy(s.Values, decode(said))
	}
}

// Choose returns the addons that a cluster has, of [Settle].
func Choose(cni string, settings ...[]v1alpha1.AddonSetting) []Chosen {
	var out []Chosen
	for _, s := range Settle(cni, settings...) {
		if s.Enabled {
			out = append(out, s.Chosen)
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
	if err := schema.Check(field+".values", a.Schema, raw(s)); err != nil || a.check == nil {
		return err
	}
	return a.check(field+".values", decode(s))
}

// Joining says whether nodes need the objects of an addon, or those without one: the empty name.
func Joining(addon string) bool {
	a, known := named(addon)
	return addon == "" || known && a.Essential
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
