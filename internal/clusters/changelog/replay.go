package changelog

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
)

// Base is a backup that changes can be applied to.
type Base struct {
	// Name is that of the Backup.
	Name string
	// Revision of the data store at which it was taken.
	Revision int64
	// TakenTime is when it was complete, in whole seconds.
	TakenTime time.Time
}

// Bases are the backups of a control plane in a store that changes can be applied to. It is pure.
func Bases(all []v1alpha1.Backup, controlPlaneUID, store string) []Base {
	var bases []Base
	for i := range all {
		b := &all[i]
		ofMoment := b.Spec.AsOfTime != nil // and not of when it was taken
		if b.IsTaken() && b.Status.TakenTime != nil && b.DeletionTimestamp.IsZero() && !ofMoment && b.Status.ControlPlaneUID == controlPlaneUID && b.Spec.StoreName == store {
			bases = append(bases, Base{b.Name, b.Status.Revision, b.Status.TakenTime.Time})
		}
	}
	return bases
}

// Replayed is what became of a cluster between a backup and a moment.
type Replayed struct {
	// Base is the index of the backup.
	Base int
	// Revision of the data store at the moment: that of the last change until then, or of the backup.
	Revision int64
	// Version of Kubernetes that wrote the last of the changes; empty when there are none.
	Version string
	// changes has what became of each key last.
	changes map[string]archive.Change
}

// NotRecordedError says that it is not known how a cluster was at a moment.
type NotRecordedError struct {
	Problem string
	// Yet says that it may be known soon.
	Yet bool
}

func (e *NotRecordedError) Error() string { return e.Problem }

func notRecorded(format string, args ...any) error {
	return &NotRecordedError{Problem: fmt.Sprintf(format, args...)}
}

func notYet(format string, args ...any) error {
	return &NotRecordedError{Problem: fmt.Sprintf(format, args...), Yet: true}
}

// mostReplayed bounds the changes that are held in memory.
const mostReplayed = 256 << 20

// Replay reads what became of a cluster until a moment, from the newest of its backups that is older. of is whose log it is, without its
// name. A moment that is not known is a [*NotRecordedError]; a log that is not as it was written is an [*archive.DamagedError].
func Replay(ctx context.Context, in archive.Bucket, k archive.Keys, of archive.Log, bases []Base, at time.Time) (Replayed, error) {
	logs, err := archive.Logs(ctx, in)
	if err != nil {
		return Replayed{}, err
	}
	name, err := logAt(slices.Collect(maps.Keys(logs)), at)
	if err != nil {
		return Replayed{}, err
	}
	of.Name = name
	afters := logs[name]
	base, err := baseAt(bases, began(name), afters[0], at)
	if err != nil {
		return Replayed{}, err
	}
	first, exact := slices.BinarySearch(afters, bases[base].Revision)
	if !exact {
		first-- // it is after the first one
	}
	r := replay{Replayed{Base: base, Revision: bases[base].Revision, changes: map[string]archive.Change{}}, at, 0}
	err = r.run(func(yield func(archive.Segment, error) bool) {
		for _, after := range afters[first:] {
			if !yield(archive.ReadSegment(ctx, in, k, of, after)) {
				return
			}
		}
	})
	return r.Replayed, err
}

// logAt is the log that had begun last at a moment. It is pure.
func logAt(names []string, at time.Time) (string, error) {
	slices.Sort(names)
	if len(names) == 0 {
		return "", notYet("no changes are recorded yet")
	}
	later := slices.IndexFunc(names, func(name string) bool { return began(name).After(at) })
	switch later {
	case -1:
		return names[len(names)-1], nil
	case 0:
		return "", notRecorded("changes are recorded from %s on", from(began(names[0])))
	}
	return names[later-1], nil
}

// NameOf names a log that begins at a moment, and began is its reverse; the zero time for what is no name of a log. They are pure.
func NameOf(at time.Time, chance uint32) string {
	return fmt.Sprintf("%013d-%08x", at.UnixMilli(), chance)
}

