package organization

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Limits answers at admission whether an organization may have what is asked for. Of any number of requests at
// once it lets through no more than the quota: what it has let through counts from that moment on, although the
// cache does not show it yet. All requests have to come to the same Limits.
//
// It is safe for concurrent use.
type Limits struct {
	// Host is what a machine has whose pool does not say how much: all of the host. Set it before the first use.
	// What is absent counts as the most that any machine may have.
	Host v1alpha1.MachineResources
	// DataStore names the one in which a provisioner keeps its clusters; empty for one that keeps them in none of this
	// installation. Set it before the first use; nil: none does.
	DataStore func(*v1alpha1.Provisioner) string
	// PodSecurity tells the level of a new cluster of a provisioner for which none is said; empty for one whose clusters have
	// levels of their own. Set it before the first use; nil: all have.
	PodSecurity func(*v1alpha1.Provisioner) string

	client client.Reader // a cache
	direct client.Reader
	now    func() time.Time

	mu      sync.Mutex
	granted map[claimKey][]grant
}

// NewLimits returns Limits that reads organizations, provisioners, clusters, node pools and control planes from a cache. What
// the cache does not show yet it reads directly.
func NewLimits(cache, direct client.Reader, now func() time.Time) *Limits {
	return &Limits{client: cache, direct: direct, now: now, granted: map[claimKey][]grant{}}
}

// claimKey names an object that counts.
type claimKey struct{ kind, namespace, name string }

// grant is what was let through and may not be in the cache yet. An object has several, in their order, when it is
// changed again before the cache shows the first change: which of them are written is not known yet.
type grant struct {
	Amount
	at time.Time
	// after is the object of the same name that the cache still showed when a new one was let through.
	after types.UID
}

// keyOf names a Cluster, a NodePool, a ControlPlane or a Provisioner.
func keyOf(o client.Object) claimKey {
	kind := "clusters"
	switch o.(type) {
	case *v1alpha1.NodePool:
		kind = "nodepools"
	case *v1alpha1.ControlPlane:
		kind = "controlplanes"
	case *v1alpha1.Provisioner:
		kind = "provisioners"
	}
	return claimKey{kind, o.GetNamespace(), o.GetName()}
}

// grantLife is how long the API server may take to write what was let through: its own limit for a request is a minute.
const grantLife = 75 * time.Second

// CauseQuotaExceeded is the type of the cause in a refusal's details when the quota is the reason.
const CauseQuotaExceeded metav1.CauseType = "QuotaExceeded"

// Cluster answers whether the organization may have a cluster: old is nil for a new one. dry counts nothing.
func (l *Limits) Cluster(ctx context.Context, old, c *v1alpha1.Cluster, dry bool) error {
	o, err := l.organization(ctx, c)
	if o == nil || err != nil {
		return err
	}
	p, store, err := l.provisionerOf(ctx, c)
	if err != nil {
		return err
	}
	if old != nil {
		return l.permit(ctx, o, c, clusterUses(old, p, store, ""), clusterUses(c, p, store, ""))
	}
	level := ""
	if p != nil && l.PodSecurity != nil {
		level = l.PodSecurity(p)
	}
	if err := l.permit(ctx, o, c, nil, clusterUses(c, p, store, level)); err != nil {
		return err
	}
	return l.claim(ctx, o, c, true, dry)
}

// NodePool answers whether the organization may have a node pool with so many nodes: old is nil for a new one.
func (l *Limits) NodePool(ctx context.Context, old, p *v1alpha1.NodePool, dry bool) error {
	o, err := l.organization(ctx, p)
	if o == nil || err != nil {
		return err
	}
	var had []use
	if old != nil {
		had = goesOn(poolUses(old), amountOf(old, l.Host), amountOf(p, l.Host))
	}
	if err := l.permit(ctx, o, p, had, poolUses(p)); err != nil {
		return err
	}
	return l.claim(ctx, o, p, old == nil, dry)
}

// Seen says that the cache shows an object now, or, when gone is true, that it does not any more. Without it what
// was let through counts until it cannot be written any more.
func (l *Limits) Seen(object client.Object, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := keyOf(object)
	l.keep(key, unseen(l.granted[key], object.GetUID(), amountOf(object, l.Host), gone))
}

