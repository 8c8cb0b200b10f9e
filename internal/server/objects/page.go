package objects

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/server/problem"
)

// Filter says which objects of a collection are wanted. A field that means nothing for a kind leaves out all of it.
type Filter struct {
	Selector    string `query:"labelSelector" maxLength:"1024" doc:"Labels, as Kubernetes selects by them: env=prod,tier!=web."`
	Name        string `query:"name" maxLength:"253" doc:"Only objects whose name holds this."`
	Cluster     string `query:"cluster" maxLength:"253" doc:"Only objects of the cluster of this name."`
	Provisioner string `query:"provisioner" maxLength:"253" doc:"Only clusters of the Provisioner of this name."`
	Version     string `query:"version" maxLength:"64" doc:"Only clusters that run this version of Kubernetes, such as v1.36.3; of one that does not run yet it is the version that was asked for."`
	Ready       string `query:"ready" enum:"true,false,unknown" doc:"Only objects that are ready, are not, or of which it is not known."`
}

// Query says which objects of a collection, in which order, and how many.
type Query struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"500" doc:"How many objects at most."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"Where to go on: the cursor of the page before, with the same other parameters."`
	Filter
	Sort string `query:"sort" enum:"name,-name,createdAt,-createdAt" default:"name" doc:"The order; - turns it round."`
}

// matcher says which objects a filter wants.
func (f Filter) matcher() (func(client.Object) bool, error) {
	selector, err := labels.Parse(f.Selector)
	if err != nil {
		return nil, problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
			rest.FieldError{Pointer: "?labelSelector", Detail: err.Error()})
	}
	return func(o client.Object) bool {
		return selector.Matches(labels.Set(o.GetLabels())) && strings.Contains(o.GetName(), f.Name) &&
			is(f.Cluster, o, clusterOf) && is(f.Provisioner, o, provisionerOf) && is(f.Version, o, versionOf) && is(f.Ready, o, readiness)
	}, nil
}

// is says whether an object has the value that is wanted; an empty one is any.
func is(wanted string, o client.Object, of func(client.Object) string) bool {
	return wanted == "" || wanted == of(o)
}

// clusterOf names the cluster that an object belongs to.
func clusterOf(o client.Object) string {
	switch o := o.(type) {
	case *v1alpha1.Cluster:
		return o.Name
	case *v1alpha1.NodePool:
		return o.Spec.ClusterName
	case *v1alpha1.Machine:
		return o.Spec.ClusterName
	case *v1alpha1.Backup:
		return o.Spec.ClusterName
	case *v1alpha1.BackupSchedule:
		return o.Spec.ClusterName
	case *v1alpha1.Restore:
		return o.Status.ClusterName
	case *v1alpha1.Rehearsal:
		return o.Spec.ClusterName
	case *v1alpha1.Rotation:
		return o.Spec.ClusterName
	case *v1alpha1.Upgrade:
		return o.Spec.ClusterName
	}
	return ""
}

// provisionerOf names the Provisioner of a cluster.
func provisionerOf(o client.Object) string {
	if c, ok := o.(*v1alpha1.Cluster); ok {
		return c.Spec.ProvisionerRef.Name
	}
	return ""
}

// versionOf is the version that a cluster runs, or is to run when it does not yet. It is empty for one that was adopted and has not
// said it.
func versionOf(o client.Object) string {
	if c, ok := o.(*v1alpha1.Cluster); ok {
		return cmp.Or(c.Status.Version, c.Spec.Version)
	}
	return ""
}

// readiness is true, false or unknown.
func readiness(o client.Object) string {
	object, ok := o.(operator.Object)
	if !ok {
		return "unknown"
	}
	ready := apimeta.FindStatusCondition(object.Shared().Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionUnknown || object.Shared().ObservedGeneration != o.GetGeneration() {
		return "unknown"
	}
	return strings.ToLower(string(ready.Status))
}

// place is where an object stands in an order. The namespace and name tell equal ones apart.
type place struct {
	Created         int64  `json:"c,omitempty"` // seconds
	Name, Namespace string `json:",omitempty"`
}

func placeOf(o client.Object, sort string) place {
	p := place{Name: o.GetName(), Namespace: o.GetNamespace()}
	if strings.HasSuffix(sort, "createdAt") {
		p.Created = o.GetCreationTimestamp().Unix()
	}
	return p
}

func (p place) compare(q place) int {
	if c := cmp.Compare(p.Created, q.Created); c != 0 {
		return c
	}
	if c := cmp.Compare(p.Name, q.Name); c != 0 {
		return c
	}
	return cmp.Compare(p.Namespace, q.Namespace)
}

// pageOf returns the objects of one page, and the place of the last one when more follow. It is pure. It puts in order
// what may be on the page and one more, not everything that there is.
func pageOf(all []client.Object, q Query, after *place) (page []client.Object, last *place) {
	order := place.compare
	if strings.HasPrefix(q.Sort, "-") {
		order = func(a, b place) int { return b.compare(a) }
	}
	type placed struct {
		place
		client.Object
	}
	inOrder := func(a, b placed) int { return order(a.place, b.place) }
	keep := q.Limit + 1
	first := make([]placed, 0, 2*keep)
	var bound *place // of the first that are known; nothing behind it is wanted
	for _, o := range all {
		p := placed{placeOf(o, q.Sort), o}
		if after != nil && order(p.place, *after) <= 0 || bound != nil && order(p.place, *bound) > 0 {
			continue
		}
		if first = append(first, p); len(first) == 2*keep {
			slices.SortFunc(first, inOrder)
			first = first[:keep]
			at := first[keep-1].place
			bound = &at
		}
	}
	slices.SortFunc(first, inOrder)
	for _, p := range first[:min(q.Limit, len(first))] {
		page = append(page, p.Object)
	}
	if len(first) > q.Limit {
		last = &first[q.Limit-1].place
	}
	return page, last
}

// cursors are places that callers keep. They are signed, together with what they are good for: a cursor of one
// organization, caller or query says nothing in another.
type cursors struct{ key []byte }

func (c cursors) encode(scope string, p place) (string, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode a cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(append(c.sign(scope, data), data...)), nil
}

func (c cursors) decode(scope, cursor string) (*place, error) {
	if cursor == "" {
		return nil, nil
	}
	invalid := problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
		rest.FieldError{Pointer: "?cursor", Detail: "is not one that this list gave with the same parameters; list again without it"})
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], c.sign(scope, raw[sha256.Size:])) {
		return nil, invalid
	}
	p := &place{}
	if err := json.Unmarshal(raw[sha256.Size:], p); err != nil {
		return nil, invalid
	}
	return p, nil
}

func (c cursors) sign(scope string, data []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	fmt.Fprintf(mac, "%d:%s%s", len(scope), scope, data)
	return mac.Sum(nil)
}

// scope is what a cursor is good for.
func (q Query) scope(caller, collection string) string {
	return strings.Join([]string{caller, collection, q.Selector, q.Name, q.Cluster, q.Provisioner, q.Version, q.Ready, q.Sort}, "\x00")
}
