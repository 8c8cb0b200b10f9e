// Package rest is the language of the REST API, version 1: what goes over the
// wire, and nothing of how it is served or called. Server and client share it, so
// that neither can say what the other does not understand.
package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Prefix begins every path of this version.
const Prefix = "/api/v1"

// KubernetesPath begins the paths of the Kubernetes API of the admin plane, as far as users reach it.
const KubernetesPath = "/kubernetes"

// PortalPath is where the web portal is. Each page of it is below.
const PortalPath = "/portal/"

// ClustersPath begins the paths of the Kubernetes APIs of imported clusters, as far as members reach them by KQueen: after it come the
// organization, the cluster, and the path at the cluster's API server. Those of hosted clusters are there as well.
const ClustersPath = "/clusters"

// AgentsPath begins the paths that agents in imported clusters call: after it come the organization, the cluster, and what they want.
const AgentsPath = "/agents"

// AgentInstanceHeader is the header in which an agent says in which cluster it runs: the UID of the namespace kube-system.
const AgentInstanceHeader = "Kqueen-Cluster-Instance"

// LocalSocket is the name of the socket, in the data directory of an installation, on which the owner of the machine calls
// the API. As the server of a client it is "unix://" and the path.
const LocalSocket = "api.sock"

// LocalHost is the host that requests name on the local socket of an installation. No other name is taken there.
const LocalHost = "kqueen"

// MediaApply is the media type of a PATCH that is a server-side apply: an [Input] without a name, of which any part may be
// left out.
const MediaApply = "application/apply-patch+json"

// Object is an object of one of KQueen's kinds: a cluster, a node pool, an organization. Its spec is the desired state,
// its status the observed one.
type Object struct {
	// Kind such as "Cluster".
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Organization that it belongs to; empty for what belongs to the installation.
	Organization string            `json:"organization,omitempty"`
	UID          string            `json:"uid"`
	Labels       map[string]string `json:"labels,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	CreatedAt    time.Time         `json:"createdAt"`
	// DeletionRequestedAt is set while the object is being deleted: it goes when all that was created for it is gone.
	DeletionRequestedAt *time.Time `json:"deletionRequestedAt,omitempty"`
	// Generation counts the changes of the spec.
	Generation int64 `json:"generation"`
	// Revision changes with every change. In quotes it is the ETag.
	Revision string          `json:"revision"`
	Spec     json.RawMessage `json:"spec,omitempty"`
	Status   json.RawMessage `json:"status,omitempty"`
}

// Input is the part of an object that a caller writes. The server writes the rest.
type Input struct {
	// Name of a new object. It cannot be changed.
	Name        string            `json:"name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Spec        json.RawMessage   `json:"spec,omitempty"`
}

// List is one page.
type List struct {
	Items []Object `json:"items"`
	// Cursor leads to the next page; empty on the last one.
	Cursor string `json:"cursor,omitempty"`
}

// Problem is an error as RFC 9457 has it, with a code that programs may rely on.
//
//nolint:errname // RFC 9457 calls it a problem
type Problem struct {
	// Type is a page of the documentation.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Instance is the path that was asked for.
	Instance string `json:"instance,omitempty"`
	// Code is stable: one of the codes of this package.
	Code string `json:"code"`
	// Errors name the parts of the request that are wrong.
	Errors []FieldError `json:"errors,omitempty"`
	// RequestID names the request in the server's log and in the audit log.
	RequestID string `json:"requestId,omitempty"`
	// Retryable says that the same request may succeed later.
	Retryable bool `json:"retryable"`
}

// FieldError says what is wrong with one part of a request.
type FieldError struct {
	// Pointer is a JSON pointer (RFC 6901) into the body, or the name of a parameter after "?" or a header after ":".
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Error is the problem in words for the user: the detail, and a line for each part of the input that is wrong.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if text == "" {
		text = fmt.Sprintf("the server answers %d %s", p.Status, http.StatusText(p.Status))
	}
	var b strings.Builder
	b.WriteString(text)
	for _, e := range p.Errors {
		b.WriteString("\n  " + strings.TrimPrefix(e.Pointer+": ", ": ") + e.Detail)
	}
	if p.Status >= http.StatusInternalServerError && p.RequestID != "" {
		b.WriteString(" (request " + p.RequestID + ")")
	}
	return b.String()
}

// Codes of problems.
const (
	CodeInvalid          = "invalid"           // 400, 422: Errors say where
	CodeUnauthenticated  = "unauthenticated"   // 401
	CodeForbidden        = "forbidden"         // 403
	CodeQuotaExceeded    = "quota-exceeded"    // 403
	CodeNotFound         = "not-found"         // 404, also for objects that the caller may not see
	CodeExists           = "already-exists"    // 409
	CodeConflict         = "conflict"          // 409: it changed meanwhile
	CodeFieldConflict    = "field-conflict"    // 409: other managers have set fields that are applied
	CodeDone             = "already-done"      // 409: by the first request with this Idempotency-Key
	CodeGone             = "gone"              // 410: the revision is too old to go on from; list again
	CodeChanged          = "changed"           // 412: If-Match does not match
	CodeTooLarge         = "too-large"         // 413
	CodeNeedsMatch       = "needs-if-match"    // 428
	CodeTooMany          = "too-many-requests" // 429: Retry-After says when
	CodeInternal         = "internal"          // 500
	CodeUnavailable      = "unavailable"       // 503
	CodeUnsupportedMedia = "unsupported-media" // 415

	CodeNeedsFresh   = "needs-fresh-session" // 401: the user signed in too long ago for that
	CodeInvalidGrant = "invalid-grant"       // 401: the code is not known, was used or has expired
)

// Event is one event of a watch, as server-sent events: its name is Type, its id the revision from which a watch goes
// on. A watch begins with the objects that exist, in no order and without ids, and ends these with a bookmark.
type Event struct {
	// Type is added, modified, deleted or bookmark. A bookmark has no object but a revision.
	Type     string  `json:"type"`
	Object   *Object `json:"object,omitempty"`
	Revision string  `json:"revision"`
}

// Types of events.
const (
	EventAdded    = "added"
	EventModified = "modified"
	EventDeleted  = "deleted"
	EventBookmark = "bookmark"
)
