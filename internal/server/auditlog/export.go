package auditlog

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// exportPart is how much of an export is sent at once, in bytes.
const exportPart = 64 << 10

func (h *auditLog) registerExports(api huma.API) {
	const tag = "Audit"
	for _, o := range []huma.Operation{
		chain.Operation(http.MethodGet, "/audit/export", "exportAudit", "Export the audit log, one record per line", tag, chain.Recorded("export")),
		chain.Operation(http.MethodGet, "/organizations/{organization}/audit/export", "exportOrganizationAudit", "Export the audit log of an organization, one record per line", tag, chain.Recorded("export")),
	} {
		o.Responses = map[string]*huma.Response{"200": {
			Description: "Lines of JSON: one record per line, and at the end the seal. An export without a seal is incomplete.",
			Content:     map[string]*huma.MediaType{"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}}
		if o.OperationID == "exportAudit" {
			huma.Register(api, o, h.exportAudit)
		} else {
			huma.Register(api, o, h.exportOrganizationAudit)
		}
	}
}

func (h *auditLog) exportAudit(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	if err := h.mayAudit(ctx); err != nil {
		return nil, err
	}
	return h.export(ctx, audit.Filter{AllOrganizations: true})
}

// exportOrganizationAudit is for administrators, as the whole log is: an export is what they hand to others.
func (h *auditLog) exportOrganizationAudit(ctx context.Context, in *chain.InOrganization) (*huma.StreamResponse, error) {
	if err := h.rights.RequireIn(ctx, in.Organization, "list", role.AuditRecords, ""); err != nil {
		return nil, err
	}
	if err := h.rights.Require(ctx, rights.Act{Verb: "list", Resource: role.AuditRecords}); err != nil {
		return nil, err
	}
	return h.export(ctx, audit.Filter{Organization: in.Organization})
}

// export sends what a filter names.
func (h *auditLog) export(ctx context.Context, filter audit.Filter) (*huma.StreamResponse, error) {
	return h.send(ctx, func(ctx context.Context, out *bufio.Writer) error { return h.audit.Export(ctx, out, filter) }, func() {})
}

// send sends lines. It may take longer than a request, and is counted as a stream; one who does not read is not waited
// for. closing is called in any case, when nothing is read any more.
func (h *auditLog) send(ctx context.Context, write func(context.Context, *bufio.Writer) error, closing func()) (*huma.StreamResponse, error) {
	known := chain.Of(ctx)
	end, err := h.streams.Begin(ctx)
	if err != nil {
		closing()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(to huma.Context) {
		defer end()
		defer closing()
		ctx, cancel := context.WithTimeout(to.Context(), chain.StreamLife)
		defer cancel()
		_, w := humago.Unwrap(to)
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{})
		to.SetHeader("Content-Type", "application/jsonl")
		to.SetStatus(http.StatusOK)
		out := bufio.NewWriterSize(&patient{to.BodyWriter(), control}, exportPart)
		err := write(ctx, out)
		if err == nil {
			err = out.Flush()
		}
		if err != nil { // without the seal, the reader knows
			known.Failure = err
		}
	}}, nil
}

// patient waits for the reader, a while for each part.
type patient struct {
	to      io.Writer
	control *http.ResponseController
}

func (p *patient) Write(data []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(chain.Slowest)); err != nil {
		return 0, err
	}
	return p.to.Write(data)
}
