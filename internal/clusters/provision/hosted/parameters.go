package hosted

import (
	"encoding/json"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
)

const (
	provisionerSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "dataStoreName": {
      "type": "string", "minLength": 1, "maxLength": 253, "default": "default",
      "title": "Data store", "description": "Name of the DataStore that holds the keyspaces of the clusters."
    },
    "size": {
      "type": "string", "enum": ["small", "medium", "large"], "default": "medium",
      "title": "Size", "description": "How much memory and which share of the processors each control plane may take."
    }
  }
}`
	clusterSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false
}`
)

// parameters are what provisionerSchema describes.
type parameters struct {
	DataStoreName string                    `json:"dataStoreName"`
	Size          v1alpha1.ControlPlaneSize `json:"size"`
}

// defaultStore is the DataStore of provisioners that name none.
const defaultStore = "default"

func parse(raw json.RawMessage) (parameters, error) {
	p := parameters{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &p); err != nil {
			return parameters{}, invalid.New("spec.parameters", "%v", err)
		}
	}
	if p.DataStoreName == "" {
		p.DataStoreName = defaultStore
	}
	return p, nil
}
