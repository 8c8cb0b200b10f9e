//go:build !linux

package cli

import (
	"io"

	"kqueen.io/kqueen/api/rest"
)

// verifyExport has no key: servers run on Linux.
func (*env) verifyExport(io.Reader) (report *rest.AuditReport, complete bool, err error) {
	return nil, false, fail(codeError, "an export is checked with the key of its installation; run it there, as its owner")
}
