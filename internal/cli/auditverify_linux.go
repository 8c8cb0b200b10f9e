package cli

import (
	"fmt"
	"io"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/app"
)

// verifyExport checks an export of the action log with the key in the data directory.
func (e *env) verifyExport(from io.Reader) (report *rest.AuditReport, complete bool, err error) {
	dir, err := e.absoluteDataDir()
	if err != nil {
		return nil, false, err
	}
	report, complete, err = app.VerifyAuditExport(dir, from)
	if err != nil {
		return nil, false, fmt.Errorf("%w\nan export is checked with the key of its installation; run it there, as its owner", err)
	}
	return report, complete, nil
}
