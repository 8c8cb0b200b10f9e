package prepare

import (
	"context"

	"github.com/Masterminds/semver/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/workers/addons"
)

// applyGatewayAPI makes the kinds of the Gateway API what they are in this KQueen, where they are KQueen's, and returns the verdict
// where that was not done, or an empty one. Kinds of a later version stay: objects may use what is new in them.
func applyGatewayAPI(ctx context.Context, c client.Client) verdict {
	stale := false
	for _, kind := range addons.GatewayAPIKinds() {
		there, err := metadataOf(ctx, c, kind)
		if apierrors.IsNotFound(err) {
			stale = true
			continue
		}
		if err != nil {
			return failed(err)
		}
		has := there.Annotations[addons.AnnotationBundleVersion]
		switch {
		case there.Labels[addons.LabelManagedBy] != addons.ManagedByKQueen:
			return verdict{v1alpha1.AddonUserOwned, ownedBy(there)}
		case later(has, addons.GatewayAPIVersion):
			return verdict{v1alpha1.AddonUserOwned, text.Cut(kind.GetName()+" is of the later version "+text.Line(has)+": it is left as it is", maxMessage)}
		case has != addons.GatewayAPIVersion:
			stale = true
		}
	}
	if !stale {
		return verdict{}
	}
	objects, err := addons.GatewayAPI()
	if err == nil {
		err = kube.Apply(ctx, c, objects, addons.Manager)
	}
	if err != nil {
		return failed(err)
	}
	return verdict{}
}

// later says whether a version is later than another one; what is none is not. It is pure.
func later(a, b string) bool {
	one, err := semver.NewVersion(a)
	if err != nil {
		return false
	}
	two, err := semver.NewVersion(b)
	return err == nil && one.GreaterThan(two)
}

func metadataOf(ctx context.Context, c client.Client, o client.Object) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, kube.CallDeadline)
	defer cancel()
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	return there, c.Get(ctx, client.ObjectKeyFromObject(o), there)
}
