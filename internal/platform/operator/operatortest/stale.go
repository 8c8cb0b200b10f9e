package operatortest

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Stale is c as a reconciler sees it through a cache that has not heard yet of any object of the kinds of unseen: reads
// find none, writes are as before. What a reconciler calls gone with it, it decides on a cache.
func Stale(c client.WithWatch, unseen ...client.Object) client.WithWatch {
	hidden := map[reflect.Type]bool{}
	for _, o := range unseen {
		hidden[reflect.TypeOf(o)] = true
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if hidden[reflect.TypeOf(obj)] {
				return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(obj).Elem().Name()}, key.Name)
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := c.List(ctx, list, opts...); err != nil {
				return err
			}
			items, err := apimeta.ExtractList(list)
			if err != nil || len(items) == 0 || !hidden[reflect.TypeOf(items[0])] {
				return err
			}
			return apimeta.SetList(list, nil)
		},
	})
}
