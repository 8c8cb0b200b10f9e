package node

import (
	"maps"
	"testing"
)

// TestRestoreKernelLeavesAlone: settings that are as they were are not written, which in some places not even root may
// do; what was not there before stays unknown.
func TestRestoreKernelLeavesAlone(t *testing.T) {
	before, err := Kernel()
	if err != nil {
		t.Fatal(err)
	}
	if len(before) == 0 || before["net/ipv4/ip_forward"] == "" {
		t.Errorf("of the settings that a node changes, only %v are read", before)
	}
	for name, settings := range map[string]map[string]string{
		"all": before, "none": nil, "one that nodes do not change": {"kernel/hostname": "another"},
	} {
		if err := RestoreKernel(settings); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, err := Kernel(); err != nil || !maps.Equal(before, after) {
		t.Errorf("got %v, %v; want %v", after, err, before)
	}
}
