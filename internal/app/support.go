//go:build linux

package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
)

// SupportSettings are the settings of the installation in dir for those who look for a fault, as JSON. What may be in them is
// named here, so that a new setting is left out until it is: of the database the kind alone, since its URL may hold a password.
func SupportSettings(dir string) ([]byte, error) {
	s, err := readSettings(settingsFile(dir))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("%s is not there", settingsFile(dir))
	}
	shown := struct {
		Listen         string `json:"listen"`
		Domain         string `json:"domain"`
		GatewayPort    int    `json:"gatewayPort"`
		IngressPort    int    `json:"ingressPort"`
		APIPort        int    `json:"apiPort"`
		Database       string `json:"database"`
		AdminVersion   string `json:"adminVersion"`
		MachineNetwork string `json:"machineNetwork"`
		Images         string `json:"images"`
		EgressAllowed  int    `json:"egressAllowed"`
		ImportAllowed  int    `json:"importAllowed"`
		BackupAllowed  int    `json:"backupAllowed"`
	}{
		s.Listen.String(), s.Domain, s.GatewayPort, s.IngressPort, s.APIPort, databaseKind(s.Database), s.AdminVersion, s.MachineNetwork.String(), s.Images, len(s.EgressAllowed), len(s.ImportAllowed), len(s.BackupAllowed),
	}
	return json.MarshalIndent(shown, "", "  ")
}

// databaseKind is "postgres" for a URL of one, "sqlite" for the file in the data directory. It is pure.
func databaseKind(address string) string {
	if address == "" {
		return "sqlite"
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return "unknown"
	}
	return cmp.Or(parsed.Scheme, "unknown")
}
