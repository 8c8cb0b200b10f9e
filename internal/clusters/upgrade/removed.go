package upgrade

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"kqueen.io/kqueen/internal/hosting/release"
)

// removals says in which minor an API server stops serving an API, by "GROUP/VERSION/RESOURCE". The table is Kubernetes' own: each version
// of a kind that will go says when (APILifecycleRemoved in k8s.io/api/*/*/zz_generated.prerelease-lifecycle.go, by which API servers stop
// serving it; https://kubernetes.io/docs/reference/using-api/deprecation-policy/, rule 4a). k8s.io/api v0.37 says of v1.35
// storage.k8s.io/v1alpha1, of v1.36 nothing, and of v1.37 certificates.k8s.io/v1alpha1, networking.k8s.io/v1beta1 and
// volumeattributesclasses of storage.k8s.io/v1beta1; TestRemovals shows it. It is pure.
func removals() map[string]minor {
	out := map[string]minor{}
	for kind := range clientgoscheme.Scheme.AllKnownTypes() {
		o, err := clientgoscheme.Scheme.New(kind)
		if err != nil {
			continue
		}
		going, ok := o.(interface{ APILifecycleRemoved() (major, minor int) })
		if !ok || isList(o) {
			continue
		}
		plural, _ := apimeta.UnsafeGuessKindToResource(kind)
		major, in := going.APILifecycleRemoved()
		out[nameOf(plural)] = minor{uint64(major), uint64(in)}
	}
	return out
}

func isList(o runtime.Object) bool { return apimeta.IsListType(o) }

func nameOf(r schema.GroupVersionResource) string {
	if r.Group == "" {
		return r.Version + "/" + r.Resource
	}
	return r.Group + "/" + r.Version + "/" + r.Resource
}

// minor is a minor of Kubernetes.
type minor struct{ major, minor uint64 }

func (m minor) String() string { return fmt.Sprintf("v%d.%d", m.major, m.minor) }

// at says whether a version is of that minor, or later.
func (m minor) at(v release.Version) bool {
	return v.Major() > m.major || v.Major() == m.major && v.Minor() >= m.minor
}

// goneIn says in which minor an API is gone: what the API server says of it counts, and then the table. It is pure.
func goneIn(a API, table map[string]minor) (minor, bool) {
	var said minor
	if n, err := fmt.Sscanf(a.RemovedIn, "%d.%d", &said.major, &said.minor); err == nil && n == 2 {
		return said, true
	}
	in, ok := table[nameOf(schema.GroupVersionResource{Group: a.Group, Version: a.Version, Resource: a.Resource})]
	return in, ok
}
