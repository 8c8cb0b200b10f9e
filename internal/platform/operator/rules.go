package operator

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// merge says once what rules say together, in an order of its own: one rule for all resources of an API group with the
// same RBAC verbs. Rules that name objects stay as they are. It is pure.
func merge(all [][]rbacv1.PolicyRule) []rbacv1.PolicyRule {
	verbs := map[[2]string]map[string]bool{} // by API group and resource
	var named []rbacv1.PolicyRule
	for _, rule := range slices.Concat(all...) {
		if len(rule.ResourceNames) > 0 || len(rule.NonResourceURLs) > 0 {
			named = append(named, rule)
			continue
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				key := [2]string{group, resource}
				if verbs[key] == nil {
					verbs[key] = map[string]bool{}
				}
				for _, verb := range rule.Verbs {
					verbs[key][verb] = true
				}
			}
		}
	}
	resources := map[[2]string][]string{} // by API group and RBAC verbs
	for key, set := range verbs {
		same := [2]string{key[0], strings.Join(slices.Sorted(maps.Keys(set)), " ")}
		resources[same] = append(resources[same], key[1])
	}
	var out []rbacv1.PolicyRule
	for same, names := range resources {
		slices.Sort(names)
		out = append(out, Rule(same[0], names, strings.Fields(same[1])...))
	}
	slices.SortFunc(out, func(a, b rbacv1.PolicyRule) int {
		return slices.Compare(append(a.APIGroups, a.Resources...), append(b.APIGroups, b.Resources...))
	})
	return append(out, named...)
}
