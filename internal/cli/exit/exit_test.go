package exit

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExitCode(t *testing.T) {
	clusters := schema.GroupResource{Group: "kqueen.io", Resource: "clusters"}
	cases := map[string]struct {
		err  error
		want int
	}{
		"any":          {errors.New("x"), Failed},
		"coded":        {fmt.Errorf("do: %w", Fail(Usage, "x")), Usage},
		"not found":    {fmt.Errorf("get: %w", apierrors.NewNotFound(clusters, "demo")), NotFound},
		"forbidden":    {fmt.Errorf("get: %w", apierrors.NewForbidden(clusters, "demo", nil)), Denied},
		"unauthorized": {fmt.Errorf("get: %w", apierrors.NewUnauthorized("x")), Denied},
		"deadline":     {fmt.Errorf("get: %w", context.DeadlineExceeded), TimedOut},
		"refused":      {fmt.Errorf("get: %w", syscall.ECONNREFUSED), Failed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := CodeOf(c.err); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}
