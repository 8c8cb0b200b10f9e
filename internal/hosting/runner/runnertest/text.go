package runnertest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// Text writes a workload for a golden file: its components in their order, then its files by name. A workload that no
// runner would take fails the test.
func Text(t *testing.T, w runner.Workload) string {
	t.Helper()
	if err := w.Validate(); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	for _, c := range w.Components {
		data, err := json.MarshalIndent(c, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(data, '\n'))
	}
	for _, file := range slices.Sorted(maps.Keys(w.Files)) {
		text.WriteString("--- " + file + "\n" + string(w.Files[file].Data) + "\n")
	}
	return text.String()
}
