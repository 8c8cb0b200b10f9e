package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/stored"
	"kqueen.io/kqueen/internal/hosting/release"
)

// Newer are stored objects of one kind in a version that an older minor may not have.
type Newer struct {
	schema.GroupVersionKind

	// First is one of the objects, and Count how many there are.
	First stored.Name
	Count int
	// Since is the minor with which the version came; the zero value where it is not known.
	Since minor
}

// storedWithin bounds the reading of all that a cluster stores.
const storedWithin = time.Minute

// newerObjects reads what a control plane stores, and returns what an older version may not be able to read.
func (c Config) newerObjects(ctx context.Context, plane *v1alpha1.ControlPlane, version string) ([]Newer, error) {
	target, err := release.ParseVersion(version)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, storedWithin)
	defer cancel()
	entries, err := c.Stored(ctx, plane)
	if err != nil {
		return nil, err
	}
	known, found := introduced(), map[schema.GroupVersionKind]*Newer{}
	for e, err := range entries {
		if err != nil {
			return nil, fmt.Errorf("read what the cluster stores: %w", err)
		}
		kind := stored.KindOf(e)
		if known.has(target, kind) {
			continue
		}
		if found[kind] == nil {
			found[kind] = &Newer{GroupVersionKind: kind, First: stored.NameOf(e.Key), Since: known.since[kind]}
		}
		found[kind].Count++
	}
	all := make([]Newer, 0, len(found))
	for _, n := range found {
		all = append(all, *n)
	}
	slices.SortFunc(all, func(a, b Newer) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind))
	})
	return all, nil
}

// history is what is known of the APIs of Kubernetes itself.
type history struct {
	groups map[string]bool
	// since says of each version of a kind with which minor it came; the zero value for those from before that was noted.
	since map[schema.GroupVersionKind]minor
}

// introduced reads what each version of a kind says of the minor with which it came (APILifecycleIntroduced in
// k8s.io/api/*/*/zz_generated.prerelease-lifecycle.go, by which API servers choose in which version they store; see removals). It is pure.
func introduced() history {
	h := history{map[string]bool{}, map[schema.GroupVersionKind]minor{}}
	for kind := range clientgoscheme.Scheme.AllKnownTypes() {
		o, err := clientgoscheme.Scheme.New(kind)
		if err != nil {
			continue
		}
		h.groups[kind.Group] = true
		var since minor
		if says, ok := o.(interface{ APILifecycleIntroduced() (major, minor int) }); ok {
			major, in := says.APILifecycleIntroduced()
			since = minor{uint64(major), uint64(in)}
		}
		h.since[kind] = since
	}
	return h
}

// has says whether a version of Kubernetes has a version of a kind, or the kind is none of Kubernetes' own. It is pure.
func (h history) has(v release.Version, kind schema.GroupVersionKind) bool {
	if kind.Empty() || !h.groups[kind.Group] {
		return true
	}
	since, known := h.since[kind]
	return known && since.at(v)
}

// newerFindings says which stored objects stand against a rollback. It is pure.
func newerFindings(all []Newer, to string) []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for _, n := range all {
		more := ""
		if n.Count > 1 {
			more = fmt.Sprintf(" and %d more", n.Count-1)
		}
		object, api := n.Kind+" "+n.First.String(), n.GroupVersion().String()
		if n.Since == (minor{}) {
			out = append(out, warns(v1alpha1.CheckNewerObjects, object, fmt.Sprintf("it%s is stored as %s, of which it is not known whether %s has it", more, api, to), "see that it is not needed, or delete it"))
			continue
		}
		out = append(out, blocks(v1alpha1.CheckNewerObjects, object, fmt.Sprintf("it%s is stored as %s, which came with %s: %s can neither read nor delete it", more, api, n.Since, to),
			"delete it before the rollback"))
	}
	return out
}
