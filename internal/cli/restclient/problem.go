package restclient

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
)

// refusal is a problem in the words of an API server. It is still the problem, for who looks for that.
type refusal struct {
	*apierrors.StatusError

	problem *kqueen.Problem
}

// Unwrap returns both sides.
func (r *refusal) Unwrap() []error { return []error{r.StatusError, r.problem} }

// explain makes what an API server would have said of a refusal; other errors stay as they are.
func explain(err error, kind, name string) error {
	problem, ok := errors.AsType[*kqueen.Problem](err)
	if !ok {
		return err
	}
	return &refusal{&apierrors.StatusError{ErrStatus: statusOf(problem, kind, name)}, problem}
}

// statusOf is a problem as an API server writes it.
func statusOf(p *kqueen.Problem, kind, name string) metav1.Status {
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: int32(p.Status), Reason: reasonOf(p), Message: p.Error(),
		Details: &metav1.StatusDetails{Name: name, Group: v1alpha1.GroupVersion.Group, Kind: kind},
	}
	for _, e := range p.Errors {
		if e.Pointer == "" && e.Detail == "" {
			continue
		}
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldValueInvalid, Field: fieldOf(e.Pointer), Message: e.Detail,
		})
	}
	if p.Code == rest.CodeChanged || p.Code == rest.CodeNeedsMatch {
		status.Code, status.Details.Causes = http.StatusConflict, nil
	}
	return status
}

// reasonOf is the API server's word for a problem. The code says more than the status, which others on the way set too.
func reasonOf(p *kqueen.Problem) metav1.StatusReason {
	byCode := map[string]metav1.StatusReason{
		rest.CodeExists: metav1.StatusReasonAlreadyExists, rest.CodeChanged: metav1.StatusReasonConflict, rest.CodeNeedsMatch: metav1.StatusReasonConflict,
		rest.CodeGone: metav1.StatusReasonExpired,
	}
	if reason := byCode[p.Code]; reason != "" {
		return reason
	}
	byStatus := map[int]metav1.StatusReason{
		http.StatusBadRequest: metav1.StatusReasonInvalid, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusGone: metav1.StatusReasonExpired, http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
		http.StatusUnsupportedMediaType: metav1.StatusReasonUnsupportedMediaType,
		http.StatusTooManyRequests:      metav1.StatusReasonTooManyRequests, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
		http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
	}
	if reason := byStatus[p.Status]; reason != "" {
		return reason
	}
	return metav1.StatusReasonInternalError
}

// fieldOf makes "spec.taints[0].key" of the JSON pointer "/spec/taints/0/key", and "metadata.name" of "/name". Names of
// parameters and headers stay.
func fieldOf(pointer string) string {
	var b strings.Builder
	path, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return pointer
	}
	for part := range strings.SplitSeq(path, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch {
		case b.Len() == 0 && (part == "name" || part == "labels" || part == "annotations"):
			part = "metadata." + part
		case part != "" && strings.Trim(part, "0123456789") == "":
			part = "[" + part + "]"
		case b.Len() > 0:
			part = "." + part
		}
		b.WriteString(part)
	}
	return b.String()
}
