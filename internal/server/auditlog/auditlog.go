// Package auditlog serves the audit log over the REST API: pages of it, exports, and the check of its chain. The log itself
// is package audit's; who may read it is the API server's to say.
package auditlog

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// auditLog answers from the log.
type auditLog struct {
	audit   *audit.Log
	rights  *rights.Rights
	streams *chain.Streams
	// own reads the admin plane, and clusters opens what clusters' own API servers have written.
	own      client.Reader
	clusters ClusterLog
}

// Register adds the operations to an API.
func Register(api huma.API, log *audit.Log, r *rights.Rights, streams *chain.Streams, own client.Reader, clusters ClusterLog) {
	h := &auditLog{log, r, streams, own, clusters}
	h.register(api)
	h.registerExports(api)
	h.registerClusters(api)
}

func (h *auditLog) register(api huma.API) {
	const tag = "Audit"
	huma.Register(api, chain.Operation(http.MethodGet, "/audit", "listAudit", "Read the audit log of the installation", tag), h.listAudit)
	huma.Register(api, chain.Operation(http.MethodPost, "/audit/verification", "verifyAudit", "Check the chain of the audit log", tag), h.verifyAudit)
	huma.Register(api, chain.Operation(http.MethodGet, "/organizations/{organization}/audit", "listOrganizationAudit", "Read the audit log of an organization", tag), h.listOrganizationAudit)
}

// AuditQuery says which records.
type AuditQuery struct {
	Limit       int       `query:"limit" default:"100" minimum:"1" maximum:"500" doc:"How many records at most."`
	Cursor      string    `query:"cursor" maxLength:"256" doc:"Where to go on: the cursor of the page before, with the same other parameters."`
	Actor       string    `query:"actor" maxLength:"256" doc:"Only what this user or service account did."`
	Action      string    `query:"action" maxLength:"64" doc:"Only this action, such as create."`
	ObjectKind  string    `query:"kind" maxLength:"64" doc:"Only what was done to this kind of object."`
	ObjectName  string    `query:"object" maxLength:"256" doc:"Only what was done to the object of this name."`
	Outcome     string    `query:"outcome" enum:"succeeded,denied,failed,unknown" doc:"Only what ended so."`
	Since       time.Time `query:"since" doc:"Only from this time on."`
	Until       time.Time `query:"until" doc:"Only before this time."`
	OldestFirst bool      `query:"oldestFirst" doc:"The oldest record first."`
}

func (in AuditQuery) filter() audit.Filter {
	return audit.Filter{
		Limit: in.Limit, Cursor: in.Cursor, Actor: in.Actor, Action: in.Action, ObjectKind: in.ObjectKind, ObjectName: in.ObjectName,
		Outcome: audit.Outcome(in.Outcome), Since: in.Since, Until: in.Until, OldestFirst: in.OldestFirst,
	}
}

func (h *auditLog) mayAudit(ctx context.Context) error {
	chain.Of(ctx).Object = chain.Object{Kind: "AuditLog"}
	return h.rights.Require(ctx, rights.Act{Verb: "list", Resource: role.AuditRecords})
}

func (h *auditLog) listAudit(ctx context.Context, in *AuditQuery) (*chain.Answer[rest.Page[rest.AuditRecord]], error) {
	if err := h.mayAudit(ctx); err != nil {
		return nil, err
	}
	filter := in.filter()
	filter.AllOrganizations = true
	return h.records(ctx, filter)
}

type organizationAuditInput struct {
	chain.InOrganization
	AuditQuery
}

func (h *auditLog) listOrganizationAudit(ctx context.Context, in *organizationAuditInput) (*chain.Answer[rest.Page[rest.AuditRecord]], error) {
	if err := h.rights.RequireIn(ctx, in.Organization, "list", role.AuditRecords, ""); err != nil {
		return nil, err
	}
	filter := in.filter()
	filter.Organization = in.Organization
	return h.records(ctx, filter)
}

func (h *auditLog) records(ctx context.Context, filter audit.Filter) (*chain.Answer[rest.Page[rest.AuditRecord]], error) {
	page, err := h.audit.List(ctx, filter)
	if bad, is := errors.AsType[*invalid.Error](err); is {
		return nil, problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
			rest.FieldError{Pointer: "?" + bad.Field, Detail: bad.Problem})
	}
	if err != nil {
		return nil, problem.Explain(err)
	}
	out := rest.Page[rest.AuditRecord]{Items: make([]rest.AuditRecord, 0, len(page.Records)), Cursor: page.Next}
	for i := range page.Records {
		out.Items = append(out.Items, toRecord(&page.Records[i]))
	}
	return &chain.Answer[rest.Page[rest.AuditRecord]]{Body: out}, nil
}

func toRecord(r *audit.Record) rest.AuditRecord {
	return rest.AuditRecord{
		Sequence: r.Sequence, Time: r.Time, Actor: rest.AuditActor(r.Actor), Action: r.Action, Organization: r.Organization,
		Object: rest.AuditObject(r.Object), Source: r.Source, UserAgent: r.UserAgent, RequestID: r.RequestID,
		Outcome: string(r.Outcome), Status: r.Status, Reason: r.Reason, Before: r.Before, After: r.After, Detail: r.Detail,
		Previous: r.Previous, Hash: r.Hash,
	}
}

type verifyInput struct {
	Body *rest.AuditHead `required:"false"`
}

func (h *auditLog) verifyAudit(ctx context.Context, in *verifyInput) (*chain.Answer[rest.AuditReport], error) {
	if err := h.mayAudit(ctx); err != nil {
		return nil, err
	}
	var expect *audit.Head
	if in.Body != nil {
		expect = &audit.Head{Sequence: in.Body.Sequence, Hash: in.Body.Hash}
	}
	report, err := h.audit.Verify(ctx, expect)
	if err != nil {
		return nil, problem.Explain(err)
	}
	out := rest.AuditReport{Records: report.Records, Head: rest.AuditHead{Sequence: report.Head.Sequence, Hash: report.Head.Hash}, More: report.More, Problems: []rest.AuditProblem{}}
	for _, p := range report.Problems {
		out.Problems = append(out.Problems, rest.AuditProblem{First: p.First, Last: p.Last, Detail: p.String()})
	}
	return &chain.Answer[rest.AuditReport]{Body: out}, nil
}
