package here

import (
	"bytes"
	"context"
	"io"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/server/status"
)

// VerifyExport checks an export of the audit log with the key in the data directory.
func VerifyExport(e *connection.Env, from io.Reader) (report *rest.AuditReport, complete bool, err error) {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return nil, false, err
	}
	return app.VerifyAuditExport(dir, from)
}

// isHere says whether an installation is the one in the data directory. Who cannot read its keys does not know.
func isHere(e *connection.Env, k connection.Context) bool {
	dir, err := e.AbsoluteDataDir()
	if err != nil || k.Authority == "" {
		return false
	}
	authority, err := app.APIAuthority(dir)
	return err == nil && bytes.Contains([]byte(k.Authority), bytes.TrimSpace(authority))
}

// Installation is where others reach the installation in the data directory, when it runs and this user owns it: the
// URL of its API and its authority. Empty when there is none.
func Installation(ctx context.Context, e *connection.Env) (server, authority string) {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return "", ""
	}
	found, err := status.Read(ctx, dir)
	if err != nil || found.API == "" {
		return "", ""
	}
	pem, err := app.APIAuthority(dir)
	if err != nil {
		return "", ""
	}
	return found.API, string(pem)
}
