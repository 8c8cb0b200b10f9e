package organization

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	hook "kqueen.io/kqueen/internal/platform/admission"
)

// Follow tells the limits what the cache shows, from now on.
func (l *Limits) Follow(ctx context.Context, from cache.Cache) error {
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { l.Seen(o.(client.Object), false) },
		UpdateFunc: func(_, o any) { l.Seen(o.(client.Object), false) },
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			l.Seen(o.(client.Object), true)
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

// Clusters validates clusters.
func (l *Limits) Clusters() admission.Validator[*v1alpha1.Cluster] { return limitClusters{l} }

// Provisioners validates provisioners.
func (l *Limits) Provisioners() admission.Validator[*v1alpha1.Provisioner] {
	return limitProvisioners{l}
}

// NodePools validates node pools.
func (l *Limits) NodePools() admission.Validator[*v1alpha1.NodePool] { return limitPools{l} }

// Scales validates the subresource of node pools by which a caller scales one without writing its spec.
func (l *Limits) Scales() admission.Validator[*autoscalingv1.Scale] {
	return limitScales{l}
}

type limitClusters struct{ limits *Limits }

func (v limitClusters) ValidateCreate(ctx context.Context, c *v1alpha1.Cluster) (admission.Warnings, error) {
	return nil, v.limits.Cluster(ctx, nil, c, hook.Dry(ctx))
}

func (v limitClusters) ValidateUpdate(ctx context.Context, old, c *v1alpha1.Cluster) (admission.Warnings, error) {
	if !c.DeletionTimestamp.IsZero() || old.Generation == c.Generation {
		return nil, nil
	}
	return nil, v.limits.Cluster(ctx, old, c, hook.Dry(ctx))
}

func (v limitClusters) ValidateDelete(context.Context, *v1alpha1.Cluster) (admission.Warnings, error) {
	return nil, nil
}

type limitProvisioners struct{ limits *Limits }

func (v limitProvisioners) ValidateCreate(ctx context.Context, p *v1alpha1.Provisioner) (admission.Warnings, error) {
	return nil, v.limits.Provisioner(ctx, nil, p)
}

func (v limitProvisioners) ValidateUpdate(ctx context.Context, old, p *v1alpha1.Provisioner) (admission.Warnings, error) {
	if !p.DeletionTimestamp.IsZero() || old.Generation == p.Generation {
		return nil, nil
	}
	return nil, v.limits.Provisioner(ctx, old, p)
}

func (v limitProvisioners) ValidateDelete(context.Context, *v1alpha1.Provisioner) (admission.Warnings, error) {
	return nil, nil
}

type limitPools struct{ limits *Limits }

func (v limitPools) ValidateCreate(ctx context.Context, p *v1alpha1.NodePool) (admission.Warnings, error) {
	return nil, v.limits.NodePool(ctx, nil, p, hook.Dry(ctx))
}

func (v limitPools) ValidateUpdate(ctx context.Context, old, p *v1alpha1.NodePool) (admission.Warnings, error) {
	if !p.DeletionTimestamp.IsZero() || old.Generation == p.Generation {
		return nil, nil
	}
	return nil, v.limits.NodePool(ctx, old, p, hook.Dry(ctx))
}

func (v limitPools) ValidateDelete(context.Context, *v1alpha1.NodePool) (admission.Warnings, error) {
	return nil, nil
}

type limitScales struct{ limits *Limits }

func (v limitScales) ValidateCreate(context.Context, *autoscalingv1.Scale) (admission.Warnings, error) {
	return nil, nil
}

func (v limitScales) ValidateUpdate(ctx context.Context, old, s *autoscalingv1.Scale) (admission.Warnings, error) {
	p := &v1alpha1.NodePool{}
	// What the cache shows may be older than what is being scaled, and its machines smaller.
	err := v.limits.client.Get(ctx, client.ObjectKeyFromObject(s), p)
	if apierrors.IsNotFound(err) || err == nil && p.ResourceVersion != old.ResourceVersion {
		err = v.limits.direct.Get(ctx, client.ObjectKeyFromObject(s), p)
	}
	if err != nil {
		return nil, fmt.Errorf("read node pool %s: %w", s.Name, err)
	}
	next := p.DeepCopy()
	next.Spec.Replicas = s.Spec.Replicas
	return nil, v.limits.NodePool(ctx, p, next, hook.Dry(ctx))
}

func (v limitScales) ValidateDelete(context.Context, *autoscalingv1.Scale) (admission.Warnings, error) {
	return nil, nil
}
