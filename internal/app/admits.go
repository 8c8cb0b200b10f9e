//go:build linux

package app

import (
	"context"
	"fmt"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

// admits says of each resource whether somebody may have it: the verbs know whether it can be made, the
// organization's limits whether there is room for it. Limits come last, because they count what they let through.
type admits struct {
	cache    client.Reader
	direct   client.Reader
	clusters *cluster.Validator
	limits   *organization.Limits
}

// handlers are keyed by resource, with a subresource after a slash.
func (a *admits) handlers(scheme *runtime.Scheme) map[string]http.Handler {
	return map[string]http.Handler{
		"clusters":        admission.WithValidator(scheme, admitClusters{a}),
		"nodepools":       admission.WithValidator(scheme, admitPools{a}),
		"nodepools/scale": admission.WithValidator(scheme, admitScales{a}),
	}
}

// follow tells the limits what the cache shows.
func (a *admits) follow(ctx context.Context, from cache.Cache) error {
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { a.limits.Seen(o.(client.Object), false) },
		UpdateFunc: func(_, o any) { a.limits.Seen(o.(client.Object), false) },
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			a.limits.Seen(o.(client.Object), true)
		},
	}
	for _, kind := range []client.Object{&v1alpha1.Cluster{}, &v1alpha1.NodePool{}} {
		informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("follow %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("follow %T: %w", kind, err)
		}
	}
	return nil
}

type admitClusters struct{ *admits }

func (a admitClusters) ValidateCreate(ctx context.Context, c *v1alpha1.Cluster) (admission.Warnings, error) {
	warnings, err := a.clusters.ValidateCreate(ctx, c)
	if err != nil {
		return warnings, err
	}
	return warnings, a.limits.Cluster(ctx, nil, c, dry(ctx))
}

func (a admitClusters) ValidateUpdate(ctx context.Context, old, c *v1alpha1.Cluster) (admission.Warnings, error) {
	warnings, err := a.clusters.ValidateUpdate(ctx, old, c)
	if err != nil || !c.DeletionTimestamp.IsZero() {
		return warnings, err
	}
	return warnings, a.limits.Cluster(ctx, old, c, dry(ctx))
}

func (a admitClusters) ValidateDelete(context.Context, *v1alpha1.Cluster) (admission.Warnings, error) {
	return nil, nil
}

type admitPools struct{ *admits }

func (a admitPools) ValidateCreate(ctx context.Context, p *v1alpha1.NodePool) (admission.Warnings, error) {
	return nil, a.limits.NodePool(ctx, nil, p, dry(ctx))
}

func (a admitPools) ValidateUpdate(ctx context.Context, old, p *v1alpha1.NodePool) (admission.Warnings, error) {
	if !p.DeletionTimestamp.IsZero() || old.Generation == p.Generation {
		return nil, nil
	}
	return nil, a.limits.NodePool(ctx, old, p, dry(ctx))
}

func (a admitPools) ValidateDelete(context.Context, *v1alpha1.NodePool) (admission.Warnings, error) {
	return nil, nil
}

// admitScales answers for those who scale a pool without writing its spec.
type admitScales struct{ *admits }

func (a admitScales) ValidateCreate(context.Context, *autoscalingv1.Scale) (admission.Warnings, error) {
	return nil, nil
}

func (a admitScales) ValidateUpdate(ctx context.Context, old, s *autoscalingv1.Scale) (admission.Warnings, error) {
	p := &v1alpha1.NodePool{}
	// What the cache shows may be older than what is being scaled, and its machines smaller.
	err := a.cache.Get(ctx, client.ObjectKeyFromObject(s), p)
	if apierrors.IsNotFound(err) || err == nil && p.ResourceVersion != old.ResourceVersion {
		err = a.direct.Get(ctx, client.ObjectKeyFromObject(s), p)
	}
	if err != nil {
		return nil, fmt.Errorf("read node pool %s: %w", s.Name, err)
	}
	next := p.DeepCopy()
	next.Spec.Replicas = s.Spec.Replicas
	return nil, a.limits.NodePool(ctx, p, next, dry(ctx))
}

func (a admitScales) ValidateDelete(context.Context, *autoscalingv1.Scale) (admission.Warnings, error) {
	return nil, nil
}

// dry says whether nothing will be written whatever the answer.
func dry(ctx context.Context) bool {
	req, err := admission.RequestFromContext(ctx)
	return err == nil && ptr.Deref(req.DryRun, false)
}
