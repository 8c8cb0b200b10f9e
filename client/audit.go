package client

import (
	"context"
	"net/url"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// AuditFilter says which records of the audit log are wanted. Empty fields take all.
type AuditFilter struct {
	Paging

	// Actor is the name of a user or service account, and Outcome one of succeeded, denied, failed and unknown.
	Actor, Action, Outcome string
	// Kind and Object are the kind and the name of what was acted on.
	Kind, Object string
	// Since is the first moment, and Until the first one that is too late.
	Since, Until time.Time
	OldestFirst  bool
}

func (f AuditFilter) query() url.Values {
	query := f.Paging.query()
	for name, value := range map[string]string{
		"actor": f.Actor, "action": f.Action, "outcome": f.Outcome, "kind": f.Kind, "object": f.Object,
		"since": stamp(f.Since), "until": stamp(f.Until),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.OldestFirst {
		query.Set("oldestFirst", "true")
	}
	return query
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// ListAudit returns a page of the installation's audit log (operation listAudit).
func (c *Client) ListAudit(ctx context.Context, filter AuditFilter) (*rest.Page[rest.AuditRecord], error) {
	return called[rest.Page[rest.AuditRecord]](ctx, c, "listAudit", filter.query(), nil)
}

// ListOrganizationAudit returns a page of an organization's audit log (operation listOrganizationAudit).
func (c *Client) ListOrganizationAudit(ctx context.Context, organization string, filter AuditFilter) (*rest.Page[rest.AuditRecord], error) {
	return called[rest.Page[rest.AuditRecord]](ctx, c, "listOrganizationAudit", filter.query(), nil, organization)
}

// VerifyAudit checks the audit log, and, where head is not nil, that it goes on from there (operation verifyAudit).
func (c *Client) VerifyAudit(ctx context.Context, head *rest.AuditHead) (*rest.AuditReport, error) {
	if head == nil {
		return called[rest.AuditReport](ctx, c, "verifyAudit", nil, nil)
	}
	return called[rest.AuditReport](ctx, c, "verifyAudit", nil, head)
}
