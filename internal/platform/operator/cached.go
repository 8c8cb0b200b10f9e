package operator

import (
	"context"
	"fmt"
	"maps"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WaitCached waits until cached shows all objects of a kind of list as new as direct shows them when it is called, or newer, and says
// whether that was reached before ctx ended, which bounds it. A status that was just written is not yet in the cache from which
// users are answered.
func WaitCached(ctx context.Context, direct, cached client.Reader, list client.ObjectList) (bool, error) {
	var missing map[types.UID]string
	return WaitAgreed(ctx, func(ctx context.Context) (bool, error) {
		if missing == nil {
			var err error
			if missing, err = versions(ctx, direct, list); err != nil {
				return false, err
			}
		}
		have, err := versions(ctx, cached, list)
		if err != nil {
			return false, err
		}
		maps.DeleteFunc(missing, func(uid types.UID, version string) bool { return notBefore(have[uid], version) })
		if len(missing) == 0 {
			return true, nil
		}
		there, err := versions(ctx, direct, list)
		if err != nil {
			return false, err
		}
		maps.DeleteFunc(missing, func(uid types.UID, _ string) bool { return there[uid] == "" }) // deleted meanwhile
		return len(missing) == 0, nil
	})
}

// versions are the resource versions of the objects of a kind of list.
func versions(ctx context.Context, r client.Reader, kind client.ObjectList) (map[types.UID]string, error) {
	list := kind.DeepCopyObject().(client.ObjectList)
	if err := r.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list %T: %w", list, err)
	}
	versions := map[types.UID]string{}
	err := apimeta.EachListItem(list, func(o runtime.Object) error {
		object, err := apimeta.Accessor(o)
		if err == nil {
			versions[object.GetUID()] = object.GetResourceVersion()
		}
		return err
	})
	return versions, err
}

// notBefore says whether a resource version is at least as new as another one of the same object; none is not. It is pure.
func notBefore(have, version string) bool {
	if have == version {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(have, version)
	return err == nil && order >= 0
}
