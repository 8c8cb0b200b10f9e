package server

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// exportPart is how much of an export is sent at once, in bytes.
const exportPart = 64 << 10

func (s *Server) registerExports() {
	const tag = "Audit"
	for _, o := range []huma.Operation{
		operation(http.MethodGet, "/audit/export", "exportAudit", "Export the action log, a record a line", tag, recorded("export")),
		operation(http.MethodGet, "/organizations/{organization}/audit/export", "exportOrganizationAudit", "Export the action log of an organization, a record a line", tag, recorded("export")),
	} {
		o.Responses = map[string]*huma.Response{"200": {
			Description: "Lines of JSON: a record each, and at the end the seal. An export without a seal is not whole.",
			Content:     map[string]*huma.MediaType{"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}}
		if o.OperationID == "exportAudit" {
			huma.Register(s.api, o, s.exportAudit)
		} else {
			huma.Register(s.api, o, s.exportOrganizationAudit)
		}
	}
}

func (s *Server) exportAudit(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	if err := s.mayAudit(ctx); err != nil {
		return nil, err
	}
	return s.export(ctx, audit.Filter{AllOrganizations: true})
}

// exportOrganizationAudit is for administrators, as the whole log is: an export is what they hand to others.
func (s *Server) exportOrganizationAudit(ctx context.Context, in *InOrganization) (*huma.StreamResponse, error) {
	if err := s.mayIn(ctx, in.Organization, "list", role.AuditRecords, ""); err != nil {
		return nil, err
	}
	if err := s.mayHere(ctx, "list", role.AuditRecords, "", "", ""); err != nil {
		return nil, err
	}
	return s.export(ctx, audit.Filter{Organization: in.Organization})
}

// export sends what a filter names. It may take longer than a request, and is counted as a stream; one who does not
// read is not waited for.
func (s *Server) export(ctx context.Context, filter audit.Filter) (*huma.StreamResponse, error) {
	known := requestOf(ctx)
	end, err := s.streams.begin(known)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(to huma.Context) {
		defer end()
		ctx, cancel := context.WithTimeout(to.Context(), streamLife)
		defer cancel()
		_, w := humago.Unwrap(to)
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{})
		to.SetHeader("Content-Type", "application/jsonl")
		to.SetStatus(http.StatusOK)
		out := bufio.NewWriterSize(&patient{to.BodyWriter(), control}, exportPart)
		err := s.Audit.Export(ctx, out, filter)
		if err == nil {
			err = out.Flush()
		}
		if err != nil { // without the seal, whoever reads it knows
			known.failure = err
		}
	}}, nil
}

// patient waits for whoever reads, a while for each part.
type patient struct {
	to      io.Writer
	control *http.ResponseController
}

func (p *patient) Write(data []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(slowest)); err != nil {
		return 0, err
	}
	return p.to.Write(data)
}
