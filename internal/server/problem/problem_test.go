package problem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kqueen.io/kqueen/internal/tenancy/access"
)

// TestRefuses: what could not be found out is no refusal, whatever hindered it and however often it is explained.
func TestRefuses(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "clusters"}, "demo", errors.New("no"))
	for name, tc := range map[string]struct {
		err     error
		refuses bool
		status  int
	}{
		"Unknown":       {fmt.Errorf("identify: %w", access.ErrUnauthenticated), true, http.StatusUnauthorized},
		"NoMint":        {access.ErrNeedsMint, true, http.StatusForbidden},
		"NeedsFresh":    {access.ErrNeedsFresh, true, http.StatusUnauthorized},
		"Role":          {Forbidden("owner"), true, http.StatusForbidden},
		"ByThePlane":    {forbidden, true, http.StatusForbidden},
		"NotFound":      {NotFound(), false, http.StatusNotFound},
		"Silent":        {context.DeadlineExceeded, false, http.StatusServiceUnavailable},
		"Refused":       {fmt.Errorf("read: %w", &url.Error{Op: "Get", URL: "https://127.0.0.1:1", Err: syscall.ECONNREFUSED}), false, http.StatusServiceUnavailable},
		"Reset":         {fmt.Errorf("read: %w", &net.OpError{Op: "read", Err: syscall.ECONNRESET}), false, http.StatusServiceUnavailable},
		"Cut":           {fmt.Errorf("read: %w", &url.Error{Op: "Get", URL: "https://127.0.0.1:1", Err: io.EOF}), false, http.StatusServiceUnavailable},
		"Broken":        {errors.New("broken"), false, http.StatusInternalServerError},
		"Unasked":       {Unasked(errors.New("broken")), false, http.StatusServiceUnavailable},
		"KQueenRefused": {fmt.Errorf("ask: %w", Unasked(forbidden)), false, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			explained := ExplainAccess(ExplainAccess(tc.err))
			if got := Of(explained).Status; Refuses(tc.err) != tc.refuses || Refuses(explained) != tc.refuses || got != tc.status {
				t.Errorf("it refuses: %t, explained: %t, with %d, want %t and %d", Refuses(tc.err), Refuses(explained), got, tc.refuses, tc.status)
			}
		})
	}
	if Refuses(nil) {
		t.Error("no error refuses")
	}
}
