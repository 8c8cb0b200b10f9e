package organization

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// matter is what an administrator lets an organization use or not, as a refusal calls it.
type matter string

const (
	matterProvisioner matter = "shared provisioner"
	matterDriver      matter = "driver"
	matterStore       matter = "data store"
	matterRelease     matter = "release"
	matterProvider    matter = "machine provider"
	matterLevel       matter = "Pod Security level"
)

// flag of `kqueen organization update` that lets an organization use more of the matter.
func (s matter) flag() string {
	switch s {
	case matterProvisioner:
		return "--provisioner"
	case matterStore:
		return "--data-store"
	case matterProvider:
		return "--machine-provider"
	case matterLevel:
		return "--pod-security"
	}
	return "--" + string(s)
}

// use is one thing that an object makes use of, and the field that asks for it.
type use struct {
	matter      matter
	name, field string
}

// provisionerUses are those of a Provisioner. store is the DataStore that it keeps clusters in; empty for none. It is pure.
func provisionerUses(p *v1alpha1.Provisioner, store string) []use {
	uses := []use{{matterDriver, p.Spec.Driver, "spec.driver"}}
	if store != "" {
		uses = append(uses, use{matterStore, store, "spec.parameters"})
	}
	return uses
}

// clusterUses are those of a Cluster, whichever Provisioner it names: what an organization may not use it does not get by a
// Provisioner of its own either, also not by one from before that was said. p is nil where there is none. level is what the
// cluster has that says none, and empty where that is not KQueen's to say. It is pure.
func clusterUses(c *v1alpha1.Cluster, p *v1alpha1.Provisioner, store, level string) []use {
	const field = "spec.provisionerRef"
	var uses []use
	if ref := c.Spec.ProvisionerRef; ref.Namespace == v1alpha1.SystemNamespace {
		uses = append(uses, use{matterProvisioner, ref.Name, field})
	}
	if p != nil {
		for _, u := range provisionerUses(p, store) {
			uses = append(uses, use{u.matter, u.name, field})
		}
	}
	if level = cmp.Or(c.Spec.PodSecurity, level); level != "" {
		uses = append(uses, use{matterLevel, level, "spec.podSecurity"})
	}
	if c.Spec.Version != "" {
		uses = append(uses, use{matterRelease, c.Spec.Version, "spec.version"})
	}
	return uses
}

// poolUses are those of a NodePool. It is pure.
func poolUses(p *v1alpha1.NodePool) []use {
	var uses []use
	if p.Spec.Template.Provider != "" { // as the schema fills it in
		uses = append(uses, use{matterProvider, p.Spec.Template.Provider, "spec.template.provider"})
	}
	if p.Spec.Version != "" {
		uses = append(uses, use{matterRelease, p.Spec.Version, "spec.version"})
	}
	return uses
}

// permitted is what an organization may use of one matter.
type permitted struct {
	all   bool
	names []string
}

func (p permitted) takes(u use) bool {
	return p.all || slices.ContainsFunc(p.names, func(name string) bool {
		return name == u.name || u.matter == matterRelease && covers(name, u.name)
	})
}

// covers says whether a release, or all patches of a minor, hold a version.
func covers(release, version string) bool {
	return version == release || strings.Count(release, ".") == 1 && strings.HasPrefix(version, release+".")
}

// permissions are what an organization may use. shared has the data stores of the shared provisioners, by their names. It
// is pure.
func permissions(spec *v1alpha1.OrganizationSpec, shared map[string]string) map[matter]permitted {
	listed := func(names []string) permitted { return permitted{all: len(names) == 0, names: names} }
	may := map[matter]permitted{
		matterProvisioner: listed(spec.ProvisionerNames), matterDriver: listed(spec.Drivers), matterRelease: listed(spec.Releases),
		matterStore: {names: spec.DataStoreNames}, matterProvider: {names: spec.MachineProviders},
	}
	if len(spec.DataStoreNames) == 0 {
		var stores []string
		for name, store := range shared {
			if may[matterProvisioner].takes(use{matter: matterProvisioner, name: name}) {
				stores = append(stores, store)
			}
		}
		slices.Sort(stores)
		may[matterStore] = permitted{names: slices.Compact(stores)}
	}
	levels := v1alpha1.PodSecurityLevels()
	weakest := slices.Index(levels, cmp.Or(spec.PodSecurity, v1alpha1.PodSecurityBaseline))
	may[matterLevel] = permitted{names: levels[max(weakest, 0):]}
	if len(spec.MachineProviders) == 0 {
		may[matterProvider] = permitted{names: []string{v1alpha1.ProviderManual}}
	}
	return may
}

// disallowed says which field asks for what the organization may not use. What an object had already it keeps: what an
// administrator takes back ends no cluster. It is pure.
func disallowed(organization string, may map[matter]permitted, had, asked []use) *metav1.StatusCause {
	for _, u := range asked {
		kept := slices.ContainsFunc(had, func(h use) bool { return h.matter == u.matter && h.name == u.name })
		if kept || may[u.matter].takes(u) {
			continue
		}
		names := may[u.matter].names
		listed, next := "none", append(slices.Clone(names), u.name)
		if len(names) > 0 {
			listed = strings.Join(names, ", ")
		}
		if u.matter == matterLevel {
			next = []string{u.name} // the weakest says all
		}
		return &metav1.StatusCause{Field: u.field, Message: fmt.Sprintf(
			"the organization may not use the %s %q; it may use: %s; an administrator of the installation allows it with: kqueen organization update %s %s %s",
			u.matter, u.name, listed, organization, u.matter.flag(), strings.Join(next, ","))}
	}
	return nil
}

// goesOn are the uses that a changed pool had and may go on with: not its machine provider when it asks for more machines, or larger
// ones. It is pure.
func goesOn(had []use, before, after Amount) []use {
	if after.Nodes <= before.Nodes && after.CPU <= before.CPU && after.Memory <= before.Memory {
		return had
	}
	return slices.DeleteFunc(slices.Clone(had), func(u use) bool { return u.matter == matterProvider })
}
