package kubeaudit

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// maxStrangers is how many tries of one batch are recorded of those whom the API server does not know. The last one says how
// many were left out.
const maxStrangers = 2

// records are what lines say, in their order.
func (r *Reader) records(batch [][]byte) []audit.Record {
	var all []audit.Record
	var strangers, leftOut int
	for _, line := range batch {
		record, ok := r.record(line)
		if !ok {
			continue
		}
		if record.Actor.Kind == audit.Anonymous {
			if strangers++; strangers > maxStrangers {
				leftOut++
				continue
			}
		}
		all = append(all, record)
	}
	for i := len(all) - 1; i >= 0 && leftOut > 0; i-- {
		if all[i].Actor.Kind == audit.Anonymous {
			all[i].Detail["leftOut"] = strconv.Itoa(leftOut)
			break
		}
	}
	return all
}

// record is what a line says. It is none for a line that says only that something began.
func (r *Reader) record(line []byte) (audit.Record, bool) {
	var e auditv1.Event
	if len(line) > maxLine || json.Unmarshal(line, &e) != nil || e.Stage == "" || e.Verb == "" {
		return unreadable(len(line)), true
	}
	if e.Stage != auditv1.StageResponseComplete && e.Stage != auditv1.StagePanic {
		return audit.Record{}, false
	}
	made := audit.Record{
		Actor: actorOf(&e), Action: e.Verb, UserAgent: e.UserAgent, RequestID: string(e.AuditID),
		Detail: map[string]string{"at": e.StageTimestamp.UTC().Format(time.RFC3339Nano)},
	}
	if len(e.SourceIPs) > 0 {
		made.Source = e.SourceIPs[0]
	}
	if ref := e.ObjectRef; ref != nil {
		made.Object = audit.Object{Kind: r.kindOf(ref), Name: ref.Name, UID: string(ref.UID)}
		made.Organization = organizationOf(ref, made.Object.Kind)
		if ref.Namespace != "" {
			made.Detail["namespace"] = ref.Namespace
		}
	}
	if e.ImpersonatedUser != nil {
		made.Detail["impersonated"] = e.ImpersonatedUser.Username
	}
	if u, err := url.ParseRequestURI(e.RequestURI); err == nil && u.Query().Get("dryRun") == metav1.DryRunAll {
		made.Detail["dryRun"] = "true"
	}
	made.Outcome, made.Status = outcomeOf(&e)
	return made, true
}

func actorOf(e *auditv1.Event) audit.Actor {
	if e.User.Username == "" {
		return audit.Actor{Kind: audit.Anonymous}
	}
	return audit.Actor{Kind: audit.AdminPlane, Name: e.User.Username}
}

// kindOf is the kind of what was acted on where we know it, and its resource where we do not.
func (r *Reader) kindOf(ref *auditv1.ObjectReference) string {
	name := ref.Resource
	if ref.APIGroup != "" {
		name += "." + ref.APIGroup
	}
	if kind, ok := r.Kinds[name]; ok {
		name = kind
	}
	if ref.Subresource != "" {
		name += "/" + ref.Subresource
	}
	return name
}

// organizationOf is whose business it is.
func organizationOf(ref *auditv1.ObjectReference, kind string) string {
	if kind == "Organization" || strings.HasPrefix(kind, "Organization/") {
		return ref.Name
	}
	organization, ok := v1alpha1.OrganizationOf(ref.Namespace)
	if !ok {
		return ""
	}
	return organization
}

func outcomeOf(e *auditv1.Event) (audit.Outcome, int) {
	if e.Stage == auditv1.StagePanic || e.ResponseStatus == nil {
		return audit.Unknown, 0
	}
	code := int(e.ResponseStatus.Code)
	switch {
	case code < 0 || code > 599:
		return audit.Unknown, 0
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return audit.Denied, code
	case code >= http.StatusBadRequest:
		return audit.Failed, code
	}
	return audit.Succeeded, code
}

// unreadable says that something stood there. Its content is not repeated: it may be a secret.
func unreadable(length int) audit.Record {
	return audit.Record{
		Actor: audit.Actor{Kind: audit.System}, Action: "read-admin-log", Outcome: audit.Failed,
		Reason: "a line of the admin plane's log cannot be read: it was cut by a crash, is too long, or was not written by an API server",
		Detail: map[string]string{"bytes": strconv.Itoa(length)},
	}
}

// lostRecord says that the log was taken away before it was read to its end.
func lostRecord() audit.Record {
	return audit.Record{
		Actor: audit.Actor{Kind: audit.System}, Action: "read-admin-log", Outcome: audit.Failed,
		Reason: "the admin plane's log was removed, cut or replaced before it was read to its end; what stood there is not known",
	}
}
