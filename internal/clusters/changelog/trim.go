package changelog

import (
	"maps"
	"slices"
	"time"
)

// mostSegments bounds the log of one cluster: each segment has some mostTail, or an hour.
const mostSegments = 16384

// Need says what of a log is needed.
type Need struct {
	// Since is the first moment that is to be found, and Window how far it is back.
	Since  time.Time
	Window time.Duration
	// Bases are the backups that changes can be applied to.
	Bases []Base
}

// surplus is what of the logs is not needed any more, as the revisions at which segments begin, by log: what is before the backup that was
// the newest at the first moment, and the oldest segments where there are too many. The last segment of the last log, to which is written,
// stays. It is pure.
func surplus(logs map[string][]int64, need Need, most int) map[string][]int64 {
	names := slices.Sorted(maps.Keys(logs))
	out, kept := map[string][]int64{}, 0
	for i, name := range slices.Backward(names) {
		newest := i == len(names)-1
		afters, end := logs[name], time.Time{}
		if !newest {
			end = began(names[i+1])
		}
		gone := unneeded(name, afters, end, need)
		gone = max(gone, kept+len(afters)-most) // the older ones of more than most
		if newest {
			gone = min(gone, len(afters)-1)
		}
		gone = max(min(gone, len(afters)), 0)
		kept += len(afters) - gone
		if gone > 0 {
			out[name] = afters[:gone]
		}
	}
	return out
}

// unneeded is how many of the first segments of a log are not needed. end is when the next log began; zero for the last one. It is pure.
func unneeded(name string, afters []int64, end time.Time, need Need) int {
	if !end.IsZero() && end.Before(need.Since) {
		return len(afters)
	}
	base := startOf(name, afters[0], end, need)
	if base < 0 {
		if end.IsZero() {
			return 0 // one may come
		}
		return len(afters)
	}
	revision := need.Bases[base].Revision
	next := slices.IndexFunc(afters, func(after int64) bool { return after > revision })
	if next < 0 {
		next = len(afters)
	}
	return next - 1 // the one before has the revision
}

// startOf is the backup from which a log is needed: of those that were taken while it was kept the newest that is not newer than the first
// moment, or else the oldest; -1 when there is none. It is pure.
func startOf(name string, after int64, end time.Time, need Need) int {
	best, began := -1, began(name)
	for i, b := range need.Bases {
		if b.TakenTime.Add(time.Second).Before(began) || b.Revision < after || !end.IsZero() && b.TakenTime.After(end) {
			continue
		}
		switch {
		case best < 0:
			best = i
		case b.TakenTime.After(need.Since):
			if need.Bases[best].TakenTime.After(b.TakenTime) {
				best = i
			}
		case need.Bases[best].TakenTime.After(need.Since) || need.Bases[best].TakenTime.Before(b.TakenTime):
			best = i
		}
	}
	return best
}

// HasBase says whether there is a backup that the last of an owner's logs can be applied to. It is pure.
func HasBase(last Kept, bases []Base) bool {
	return startOf(last.Name, last.After, time.Time{}, Need{Bases: bases}) >= 0
}

// Needed returns the indexes of the backups without which not each moment since need.Since could be found, or soon not any more, and from
// when on each can be; the zero time for none. Beside the backup at which a log is begun to be read it needs one for each quarter of the window
// where there is one: they become that backup later, and less has to be read meanwhile. It is pure.
func Needed(logs []Kept, need Need) (needed []int, from time.Time) {
	for i, l := range logs {
		end := time.Time{}
		if i < len(logs)-1 {
			end = logs[i+1].Began
		}
		if !end.IsZero() && end.Before(need.Since) {
			continue
		}
		start := startOf(l.Name, l.After, end, need)
		if start < 0 {
			continue
		}
		needed = append(needed, start)
		if first := need.Bases[start].TakenTime.Add(time.Second); from.IsZero() || first.Before(from) {
			from = first
		}
		last := need.Bases[start].TakenTime
		for _, b := range byTime(need.Bases) {
			taken := need.Bases[b].TakenTime
			if !taken.Before(last.Add(need.Window/4)) && taken.After(last) && (end.IsZero() || !taken.After(end)) {
				needed, last = append(needed, b), taken
			}
		}
	}
	return needed, from
}

// byTime are the indexes of backups in the order in which they were taken.
func byTime(bases []Base) []int {
	order := make([]int, len(bases))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bases[a].TakenTime.Compare(bases[b].TakenTime) })
	return order
}
