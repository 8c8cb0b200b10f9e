package addons

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

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

// Choose returns the addons that a cluster has, in the order of the catalogue. Of several settings of one addon a later one
// counts, field by field and value by value: those of the provisioner come first, then the organization's and the cluster's. What
// [Check] refuses does not count. It is pure.
func Choose(cni string, settings ...[]v1alpha1.AddonSetting) []Chosen {
	var out []Chosen
	for _, a := range Catalogue() {
		enabled, asked, values := a.Default, false, defaults(a.Schema)
		for _, all := range settings {
			for _, s := range all {
				if s.Name != a.Name || check("", s) != nil {
					continue
				}
				if s.Enabled != nil {
					enabled, asked = *s.Enabled, *s.Enabled
				}
				maps.Copy(values, decode(s))
			}
		}
		if a.CNI != "" {
			enabled = a.CNI == cni
		}
		if enabled {
			out = append(out, Chosen{a, values, asked})
		}
	}
	return out
}

// Check says what is wrong with settings, which stand at a field such as "spec.addons". The error is an *invalid.Error that
// names the place.
func Check(field string, settings []v1alpha1.AddonSetting) error {
	for i, s := range settings {
		if err := check(fmt.Sprintf("%s[%d]", field, i), s); err != nil {
			return err
		}
	}
	return nil
}

func check(field string, s v1alpha1.AddonSetting) error {
	a, ok := named(s.Name)
	if !ok {
		return invalid.New(field+".name", "there is no addon %q; must be one of %s", s.Name, strings.Join(names(), ", "))
	}
	if a.CNI != "" && s.Enabled != nil {
		return invalid.New(field+".enabled", "%s belongs to spec.cni %s and cannot be switched", a.Name, a.CNI)
	}
	var values json.RawMessage
	if s.Values != nil {
		values = s.Values.Raw
	}
	if err := schema.Check(field+".values", a.Schema, values); err != nil || a.check == nil {
		return err
	}
	return a.check(field+".values", decode(s))
}

// checkRanges is about the ranges of the load balancer, of which the schema says only which letters they have.
func checkRanges(field string, values map[string]any) error {
	texts, _ := values["ranges"].([]any)
	for i, t := range texts {
		text, _ := t.(string)
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
			continue
		}
		from, to, two := strings.Cut(text, "-")
		if !two {
			to = from
		}
		first, errFirst := netip.ParseAddr(from)
		last, errLast := netip.ParseAddr(to)
		if errFirst != nil || errLast != nil || !first.Is4() || !last.Is4() || last.Less(first) {
			return invalid.New(fmt.Sprintf("%s.ranges[%d]", field, i), "%q is no range of IPv4 addresses; must be such as 192.0.2.10-192.0.2.20 or 192.0.2.0/28", text)
		}
	}
	return nil
}

// Joining says whether nodes need the objects of an addon, or those without one: the empty name.
func Joining(addon string) bool {
	a, known := named(addon)
	return addon == "" || known && a.Essential
}

// ConditionAddress of a Service in a cluster says that its address is of the addon load-balancer, whose program sets it (package
// addresses of the node's agent).
const ConditionAddress = "kqueen.io/LoadBalancerAddress"

// GivesAddresses says whether one of a cluster's addons gives Services addresses.
func GivesAddresses(chosen []Chosen) bool {
	return slices.ContainsFunc(chosen, func(c Chosen) bool { return c.Name == nameLoadBalancer })
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
