package addon

import (
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// edit returns other settings of a cluster, and leaves those that it is given.
type edit func([]v1alpha1.AddonSetting) ([]v1alpha1.AddonSetting, error)

// enabled switches an addon on or off, and merges values into those that the cluster sets; nil removes one.
func enabled(name string, on bool, values map[string]any) edit {
	return func(settings []v1alpha1.AddonSetting) ([]v1alpha1.AddonSetting, error) {
		all := slices.Clone(settings)
		i := indexOf(all, name)
		if i < 0 {
			i, all = len(all), append(all, v1alpha1.AddonSetting{Name: name})
		}
		all[i].Enabled = &on
		var err error
		all[i].Values, err = merged(all[i].Values, values)
		return all, err
	}
}

// reset removes what the cluster says of an addon.
func reset(name string) edit {
	return func(settings []v1alpha1.AddonSetting) ([]v1alpha1.AddonSetting, error) {
		all := slices.Clone(settings)
		return slices.DeleteFunc(all, func(s v1alpha1.AddonSetting) bool { return s.Name == name }), nil
	}
}

func indexOf(settings []v1alpha1.AddonSetting, name string) int {
	return slices.IndexFunc(settings, func(s v1alpha1.AddonSetting) bool { return s.Name == name })
}

// merged are values with changes, of which nil removes one.
func merged(values *apiextensionsv1.JSON, changes map[string]any) (*apiextensionsv1.JSON, error) {
	if len(changes) == 0 {
		return values, nil
	}
	all := map[string]json.RawMessage{}
	if values != nil {
		if err := json.Unmarshal(values.Raw, &all); err != nil {
			return nil, fmt.Errorf("read the values that the cluster has: %w", err)
		}
	}
	for key, to := range changes {
		if to == nil {
			delete(all, key)
			continue
		}
		data, err := json.Marshal(to)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", key, err)
		}
		all[key] = data
	}
	if len(all) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(all)
	return &apiextensionsv1.JSON{Raw: data}, err
}