func began(name string) time.Time {
	text, _, _ := strings.Cut(name, "-")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// baseAt is the newest backup that was taken before a moment and while the log was kept, which begins at a time and after a revision. It is
// pure.
func baseAt(bases []Base, began time.Time, after int64, at time.Time) (int, error) {
	newest, first := -1, time.Time{}
	for i, b := range bases {
		usable := !b.TakenTime.Add(time.Second).Before(began) && b.Revision >= after
		if usable && (first.IsZero() || b.TakenTime.Before(first)) {
			first = b.TakenTime
		}
		// Within the second that it says, it may have been taken after the moment.
		if usable && !b.TakenTime.Add(time.Second).After(at) && (newest < 0 || bases[newest].Revision < b.Revision) {
			newest = i
		}
	}
	switch {
	case newest >= 0:
		return newest, nil
	case first.IsZero():
		return 0, notRecorded("changes are recorded from %s on, and no backup was taken since then that they could be applied to", from(began))
	}
	return 0, notRecorded("the first backup to which recorded changes can be applied was taken at %s", until(first.Add(time.Second)))
}

// replay gathers changes until a moment.
type replay struct {
	Replayed
	at    time.Time
	bytes int
}

// run reads segments in their order. It is pure but for them.
func (r *replay) run(segments iter.Seq2[archive.Segment, error]) error {
	base := r.Revision
	var last *archive.Segment
	for s, err := range segments {
		if err != nil {
			return err
		}
		if last != nil && s.After != last.Until {
			return &archive.DamagedError{Problem: fmt.Sprintf("a part of the log of changes is gone: between revisions %d and %d", last.Until, s.After)}
		}
		if r.at.Before(s.Since) && (last == nil || last.Complete.Before(r.at)) {
			return meanwhile(last, s, base)
		}
		if over, err := r.part(s, base); err != nil || over {
			return err
		}
		last = &s
	}
	if last == nil || last.Complete.Before(r.at) {
		end := r.at
		if last != nil {
			end = last.Complete
		}
		return notYet("changes are recorded until %s", until(end))
	}
	return nil
}

// part applies the changes of a segment that are behind the backup, and says whether the moment is in it.
func (r *replay) part(s archive.Segment, base int64) (over bool, err error) {
	for _, c := range s.Changes {
		if c.Time.After(r.at) {
			return true, nil
		}
		if c.Revision <= base {
			continue
		}
		if err := r.apply(c); err != nil {
			return false, err
		}
		r.Version = s.Version
	}
	return r.at.Before(s.Complete), nil
}

// meanwhile says whether it is known what was changed before a segment began, while nothing was recorded: it is when nothing was. It is pure.
func meanwhile(last *archive.Segment, s archive.Segment, base int64) error {
	changed := slices.ContainsFunc(s.Changes, func(c archive.Change) bool { return c.Revision > base && c.Revision <= s.CaughtUp })
	switch {
	case !changed:
		return nil
	case last == nil: // the backup was taken meanwhile
		return notRecorded("changes were made while KQueen did not record them, before %s: it is not known when; name this time, or the backup before it", from(s.Since))
	}
	return notRecorded("changes were made while KQueen did not record them, between %s and %s: it is not known when; name one of these", until(last.Complete), from(s.Since))
}

func (r *replay) apply(c archive.Change) error {
	before, has := r.changes[c.Key]
	if has {
		r.bytes -= len(before.Value)
	} else {
		r.bytes += len(c.Key)
	}
	r.bytes += len(c.Value)
	r.changes[c.Key], r.Revision = c, c.Revision
	if r.bytes > mostReplayed {
		return notRecorded("more than %d MiB were changed since the backup before; take backups more often", mostReplayed>>20)
	}
	return nil
}

// Over applies the changes to the entries of the backup, which come in the order of their keys.
func (r Replayed) Over(base iter.Seq2[archive.Entry, error]) iter.Seq2[archive.Entry, error] {
	return func(yield func(archive.Entry, error) bool) {
		keys := slices.Sorted(maps.Keys(r.changes))
		// tell tells of the changed keys before a key.
		tell := func(before func(string) bool) bool {
			for len(keys) > 0 && before(keys[0]) {
				c := r.changes[keys[0]]
				keys = keys[1:]
				if !c.Removed && !yield(archive.Entry{Key: c.Key, Value: c.Value}, nil) {
					return false
				}
			}
			return true
		}
		for e, err := range base {
			if err != nil {
				yield(archive.Entry{}, err)
				return
			}
			if !tell(func(key string) bool { return key <= e.Key }) {
				return
			}
			if _, changed := r.changes[e.Key]; !changed && !yield(e, nil) {
				return
			}
		}
		tell(func(string) bool { return true })
	}
}

// until is the last second before a time, and from the first one after it, as users name them.
func until(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

func from(t time.Time) string { return until(t.Add(time.Second - 1)) }
