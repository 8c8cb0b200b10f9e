package problem

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
)

// TestFieldConflict: an apply that meets other managers says which fields, as the body has them, and is not sent again.
func TestFieldConflict(t *testing.T) {
	err := apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Field: ".metadata.labels.a", Message: `conflict with "one"`},
		{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "two"`},
	}, "two conflicts")
	p := FieldConflict(err)
	want := []rest.FieldError{{Pointer: "/labels/a", Detail: `conflict with "one"`}, {Pointer: "/spec/replicas", Detail: `conflict with "two"`}}
	if diff := cmp.Diff(want, p.Errors); diff != "" || p.Status != http.StatusConflict || p.Code != rest.CodeFieldConflict || p.Retryable {
		t.Errorf("%+v (-want +got):\n%s", p, diff)
	}
}