// keep replaces the grants of an object.
func (l *Limits) keep(key claimKey, grants []grant) {
	if len(grants) == 0 {
		delete(l.granted, key)
		return
	}
	l.granted[key] = grants
}

// unseen are the grants that are left when the cache shows an object, or its end. A change that was let through before
// the one that is shown was written before it or never will be: the API server asks again when another change comes
// between its question and its write. It is pure.
func unseen(grants []grant, uid types.UID, shown Amount, gone bool) []grant {
	next := func(g grant) bool { return g.after != "" && g.after == uid } // of an object that comes after this one
	if gone {
		return slices.DeleteFunc(slices.Clone(grants), func(g grant) bool { return !next(g) })
	}
	for i, g := range slices.Backward(grants) {
		if g.Amount == shown && !next(g) {
			return grants[i+1:]
		}
	}
	return grants
}

// organization returns that of an object: nil in a namespace that belongs to none. It refuses the namespace of one that does
// not exist.
func (l *Limits) organization(ctx context.Context, object client.Object) (*v1alpha1.Organization, error) {
	key := keyOf(object)
	name, ok := v1alpha1.OrganizationOf(key.namespace)
	if !ok {
		return nil, nil
	}
	o := &v1alpha1.Organization{}
	err := l.get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, refuse(key.kind, key.name, metav1.StatusCause{
			Field: "metadata.namespace", Message: fmt.Sprintf("is that of the organization %q, which does not exist", name),
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read organization %s: %w", name, err)
	}
	return o, nil
}

// get reads an object that limits what is asked for. A cache that has not seen it yet would let everything through.
func (l *Limits) get(ctx context.Context, key client.ObjectKey, object client.Object) error {
	err := l.client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return l.direct.Get(ctx, key, object)
	}
	return err
}

// claim lets an object through when the quota has room for what it adds.
func (l *Limits) claim(ctx context.Context, o *v1alpha1.Organization, object client.Object, fresh, dry bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	counted, uids, err := l.counted(ctx, object.GetNamespace())
	if err != nil {
		return err
	}
	key, want := keyOf(object), amountOf(object, l.Host)
	used := sum(counted)
	counted[key] = want
	if problem := exceeded(o.Spec.Quota, used, sum(counted)); problem != nil {
		problem.Message += unsaid(object, problem.Field)
		return refuse(key.kind, key.name, *problem)
	}
	if dry {
		return nil
	}
	g := grant{Amount: want, at: l.now()}
	if fresh {
		g.after = uids[key]
	}
	l.granted[key] = append(l.granted[key], g)
	return nil
}

// Use is what an organization has, of all that its quota counts.
func (l *Limits) Use(ctx context.Context, namespace string) (Amount, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counted, _, err := l.counted(ctx, namespace)
	return sum(counted), err
}

// counted is what counts in a namespace: what the cache shows, and what was let through and is not seen there yet.
// uids are those of what the cache shows.
func (l *Limits) counted(ctx context.Context, namespace string) (counted map[claimKey]Amount, uids map[claimKey]types.UID, err error) {
	counted, uids = map[claimKey]Amount{}, map[claimKey]types.UID{}
	for _, list := range []client.ObjectList{&v1alpha1.ClusterList{}, &v1alpha1.NodePoolList{}, &v1alpha1.ControlPlaneList{}} {
		if err := l.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, nil, fmt.Errorf("count what the organization has: %w", err)
		}
		_ = apimeta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			counted[keyOf(object)], uids[keyOf(object)] = amountOf(object, l.Host), object.GetUID()
			return nil
		})
	}
	for key, grants := range l.granted {
		l.keep(key, slices.DeleteFunc(grants, func(g grant) bool { return l.now().Sub(g.at) > grantLife }))
		for _, g := range l.granted[key] {
			if key.namespace == namespace {
				counted[key] = counted[key].max(g.Amount)
			}
		}
	}
	return counted, uids, nil
}

func refuse(resource, name string, cause metav1.StatusCause) error {
	if cause.Type == "" {
		cause.Type = metav1.CauseTypeForbidden
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{
			Group: v1alpha1.GroupVersion.Group, Kind: resource, Name: name, Causes: []metav1.StatusCause{cause},
		},
		Message: fmt.Sprintf("%s %q: %s: %s", resource, name, cause.Field, cause.Message),
	}}
}
