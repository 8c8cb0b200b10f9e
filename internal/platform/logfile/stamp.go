package logfile

import (
	"regexp"
	"time"
)

var (
	// rfc3339 is how slog, zap, containerd and kubelet's JSON write it, as a value of time or ts, or at the beginning of a line.
	rfc3339 = regexp.MustCompile(`(?:^|"(?:time|ts)":"|\btime="?)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d))`)
	// klog has no year, and the time of the host's zone.
	klog = regexp.MustCompile(`^[IWEF](\d{4} \d\d:\d\d:\d\d\.\d{6})`)
)

const (
	klogTime = "0102 15:04:05.000000"
	// zapZone is RFC 3339 without the colon in the zone, as zap writes it.
	zapZone = "2006-01-02T15:04:05.999999999Z0700"
	// stampBytes is how much of a line is looked through: a message can be long, and the time stands before it.
	stampBytes = 512
)

// Stamp is when a line was written, if it says so. now tells the year to those that leave it out. It is pure.
func Stamp(line string, now time.Time) (time.Time, bool) {
	line = line[:min(len(line), stampBytes)]
	if m := klog.FindStringSubmatch(line); m != nil {
		at, err := time.ParseInLocation(klogTime, m[1], now.Location())
		if err != nil {
			return time.Time{}, false
		}
		at = at.AddDate(now.Year(), 0, 0)
		if at.After(now.AddDate(0, 0, 1)) { // written in December, read in January
			at = at.AddDate(-1, 0, 0)
		}
		return at, true
	}
	m := rfc3339.FindStringSubmatch(line)
	if m == nil {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, zapZone} {
		if at, err := time.Parse(layout, m[1]); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
