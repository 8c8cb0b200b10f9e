package cluster

import (
	"fmt"
	"slices"
	"strings"

	"kqueen.io/kqueen/api/v1alpha1"
)

// parseAddons reads settings of addons, each as NAME, NAME=on or NAME=off.
func parseAddons(words []string) ([]v1alpha1.AddonSetting, error) {
	var all []v1alpha1.AddonSetting
	for _, word := range words {
		name, state, said := strings.Cut(word, "=")
		twice := slices.ContainsFunc(all, func(s v1alpha1.AddonSetting) bool { return s.Name == name })
		if name == "" || twice || said && state != "on" && state != "off" {
			return nil, fmt.Errorf("%q has to be NAME, NAME=on or NAME=off, once for each addon", word)
		}
		enabled := state != "off"
		all = append(all, v1alpha1.AddonSetting{Name: name, Enabled: &enabled})
	}
	return all, nil
}
