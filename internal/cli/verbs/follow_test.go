//go:build linux

package verbs

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// testCluster is a cluster that can be made.
func testCluster(namespace, name string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.ClusterSpec{Version: "v1.36.10"},
	}
}

// TestFollowSurvivesBrokenWatches breaks every watch before it can tell more than what is there, one when it has told a
// part, and one by refusing the connection, and wants every change to be seen all the same.
func TestFollowSurvivesBrokenWatches(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := controlplanetest.Namespace(t, c)
	if err := c.Create(t.Context(), testCluster(namespace, "kept")); err != nil {
		t.Fatal(err)
	}
	doomed := testCluster(namespace, "doomed")
	if err := c.Create(t.Context(), doomed); err != nil {
		t.Fatal(err)
	}

	var watches, lost atomic.Int32
	broken := interceptor.NewClient(c, interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			n := watches.Add(1)
			if n == 2 {
				return nil, syscall.ECONNREFUSED
			}
			w, err := c.Watch(ctx, list, options...)
			if err != nil {
				return nil, err
			}
			return breaking(w, n == 4), nil
		},
	})
	var seen []string
	f := &follower{
		client: broken,
		source: kinds.Source{Kind: kinds.Cluster, Namespace: namespace},
		lost:   func(error) { lost.Add(1) },
		see: func(changes []change) (bool, error) {
			for _, change := range changes {
				word := "is "
				if change.gone {
					word = "gone "
				}
				seen = append(seen, word+change.object.GetName())
			}
			switch len(seen) {
			case 2:
				return false, c.Delete(t.Context(), doomed)
			case 3:
				return false, c.Create(t.Context(), testCluster(namespace, "late"))
			}
			return len(seen) == 4, nil
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.run(ctx); err != nil {
		t.Fatal(err)
	}
	want := []string{"is doomed", "is kept", "gone doomed", "is late"}
	for i := range want {
		if seen[i] != want[i] {
			t.Fatalf("saw %q, want %q", seen, want)
		}
	}
	if lost.Load() != 2 {
		t.Errorf("outages were told %d times, want twice", lost.Load())
	}
}

// breaking ends a watch when it has said what is there, or before it has said that this is all.
func breaking(w watch.Interface, early bool) watch.Interface {
	out := make(chan watch.Event)
	broken := watch.NewProxyWatcher(out)
	go func() {
		defer close(out)
		defer w.Stop()
		for event := range w.ResultChan() {
			last := event.Type == watch.Bookmark
			if last && early {
				return
			}
			select {
			case out <- event:
			case <-broken.StopChan():
				return
			}
			if last {
				return
			}
		}
	}()
	return broken
}

// TestFollowEnds wants the reason why the context ended.
func TestFollowEnds(t *testing.T) {
	c := controlplanetest.Client(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	f := &follower{
		client: c,
		source: kinds.Source{Kind: kinds.Cluster, Namespace: controlplanetest.Namespace(t, c)},
		see: func([]change) (bool, error) {
			cancel(exit.ErrTimedOut)
			return false, nil
		},
	}
	if err := f.run(ctx); !errors.Is(err, exit.ErrTimedOut) {
		t.Errorf("got %v, want the reason why the context ended", err)
	}
}
