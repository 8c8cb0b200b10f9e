// Package supervisetest writes what a supervisor is to run as text, for golden files. Only tests of what describes host
// processes may import it.
package supervisetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/platform/supervise"
)

// Text writes a workload for a golden file: its components in their order, then its files by name. A workload that no
// supervisor would take fails the test.
func Text(t *testing.T, w supervise.Workload) string {
	t.Helper()
	if err := w.Validate(); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	if w.Subject != (supervise.Subject{}) {
		fmt.Fprintf(&text, "subject %+v\n", w.Subject)
	}
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
