//go:build linux

package app

import (
	"path/filepath"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/internal/tenancy/audit/kubeaudit"
)

// planeLogs is the directory in the data directory.
const planeLogs = "audit"

// planeLogDir is where the admin plane writes what is done past the door, until it is in the action log.
func (a *App) planeLogDir() string { return filepath.Join(a.Dir, planeLogs) }

// planeLog brings it there.
func (a *App) planeLog(d *door) (*kubeaudit.Reader, error) {
	definitions, err := crds.All()
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for _, definition := range definitions {
		kinds[definition.Name] = definition.Spec.Names.Kind
	}
	return &kubeaudit.Reader{Log: d.audit, Source: "admin-plane", Dir: a.planeLogDir(), Kinds: kinds, Warn: d.log}, nil
}
