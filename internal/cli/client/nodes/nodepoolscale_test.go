//go:build linux

package nodes

import (
	"bytes"
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestResizeBesideOthers changes a pool just before it is scaled. A status matters not; another size does,
// because what was asked for was computed from the size before.
func TestResizeBesideOthers(t *testing.T) {
	status := func(ctx context.Context, c client.Client, pool *v1alpha1.NodePool) error {
		pool.Status.ReadyReplicas++
		return c.Status().Update(ctx, pool)
	}
	size := func(ctx context.Context, c client.Client, pool *v1alpha1.NodePool) error {
		pool.Spec.Replicas = 7
		return c.Update(ctx, pool)
	}
	cases := map[string]struct {
		meanwhile func(context.Context, client.Client, *v1alpha1.NodePool) error
		times     int
		want      int32
		conflict  bool
		problem   string
	}{
		"nobody else":                     {want: 2},
		"its status changes":              {meanwhile: status, times: scaleTries - 1, want: 2},
		"its status changes all the time": {meanwhile: status, times: scaleTries, want: 3, conflict: true},
		"somebody else scales it": {
			meanwhile: size, times: 1, want: 7,
			problem: "somebody else scaled nodepool pool to 7 nodes just now; look at it, and try again",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			plane := controlplanetest.Client(t)
			pool := kinds.NewNodePool()
			pool.Namespace, pool.Name, pool.Spec.ClusterName, pool.Spec.Replicas = controlplanetest.Namespace(t, plane), "pool", "demo", 3
			if err := plane.Create(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			times := c.times
			busy := interceptor.NewClient(plane, interceptor.Funcs{
				Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
					if times > 0 {
						times--
						fresh := &v1alpha1.NodePool{}
						if err := inner.Get(ctx, client.ObjectKeyFromObject(object), fresh); err != nil {
							return err
						}
						if err := c.meanwhile(ctx, inner, fresh); err != nil {
							return err
						}
					}
					return inner.Patch(ctx, object, patch, options...)
				},
			})
			var words bytes.Buffer
			err := (&scaling{env: connection.New(nil, nil, &words)}).resize(t.Context(), busy, pool, 2)
			if apierrors.IsConflict(err) != c.conflict {
				t.Errorf("error %v, want a conflict: %t", err, c.conflict)
			}
			if !c.conflict {
				wantProblem(t, c.problem, err)
			}
			got := &v1alpha1.NodePool{}
			if err := plane.Get(t.Context(), client.ObjectKeyFromObject(pool), got); err != nil {
				t.Fatal(err)
			}
			if got.Spec.Replicas != c.want {
				t.Errorf("the pool is to have %d nodes, want %d", got.Spec.Replicas, c.want)
			}
		})
	}
}
