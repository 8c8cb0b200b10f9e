package hosted_test

import (
	"encoding/json"
	"testing"

	"kqueen.io/kqueen/internal/clusters/provision/hosted"
)

// TestDataStore: admission is told the same data store that Ensure writes.
func TestDataStore(t *testing.T) {
	tests := map[string]struct {
		parameters, want string
		refused          bool
	}{
		"NoParameters": {"", "default", false},
		"Empty":        {"{}", "default", false},
		"Null":         {`{"dataStoreName":null}`, "default", false},
		"Named":        {`{"dataStoreName":"fast"}`, "fast", false},
		"OtherLetters": {`{"DATASTORENAME":"fast"}`, "fast", false}, // the schema refuses it, and Ensure would read it so
		"Number":       {`{"dataStoreName":5}`, "", true},
		"NoObject":     {`[]`, "", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := hosted.New(hosted.Config{}).DataStore(json.RawMessage(tc.parameters))
			if got != tc.want || (err != nil) != tc.refused {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
