package operator_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// configMaps is a phase that makes a ConfigMap of the phase's name.
func configMaps(c client.Client, name string) phase {
	return phase{
		Condition: name,
		Ensure: func(ctx context.Context, p *v1alpha1.Provisioner) operator.Outcome {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "made-by-" + p.Name + "-" + name}}
			err := c.Get(ctx, client.ObjectKeyFromObject(cm), cm)
			if apierrors.IsNotFound(err) {
				err = c.Create(ctx, cm)
			}
			if err != nil {
				return operator.Retry("Refused", err)
			}
			return operator.Done("Made", "")
		},
		Remove: func(ctx context.Context, p *v1alpha1.Provisioner) operator.Outcome {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "made-by-" + p.Name + "-" + name}}
			if err := client.IgnoreNotFound(c.Delete(ctx, cm)); err != nil {
				return operator.Retry("Refused", err)
			}
			return operator.Done("Idle", "")
		},
	}
}

// kitWorld is a Provisioner whose phases make two ConfigMaps.
func kitWorld(t *testing.T) (operatortest.World, *subject) {
	s := newSubject(t)
	return operatortest.World{
		Request: s.request,
		Reconciler: func(inj *operatortest.Injector) reconcile.Reconciler {
			c := inj.Client(s.client)
			config := s.config(configMaps(c, "first"), configMaps(c, "second"))
			config.Client = c
			return operator.New(config)
		},
		Object: func(ctx context.Context) (operator.Object, error) {
			p := &v1alpha1.Provisioner{}
			return p, s.client.Get(ctx, s.key, p)
		},
		Done: func(ctx context.Context) (bool, error) {
			p := &v1alpha1.Provisioner{}
			err := s.client.Get(ctx, s.key, p)
			return apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady), err
		},
		Snapshot: func(ctx context.Context) (any, error) {
			list := &corev1.ConfigMapList{}
			err := s.client.List(ctx, list, client.InNamespace(s.key.Namespace))
			var names []string
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
			return names, err
		},
	}, s
}

func (s *subject) deletion() *operatortest.Act {
	return &operatortest.Act{
		Do: func(ctx context.Context) error {
			return client.IgnoreNotFound(s.client.Delete(ctx, &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}))
		},
		Done: func(ctx context.Context) (bool, error) {
			err := s.client.Get(ctx, s.key, &v1alpha1.Provisioner{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		},
	}
}

func TestKitUnderFaults(t *testing.T) {
	t.Run("Create", func(t *testing.T) {
		operatortest.Run(t, func(t *testing.T) operatortest.World { w, _ := kitWorld(t); return w })
	})
	t.Run("DeleteHalfMade", func(t *testing.T) {
		operatortest.Run(t, func(t *testing.T) operatortest.World {
			w, s := kitWorld(t)
			w.Then = s.deletion()
			return w
		})
	})
	t.Run("Delete", func(t *testing.T) {
		operatortest.Run(t, func(t *testing.T) operatortest.World {
			w, s := kitWorld(t)
			return operatortest.After(t, w, *s.deletion())
		})
	})
}
