package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// Entry is one key and its value.
type Entry struct {
	Key   string
	Value []byte
}

const (
	// mostEntry is more than any entry of etcd has, whose requests are of 1.5 MiB.
	mostEntry = 8 << 20
	// mostChunk is from where a chunk ends whatever its keys are. With its last entry it may have mostEntry more.
	mostChunk = 1 << 20
	// oneIn is how many entries a chunk has on average. Small chunks are kept once more often, large ones compress better.
	oneIn = 128
	// mostStored bounds the file of a chunk.
	mostStored = mostChunk + mostEntry + 64<<10
)

// split gathers entries to chunks. Where a chunk ends depends on the key of its last entry alone, unless it is too large, so that
// a change of one object changes one chunk.
func split(entries iter.Seq2[Entry, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var chunk []byte
		for e, err := range entries {
			if err == nil && len(e.Key)+len(e.Value) > mostEntry {
				err = fmt.Errorf("%.200s has %d bytes; want at most %d", e.Key, len(e.Value), mostEntry)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			chunk = appendEntry(chunk, e)
			if len(chunk) >= mostChunk || crc32.ChecksumIEEE([]byte(e.Key))%oneIn == 0 {
				if !yield(chunk, nil) {
					return
				}
				chunk = nil
			}
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}

func appendEntry(chunk []byte, e Entry) []byte {
	chunk = append(binary.AppendUvarint(chunk, uint64(len(e.Key))), e.Key...)
	return append(binary.AppendUvarint(chunk, uint64(len(e.Value))), e.Value...)
}

// parse calls f with the entries of a chunk until it returns false.
func parse(chunk []byte, f func(Entry) bool) error {
	for len(chunk) > 0 {
		key, rest, err := field(chunk)
		if err != nil {
			return err
		}
		value, rest, err := field(rest)
		if err != nil {
			return err
		}
		if chunk = rest; !f(Entry{string(key), value}) {
			return nil
		}
	}
	return nil
}

func field(chunk []byte) (value, rest []byte, err error) {
	n, size := binary.Uvarint(chunk)
	if size <= 0 || n > uint64(len(chunk)-size) {
		return nil, nil, damaged("an entry is cut off")
	}
	chunk = chunk[size:]
	return chunk[:n:n], chunk[n:], nil
}

// SealForStore encrypts what is for the store alone, as [About.Sealed] has it.
func (k Keys) SealForStore(plain []byte) ([]byte, error) {
	return sealTo(plain, k.identity.Recipient())
}

// Unsealed opens what the manifest has for the store alone; nil where it has nothing.
func (b *Backup) Unsealed() ([]byte, error) {
	if len(b.Sealed) == 0 {
		return nil, nil
	}
	return b.keys.open(b.Sealed)
}

// seal compresses and encrypts a chunk.
func (k Keys) seal(plain []byte) ([]byte, error) { return sealTo(plain, k.recipients...) }

func sealTo(plain []byte, recipients ...age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	encrypted, err := age.Encrypt(&out, recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	packed, err := zstd.NewWriter(encrypted, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if _, err := packed.Write(plain); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := packed.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := encrypted.Close(); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return out.Bytes(), nil
}

// open is the reverse of seal. It takes no more memory than a chunk can have.
func (k Keys) open(sealed []byte) ([]byte, error) {
	decrypted, err := age.Decrypt(bytes.NewReader(sealed), k.identity)
	if err != nil {
		return nil, damaged("it cannot be decrypted with the key of its store")
	}
	unpacked, err := zstd.NewReader(decrypted, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostStored))
	if err != nil {
		return nil, damaged("it is not compressed as backups are")
	}
	defer unpacked.Close()
	plain, err := io.ReadAll(io.LimitReader(unpacked, mostStored+1))
	if err != nil || len(plain) > mostStored {
		return nil, damaged("what is compressed in it is not whole, or too large")
	}
	return plain, nil
}
