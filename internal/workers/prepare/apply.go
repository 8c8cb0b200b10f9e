package prepare

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/workers/addons"
)

// maxOwner is how many bytes of what a cluster says about an owner are repeated.
const maxOwner = 63

// object is which one something is, in a cluster.
type object struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func which(o client.Object) object {
	return object{o.GetObjectKind().GroupVersionKind(), o.GetNamespace(), o.GetName()}
}

// verdict is what became of an addon that was not applied: it is a user's, or was refused.
type verdict struct{ state, message string }

// apply makes the objects so, in their order, and returns the addons that are not applied. An object that is refused, of an addon
// without which nodes are of use, keeps that addon alone back; any other ends it.
func apply(ctx context.Context, c client.Client, objects []client.Object) (map[string]verdict, error) {
	out, err := leave(ctx, c, objects)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		addon := o.GetLabels()[v1alpha1.LabelAddon]
		if _, not := out[addon]; not {
			continue
		}
		err := kube.Apply(ctx, c, []client.Object{o}, addons.Manager)
		if err != nil && (addons.Joining(addon) || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			out[addon] = failed(err)
		}
	}
	return out, nil
}

// failed is the verdict on an addon whose object is refused. A kind that the API server does not serve yet was made a moment ago.
func failed(err error) verdict {
	v := verdict{v1alpha1.AddonFailed, text.Cut(text.Line(err.Error()), maxMessage)}
	if apimeta.IsNoMatchError(err) {
		v.state = v1alpha1.AddonProgressing
	}
	return v
}

// prune deletes the objects of addons that are not wanted any more, but for those of users.
func prune(ctx context.Context, c client.Client, objects []client.Object, not map[string]verdict) error {
	wanted := map[object]bool{}
	for _, o := range objects {
		wanted[which(o)] = true
	}
	err := kube.Prune(ctx, c, addons.Kinds(), v1alpha1.LabelAddon, func(o *metav1.PartialObjectMetadata) bool {
		users := not[o.Labels[v1alpha1.LabelAddon]].state == v1alpha1.AddonUserOwned
		return users || wanted[which(o)] || o.Labels[addons.LabelManagedBy] != addons.ManagedByKQueen
	})
	if err != nil {
		return err
	}
	return kube.Remove(ctx, c, addons.Retired(), func(o *metav1.PartialObjectMetadata) bool {
		return o.Labels[v1alpha1.LabelAddon] == "" && o.Labels[addons.LabelManagedBy] == addons.ManagedByKQueen
	})
}

// leave returns the addons of which an object is there that is not KQueen's.
func leave(ctx context.Context, c client.Client, objects []client.Object) (map[string]verdict, error) {
	left := map[string]verdict{}
	for _, o := range objects {
		addon := o.GetLabels()[v1alpha1.LabelAddon]
		if _, known := left[addon]; known || addon == "" {
			continue
		}
		why, err := owner(ctx, c, o)
		if err != nil {
			return nil, err
		}
		if why != "" {
			left[addon] = verdict{v1alpha1.AddonUserOwned, why}
		}
	}
	return left, nil
}

// owner says whose an object is that is there under the name of one of ours; empty when there is none, or ours.
func owner(ctx context.Context, c client.Client, ours client.Object) (string, error) {
	there, err := metadataOf(ctx, c, ours)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look whose %s %s is: %w", there.Kind, ours.GetName(), err)
	}
	return ownedBy(there), nil
}

// ownedBy says whose an object is; empty for one of ours. It is pure.
func ownedBy(there *metav1.PartialObjectMetadata) string {
	what := there.Kind + " " + there.Name
	switch by := there.Labels[addons.LabelManagedBy]; by {
	case addons.ManagedByKQueen:
		return ""
	case "":
		return fmt.Sprintf("%s has no label %s=%s: it is left as it is", what, addons.LabelManagedBy, addons.ManagedByKQueen)
	default:
		return fmt.Sprintf("%s is managed by %.*s: it is left as it is", what, maxOwner, by)
	}
}
