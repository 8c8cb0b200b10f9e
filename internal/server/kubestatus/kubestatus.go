// Package kubestatus answers as API servers of Kubernetes do where a request is not served, so that their clients understand. The
// handlers of Kubernetes APIs below package server import it.
package kubestatus

import (
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

// Refuse answers with a problem.
func Refuse(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	reasons := map[int]metav1.StatusReason{
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusMethodNotAllowed: metav1.StatusReasonMethodNotAllowed,
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
		http.StatusBadRequest: metav1.StatusReasonBadRequest,
	}
	said := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Message: strings.TrimSpace(p.Detail + " (request " + chain.Of(r.Context()).ID + ")"), Reason: reasons[p.Status], Code: int32(p.Status),
	}
	data, err := json.Marshal(said)
	if err != nil { // it is texts and a number
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(data)
}
