package exit

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kqueen.io/kqueen/client"
)

// answered is an answer of the API that says no, or of a server on the way, which knows no codes.
func answered(status int, code string) error {
	return fmt.Errorf("GET /api/v1/users: %w", &client.Problem{Status: status, Code: code})
}

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

		"the API does not find it":     {answered(404, "not-found"), NotFound},
		"a proxy does not find it":     {answered(404, ""), Failed},
		"the API does not know who":    {answered(401, "unauthenticated"), Denied},
		"the role does not allow it":   {answered(403, "forbidden"), Denied},
		"the quota does not allow it":  {answered(403, "quota-exceeded"), Denied},
		"a proxy waits for the server": {answered(504, ""), TimedOut},
		"a proxy finds no server":      {answered(502, ""), Failed},
		"the server is busy":           {answered(429, "too-many-requests"), Failed},
		"what a command says of it":    {Fail(NotFound, "there is none: %w", answered(500, "internal")), NotFound},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := CodeOf(c.err); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}
