package operatortest

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Client counts and breaks the calls that a reconciler makes through c. Reads through it are named
// Kind.Get and Kind.List, writes Kind.Create, Kind.Update, Kind.Patch and Kind.Delete, and those of
// the status Kind.StatusPatch and Kind.StatusUpdate; evictions are Pod.EvictionCreate.
func (i *Injector) Client(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return i.Read(name(obj, "Get"), func() error { return c.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return i.Read(name(list, "List"), func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return i.write(call{name: name(obj, "Create"), faults: acting}, func() error { return c.Create(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return i.write(call{name: name(obj, "Delete"), faults: writing}, func() error { return c.Delete(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return i.write(call{name: name(obj, "Update"), faults: writing}, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return i.write(call{name: name(obj, "Patch"), faults: writing}, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, obj, made client.Object, opts ...client.SubResourceCreateOption) error {
			return i.write(call{name: name(obj, title(sub)+"Create"), faults: acting}, func() error { return c.SubResource(sub).Create(ctx, obj, made, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return i.write(call{name: name(obj, title(sub)+"Update"), faults: writing}, func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return i.write(call{name: name(obj, title(sub)+"Patch"), faults: writing}, func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
	})
}

// write notes that a write was performed, which is an event for every watch of the object.
func (i *Injector) write(c call, do func() error) error {
	return i.do(c, func() error {
		err := do()
		if err == nil {
			i.wrote()
		}
		return err
	})
}

// name is the object's Go type without its package, and the API verb.
func name(obj any, verb string) string {
	kind := fmt.Sprintf("%T", obj)
	return kind[strings.LastIndex(kind, ".")+1:] + "." + verb
}

func title(sub string) string { return strings.ToUpper(sub[:1]) + sub[1:] }
