package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kqueen.io/kqueen/internal/platform/database"
)

// KeySize is the length of the key of a log, in bytes.
const KeySize = 32

// Format names the encoding of which hashes are made.
const Format = "kqueen.io/audit/1"

// origin is the hash that the first record names as the previous one.
var origin = strings.Repeat("0", 2*sha256.Size)

// Head is the end of the log: the last record's sequence, and its hash in hexadecimal. Who remembers one elsewhere can
// later show that nothing up to it was changed, even by a writer who has the key.
type Head struct {
	Sequence int64  `json:"sequence"`
	Hash     string `json:"hash"`
}

// keys are made of the one key, so that nothing that one of them signed passes for what another one signs.
type keys struct{ chain, head, cursor, export, aside []byte }

func newKeys(key []byte) (keys, error) {
	if len(key) != KeySize {
		return keys{}, fmt.Errorf("key of the audit log: it has %d bytes; want %d", len(key), KeySize)
	}
	derive := func(purpose string) []byte {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte("kqueen.io/audit/" + purpose))
		return mac.Sum(nil)
	}
	return keys{chain: derive("chain"), head: derive("head"), cursor: derive("cursor"), export: derive("export"), aside: derive("aside")}, nil
}

// sign returns the HMAC-SHA256 of the fields in hexadecimal.
func sign(key []byte, fields ...string) string {
	mac := hmac.New(sha256.New, key)
	write(mac, fields...)
	return hex.EncodeToString(mac.Sum(nil))
}

// write writes each field as a netstring: its length in decimal, a colon, its bytes, a comma. So no two lists of
// fields have the same encoding.
func write(to hash.Hash, fields ...string) {
	for _, field := range fields {
		_, _ = io.WriteString(to, strconv.Itoa(len(field))+":"+field+",")
	}
}

// hash is what the record's hash has to be. Its fields stand in docs/operations/audit.md: a change there is another Format.
func (k keys) hash(r Record) string {
	fields := []string{
		Format, r.Previous, strconv.FormatInt(r.Sequence, 10), strconv.FormatInt(database.Time(r.Time), 10),
		r.Actor.Kind, r.Actor.Name, r.Actor.Credential, r.Action, r.Organization, r.Object.Kind, r.Object.Name, r.Object.UID,
		r.Source, r.UserAgent, r.RequestID, string(r.Outcome), strconv.Itoa(r.Status), r.Reason, r.Before, r.After,
		strconv.Itoa(len(r.Detail)),
	}
	for _, key := range slices.Sorted(maps.Keys(r.Detail)) {
		fields = append(fields, key, r.Detail[key])
	}
	return sign(k.chain, fields...)
}

func (k keys) signHead(h Head) string {
	return sign(k.head, Format, strconv.FormatInt(h.Sequence, 10), h.Hash)
}

// signAside signs what is kept beside the records: what is under way, and how far sources were read.
func (k keys) signAside(what, name, content string) string {
	return sign(k.aside, Format, what, name, content)
}

// link gives a record its place behind the head and returns the head that it becomes.
func (k keys) link(r *Record, behind Head) Head {
	r.Sequence, r.Previous = behind.Sequence+1, behind.Hash
	r.Hash = k.hash(*r)
	return Head{Sequence: r.Sequence, Hash: r.Hash}
}

// same compares without telling by its duration how much of it was right.
func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// What is wrong at a place.
type What string

const (
	// Changed is a record that is not the one that was appended under its sequence.
	Changed What = "was changed, or was not written by this log"
	// Missing is a gap, or an end before the head.
	Missing What = "is missing"
	// Unlinked is a record that was once appended, in another history than the one before it.
	Unlinked What = "does not follow the record before it"
	// Beyond is a record behind the head, or one before the first.
	Beyond What = "is outside of the log: before its beginning or behind its head"
	// OutOfOrder is a record of an export that stands there twice, or behind a later one.
	OutOfOrder What = "stands behind itself or a later one"
	// HeadChanged is a head that was not written with the key of this log.
	HeadChanged What = "is not signed with the key of this log"
	// HeadMissing is a log that has records and no head.
	HeadMissing What = "is not there"
	// HeadUnlike is a head whose hash is not the last record's.
	HeadUnlike What = "does not have the hash of the last record"
	// Rewritten is a history that is not the one which a reader remembers.
	Rewritten What = "has another hash than the head that was remembered"
	// SealChanged is an export with other records than were written, or another end.
	SealChanged What = "does not fit the records"
	// SealMissing is an export that was cut off.
	SealMissing What = "is missing: the end was cut off"
)

// Problem is a place where the log is not what was written, and what is wrong there.
type Problem struct {
	// First and Last are the sequences of the records in question; of the head, where What is about it.
	First, Last int64
	What        What
}

func (p Problem) String() string {
	switch {
	case slices.Contains([]What{HeadChanged, HeadMissing, HeadUnlike}, p.What):
		return fmt.Sprintf("the head %s", p.What)
	case p.What == SealChanged || p.What == SealMissing:
		return fmt.Sprintf("the seal %s", p.What)
	case p.First == p.Last:
		return fmt.Sprintf("record %d %s", p.First, p.What)
	}
	return fmt.Sprintf("records %d to %d: each %s", p.First, p.Last, p.What)
}

// BrokenError is the error of what cannot be done because the log is not what was written.
type BrokenError struct{ Problem Problem }

func (e *BrokenError) Error() string { return "the audit log is broken: " + e.Problem.String() }

func broken(first, last int64, what What) error {
	return &BrokenError{Problem{First: first, Last: last, What: what}}
}
