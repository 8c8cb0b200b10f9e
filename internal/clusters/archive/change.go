package archive

import (
	"encoding/binary"
	"math"
	"time"
)

// A change is how much later than the change before it was told, in milliseconds, by how much its revision is greater, 1 where the key is
// removed and 0 else, as unsigned varints, and then what an entry is.
const (
	opPut    = 0
	opRemove = 1
)

// encodeChanges is the content of a segment that begins at a time and at a revision.
func encodeChanges(since time.Time, after int64, changes []Change) []byte {
	var out []byte
	at := since.UnixMilli()
	for _, c := range changes {
		op := uint64(opPut)
		if c.Removed {
			op = opRemove
		}
		now := max(at, c.Time.UnixMilli())
		out = binary.AppendUvarint(out, uint64(now-at))
		out = binary.AppendUvarint(out, uint64(c.Revision-after))
		out = binary.AppendUvarint(out, op)
		out = appendEntry(out, Entry{c.Key, c.Value})
		at, after = now, c.Revision
	}
	return out
}

// decodeChanges is the reverse of encodeChanges.
func decodeChanges(since time.Time, after int64, content []byte) ([]Change, error) {
	var changes []Change
	at := since.UnixMilli()
	number := func() (uint64, bool) {
		n, size := binary.Uvarint(content)
		if size <= 0 {
			return 0, false
		}
		content = content[size:]
		return n, true
	}
	for len(content) > 0 {
		later, ok1 := number()
		further, ok2 := number()
		op, ok3 := number()
		if !ok1 || !ok2 || !ok3 || op > opRemove || later > math.MaxInt64-uint64(max(at, 0)) || further > math.MaxInt64-uint64(max(after, 0)) {
			return nil, damaged("a change in the log of changes is cut off")
		}
		key, rest, err := field(content)
		if err != nil {
			return nil, err
		}
		value, rest, err := field(rest)
		if err != nil {
			return nil, err
		}
		at, after, content = at+int64(later), after+int64(further), rest
		changes = append(changes, Change{Revision: after, Time: time.UnixMilli(at).UTC(), Key: string(key), Value: value, Removed: op == opRemove})
	}
	return changes, nil
}
