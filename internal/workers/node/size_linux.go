package node

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/workers/machine"
)

// HostSize is what this host has, as a kubelet counts it.
func HostSize() (machine.Size, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return machine.Size{}, fmt.Errorf("look at the host's memory: %w", err)
	}
	size := machine.Size{MilliCPU: 1000 * int64(runtime.NumCPU()), Memory: int64(info.Totalram) * int64(info.Unit)}
	// A kubelet counts all processors, also those that its own process may not use.
	if data, err := os.ReadFile("/sys/devices/system/cpu/online"); err == nil {
		n, err := countRanges(strings.TrimSpace(string(data)))
		if err != nil {
			return machine.Size{}, fmt.Errorf("count the host's processors: %w", err)
		}
		size.MilliCPU = 1000 * n
	}
	return size, nil
}

// countRanges counts what the kernel lists as "0-3,8".
func countRanges(list string) (int64, error) {
	var n int64
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return 0, err
		}
		to, err := strconv.ParseUint(last, 10, 16)
		if err != nil {
			return 0, err
		}
		if to < from {
			return 0, fmt.Errorf("%q ends before it begins", part)
		}
		n += int64(to-from) + 1
	}
	return n, nil
}

// setting is a value of a file in a cgroup, by the controller that version 1 has a hierarchy for.
type setting struct{ controller, file, value string }

// cpuPeriod is the time, in microseconds, in which a cgroup may use its share of processors: the kernel's default.
const cpuPeriod = 100_000

// bounds are the settings of a cgroup of a size. It is pure.
func bounds(s machine.Size, v2 bool) []setting {
	var all []setting
	if s.Memory > 0 {
		file := "memory.limit_in_bytes"
		if v2 {
			file = "memory.max"
		}
		all = append(all, setting{"memory", file, strconv.FormatInt(s.Memory, 10)})
	}
	if s.MilliCPU == 0 {
		return all
	}
	shares := min(max(s.MilliCPU*1024/1000, 2), 262144)
	if !v2 {
		// A limit here would keep every container from starting whose own is above it; version 2 takes the smaller
		// of both.
		return append(all, setting{"cpu", "cpu.shares", strconv.FormatInt(shares, 10)})
	}
	weight := 1 + (shares-2)*9999/262142 // as runc and the kubelet convert shares
	return append(all,
		setting{"cpu", "cpu.max", fmt.Sprintf("%d %d", s.MilliCPU*cpuPeriod/1000, cpuPeriod)},
		setting{"cpu", "cpu.weight", strconv.FormatInt(weight, 10)})
}
