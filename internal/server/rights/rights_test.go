package rights

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/server/problem"
)

// plane is an admin plane that answers with err, or with no to every question.
type plane struct {
	client.Client

	err error
}

func (p plane) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	o.(*authorizationv1.SubjectAccessReview).Status.Denied = true
	return p.err
}

// TestAnOutageIsNoRefusal: an admin plane that cannot be asked, or does not let KQueen ask, refuses no caller.
func TestAnOutageIsNoRefusal(t *testing.T) {
	reviews := schema.GroupResource{Group: authorizationv1.GroupName, Resource: "subjectaccessreviews"}
	for name, tc := range map[string]struct {
		err    error
		status int
	}{
		"No":           {nil, http.StatusForbidden},
		"Away":         {errors.New("connection refused"), http.StatusServiceUnavailable},
		"Busy":         {apierrors.NewTooManyRequests("busy", 1), http.StatusServiceUnavailable},
		"KQueenMayNot": {apierrors.NewForbidden(reviews, "", errors.New("no")), http.StatusServiceUnavailable},
		"NotKQueen":    {apierrors.NewUnauthorized("expired"), http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			err := New(plane{err: tc.err}, nil, time.Now).Require(t.Context(), Act{Verb: "list", Resource: "clusters"})
			if p := problem.Of(err); p.Status != tc.status || problem.Refuses(err) != (tc.err == nil) {
				t.Errorf("the caller is told %d %s", p.Status, p.Detail)
			}
		})
	}
}
