package node

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/workers/machine"
)

func TestCountRanges(t *testing.T) {
	for list, want := range map[string]int64{"0": 1, "0-1": 2, "0-3,8": 5, "0,2-3,5-5": 4, "": -1, "0-": -1, "3-1": -1, "a": -1, "0,,1": -1, "-1": -1} {
		got, err := countRanges(list)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: got %d (%v), want %d", list, got, err, want)
		}
	}
}

func FuzzCountRanges(f *testing.F) {
	for _, list := range []string{"0", "0-1", "0-3,8", "0-", "65535", "0-65535,0-65535"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if n, err := countRanges(list); err == nil && n < 1 {
			t.Errorf("%q: %d", list, n)
		}
	})
}

func TestBounds(t *testing.T) {
	whole := machine.Size{MilliCPU: 1500, Memory: 1 << 30}
	tests := map[string]struct {
		size machine.Size
		v2   bool
		want []setting
	}{
		"nothing":   {machine.Size{}, true, nil},
		"version 2": {whole, true, []setting{{"memory", "memory.max", "1073741824"}, {"cpu", "cpu.max", "150000 100000"}, {"cpu", "cpu.weight", "59"}}},
		"version 1": {whole, false, []setting{{"memory", "memory.limit_in_bytes", "1073741824"}, {"cpu", "cpu.shares", "1536"}}},
		"memory":    {machine.Size{Memory: 1 << 30}, true, []setting{{"memory", "memory.max", "1073741824"}}},
		"most":      {machine.Size{MilliCPU: 1024000}, true, []setting{{"cpu", "cpu.max", "102400000 100000"}, {"cpu", "cpu.weight", "10000"}}},
		"least":     {machine.Size{MilliCPU: 1}, true, []setting{{"cpu", "cpu.max", "100 100000"}, {"cpu", "cpu.weight", "1"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, bounds(tc.size, tc.v2), cmp.AllowUnexported(setting{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHostSize: it is what the kernel tells users.
func TestHostSize(t *testing.T) {
	got, err := HostSize()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	if want := "MemTotal:" + strconv.FormatInt(got.Memory/1024, 10) + "kB"; !strings.HasPrefix(strings.ReplaceAll(string(info), " ", ""), want) {
		t.Errorf("want %s in:\n%.100s", want, info)
	}
	if got.MilliCPU < 1000 || got.MilliCPU%1000 != 0 {
		t.Errorf("%d thousandths of a processor", got.MilliCPU)
	}
}
