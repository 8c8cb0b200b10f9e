package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/role"
)

func (s *Server) registerAudit() {
	const tag = "Audit"
	huma.Register(s.api, operation(http.MethodGet, "/audit", "listAudit", "Read the action log of the installation", tag), s.listAudit)
	huma.Register(s.api, operation(http.MethodPost, "/audit/verification", "verifyAudit", "Check the chain of the action log", tag), s.verifyAudit)
	huma.Register(s.api, operation(http.MethodGet, "/organizations/{organization}/audit", "listOrganizationAudit", "Read the action log of an organization", tag), s.listOrganizationAudit)
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

func (s *Server) mayAudit(ctx context.Context) error {
	requestOf(ctx).object = objectName{kind: "AuditLog"}
	return s.mayHere(ctx, "list", role.AuditRecords, "", "", "")
}

func (s *Server) listAudit(ctx context.Context, in *AuditQuery) (*ok[rest.Page[rest.AuditRecord]], error) {
	if err := s.mayAudit(ctx); err != nil {
		return nil, err
	}
	filter := in.filter()
	filter.AllOrganizations = true
	return s.records(ctx, filter)
}

type organizationAuditInput struct {
	InOrganization
	AuditQuery
}

func (s *Server) listOrganizationAudit(ctx context.Context, in *organizationAuditInput) (*ok[rest.Page[rest.AuditRecord]], error) {
	if err := s.mayIn(ctx, in.Organization, "list", role.AuditRecords, ""); err != nil {
		return nil, err
	}
	filter := in.filter()
	filter.Organization = in.Organization
	return s.records(ctx, filter)
}

func (s *Server) records(ctx context.Context, filter audit.Filter) (*ok[rest.Page[rest.AuditRecord]], error) {
	page, err := s.Audit.List(ctx, filter)
	if bad, is := errors.AsType[*invalid.Error](err); is {
		return nil, newProblem(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
			rest.FieldError{Pointer: "?" + bad.Field, Detail: bad.Problem})
	}
	if err != nil {
		return nil, explain(err)
	}
	out := rest.Page[rest.AuditRecord]{Items: make([]rest.AuditRecord, 0, len(page.Records)), Cursor: page.Next}
	for i := range page.Records {
		out.Items = append(out.Items, toRecord(&page.Records[i]))
	}
	return &ok[rest.Page[rest.AuditRecord]]{Body: out}, nil
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

func (s *Server) verifyAudit(ctx context.Context, in *verifyInput) (*ok[rest.AuditReport], error) {
	if err := s.mayAudit(ctx); err != nil {
		return nil, err
	}
	var expect *audit.Head
	if in.Body != nil {
		expect = &audit.Head{Sequence: in.Body.Sequence, Hash: in.Body.Hash}
	}
	report, err := s.Audit.Verify(ctx, expect)
	if err != nil {
		return nil, explain(err)
	}
	out := rest.AuditReport{Records: report.Records, Head: rest.AuditHead{Sequence: report.Head.Sequence, Hash: report.Head.Hash}, More: report.More, Problems: []rest.AuditProblem{}}
	for _, p := range report.Problems {
		out.Problems = append(out.Problems, rest.AuditProblem{First: p.First, Last: p.Last, Detail: p.String()})
	}
	return &ok[rest.AuditReport]{Body: out}, nil
}
