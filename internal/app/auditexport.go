package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// VerifyAuditExport checks an export of the audit log with the key of the installation in dir, and says whether it is one
// of the whole log. Nothing has to run.
func VerifyAuditExport(dir string, from io.Reader) (found *rest.AuditReport, complete bool, err error) {
	key, err := auditKey(dir)
	if err != nil {
		return nil, false, fmt.Errorf("%w\nan export is checked with the key of its installation; run it there, as its owner", err)
	}
	report, err := audit.VerifyExport(from, key)
	if err != nil {
		return nil, false, err
	}
	found = &rest.AuditReport{
		Records: report.Records, Head: rest.AuditHead{Sequence: report.Head.Sequence, Hash: report.Head.Hash}, More: report.More, Problems: []rest.AuditProblem{},
	}
	for _, p := range report.Problems {
		found.Problems = append(found.Problems, rest.AuditProblem{First: p.First, Last: p.Last, Detail: p.String()})
	}
	return found, report.Complete, nil
}

// auditKey reads the key of the audit log. It makes none: one that is made now checks nothing.
func auditKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, keysFolder, auditKeyFile)
	key, err := pki.ReadSecretKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no key of an audit log in %s", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("key of the audit log: %w", err)
	}
	return key, nil
}
