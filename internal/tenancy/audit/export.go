package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// maxLine is the longest line of an export, in bytes. A record with all fields full, each byte escaped, is shorter.
const maxLine = 64 << 10

// line is one of an export: a record, or at the end the seal.
type line struct {
	Record *Record `json:"record,omitempty"`
	Seal   *seal   `json:"seal,omitempty"`
}

// seal says which records an export has, so that none is taken out or put in afterwards.
type seal struct {
	Records int64 `json:"records"`
	// Complete exports have all records up to the head.
	Complete bool `json:"complete"`
	Head     Head `json:"head"`
	// Digest is the SHA-256 of all records' hashes, as netstrings, in hexadecimal.
	Digest    string `json:"digest"`
	Signature string `json:"signature"`
}

// sealer makes the seal of the records that it is shown.
type sealer struct {
	records int64
	digest  hash.Hash
}

func newSealer() *sealer { return &sealer{digest: sha256.New()} }

func (s *sealer) add(r Record) {
	s.records++
	write(s.digest, r.Hash)
}

func (s *sealer) seal(k keys, complete bool, head Head) seal {
	out := seal{Records: s.records, Complete: complete, Head: head, Digest: hex.EncodeToString(s.digest.Sum(nil))}
	out.Signature = sign(k.export, Format, strconv.FormatInt(out.Records, 10), strconv.FormatBool(complete),
		strconv.FormatInt(head.Sequence, 10), head.Hash, out.Digest)
	return out
}

// Export writes the records that a filter names up to the present head, oldest first, as lines of JSON, each
// {"record": …}, and a last line {"seal": …}. [VerifyExport] reads them. The filter's OldestFirst, Limit and Cursor are
// for lists and have to be zero. What was written before an error has no seal.
func (l *Log) Export(ctx context.Context, w io.Writer, f Filter) error {
	if err := f.checkScope(); err != nil {
		return fmt.Errorf("export records: %w", err)
	}
	if f.OldestFirst || f.Limit != 0 || f.Cursor != "" {
		return fmt.Errorf("export records: %w", invalid.New("oldestFirst, limit or cursor", "is given; want none: an export is whole"))
	}
	head, err := l.Head(ctx)
	if err != nil {
		return fmt.Errorf("export records: %w", err)
	}
	complete := f == Filter{AllOrganizations: true}
	f.OldestFirst = true
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	sealed := newSealer()
	for after := int64(0); ; {
		records, err := l.read(ctx, f, after, head.Sequence, MaxLimit)
		if err != nil {
			return fmt.Errorf("export records after record %d: %w", after, err)
		}
		for i, r := range records {
			sealed.add(r)
			if err := out.Encode(line{Record: &records[i]}); err != nil {
				return fmt.Errorf("export record %d: %w", r.Sequence, err)
			}
			after = r.Sequence
		}
		if len(records) < MaxLimit {
			break
		}
	}
	end := sealed.seal(l.keys, complete, head)
	if err := out.Encode(line{Seal: &end}); err != nil {
		return fmt.Errorf("export the seal: %w", err)
	}
	return nil
}

// VerifyExport reads an export, a line at a time, and reports every place that is not what was written. It needs no
// database. Its error, which names the line, is for what no [Log.Export] writes: other fields, another form of JSON.
// In a complete export every record up to the head has to be there; in one of a part, as the seal counts them.
func VerifyExport(r io.Reader, key []byte) (Report, error) {
	derived, err := newKeys(key)
	if err != nil {
		return Report{}, fmt.Errorf("verify the export: %w", err)
	}
	// A first walk would be needed to know from the seal whether gaps are wrong: they are kept until it is read.
	w := walk{keys: derived, report: Report{Complete: true}, hash: origin, sound: true}
	part := walk{keys: derived, hash: origin, sound: true}
	sealed := newSealer()
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	var end *seal
	number := 0
	for lines.Scan() {
		number++
		if end != nil {
			return Report{}, fmt.Errorf("verify the export: line %d: stands behind the seal; want nothing", number)
		}
		l, err := decodeLine(lines.Bytes())
		if err != nil {
			return Report{}, fmt.Errorf("verify the export: line %d: %w", number, err)
		}
		if end = l.Seal; end == nil {
			sealed.add(*l.Record)
			w.next(*l.Record)
			part.next(*l.Record)
		}
	}
	if err := lines.Err(); err != nil {
		return Report{}, fmt.Errorf("verify the export: line %d: %w", number+1, err)
	}
	if end == nil {
		w.add(w.last+1, w.last+1, SealMissing)
		return w.report, nil
	}
	if !end.Complete {
		w = part
	}
	w.report.Head = end.Head
	if end.Complete {
		w.end(end.Head)
	}
	if *end != sealed.seal(derived, end.Complete, end.Head) {
		w.add(end.Head.Sequence, end.Head.Sequence, SealChanged)
	}
	return w.report, nil
}

// decodeLine takes only what Export writes, byte for byte: JSON with a field twice, or in other letters, would mean one
// thing here and another thing to the next reader.
func decodeLine(text []byte) (line, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return line{}, fmt.Errorf("is no JSON of a record or a seal: %w", err)
	}
	if (l.Record == nil) == (l.Seal == nil) {
		return line{}, errors.New(`want {"record": …} or {"seal": …}`)
	}
	var again bytes.Buffer
	encoder := json.NewEncoder(&again)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(l); err != nil {
		return line{}, fmt.Errorf("cannot be written again: %w", err)
	}
	if !bytes.Equal(bytes.TrimSuffix(again.Bytes(), []byte("\n")), text) {
		return line{}, errors.New("does not have the form that an export has")
	}
	return l, nil
}
