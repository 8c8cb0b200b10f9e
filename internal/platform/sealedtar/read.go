package sealedtar

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

const (
	// mostText bounds the archive's own files: the list of some million files.
	mostText = 512 << 20
	// mostWindow is what the decoder may keep of what it has unpacked. The encoder keeps less.
	mostWindow = 64 << 20
)

// What streams begin with: those that age encrypted, and those that are only compressed.
var (
	encrypted  = []byte("age-encryption.org/")
	compressed = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Read reads an archive of a kind to its end and returns its files. begin is called with what it is about before each is called with a
// file, which need not be read to its end. What these say ends the reading. An archive that is not whole is a [*DamagedError], which may
// come after all files were handed out: they count when Read returns without an error. Keys that are not needed are not used.
func Read[T any](from io.Reader, kind string, keys []age.Identity, begin func(T) error, each func(name string, size int64, content io.Reader) error) ([]File, error) {
	source := &source{from: from}
	packed, err := open(source, keys)
	if err != nil {
		return nil, err
	}
	unpacked, err := zstd.NewReader(packed, zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return nil, source.blame(err)
	}
	defer unpacked.Close()
	r := &reader{tar: tar.NewReader(unpacked), source: source}
	var head about[T]
	if err := r.json(aboutFile, &head); err != nil {
		return nil, err
	}
	switch {
	case head.Kind != kind:
		return nil, fmt.Errorf("%w: %.60q; want %q", ErrForeign, head.Kind, kind)
	case head.Format != format:
		return nil, fmt.Errorf("it has format %d; this program reads %d", head.Format, format)
	}
	if err := begin(head.About); err != nil {
		return nil, err
	}
	if err := r.files(each); err != nil {
		return nil, err
	}
	// What authenticates the end is behind the archive's last byte.
	if rest, err := io.Copy(io.Discard, io.LimitReader(unpacked, 1)); err != nil || rest > 0 {
		return nil, source.blame(orSay(err, "there is more than was written"))
	}
	return r.seen[1:], nil
}

// orSay is err, or one that says what is wrong.
func orSay(err error, otherwise string) error {
	if err == nil {
		return errors.New(otherwise)
	}
	return err
}

// open finds out how a stream is sealed, and decrypts it.
func open(from *source, keys []age.Identity) (io.Reader, error) {
	peeked := bufio.NewReader(from)
	begin, err := peeked.Peek(len(encrypted))
	switch {
	case bytes.HasPrefix(begin, compressed):
		return peeked, nil
	case !bytes.Equal(begin, encrypted):
		if err != nil && from.failed != nil {
			return nil, from.failed
		}
		return nil, ErrForeign
	case len(keys) == 0:
		return nil, ErrNeedsKey
	}
	plain, err := age.Decrypt(peeked, keys...)
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		return nil, ErrWrongKey
	}
	if err != nil {
		return nil, from.blame(err)
	}
	return plain, nil
}

// source knows whether reading failed, or what was read is not whole.
type source struct {
	from   io.Reader
	failed error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = fmt.Errorf("read: %w", err)
	}
	return n, err
}

// blame says why reading has ended with err: because of where it is read from, or because it is damaged.
func (s *source) blame(err error) error {
	if s.failed != nil {
		return s.failed
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return damaged("it is cut off")
	}
	return damaged("it is damaged or cut off: %v", err)
}

// reader reads the files of an archive.
type reader struct {
	tar    *tar.Reader
	source *source
	seen   []File
	// broken is why a file could not be read to its end.
	broken error
}

// files hands out all files up to the list of them, and compares them with it.
func (r *reader) files(each func(string, int64, io.Reader) error) error {
	names := map[string]bool{}
	for {
		head, err := r.next()
		if err != nil {
			return err
		}
		if head.Name == manifestFile {
			return r.compare(head)
		}
		if !filepath.IsLocal(head.Name) || names[head.Name] {
			return damaged("it has the file %.200q, which cannot be, or twice", head.Name)
		}
		names[head.Name] = true
		if err := r.hand(head, each); err != nil {
			return err
		}
	}
}

func (r *reader) next() (*tar.Header, error) {
	head, err := r.tar.Next()
	if err != nil {
		return nil, r.source.blame(err)
	}
	if head.Typeflag != tar.TypeReg {
		return nil, damaged("%.200q in it is not a file", head.Name)
	}
	return head, nil
}

// hand hands out one file and reads what is left of it.
func (r *reader) hand(head *tar.Header, each func(string, int64, io.Reader) error) error {
	sum := sha256.New()
	content := io.TeeReader(noting{r}, sum)
	err := each(head.Name, head.Size, content)
	if err == nil {
		_, err = io.Copy(io.Discard, content)
	}
	if r.broken != nil {
		return r.source.blame(r.broken)
	}
	r.seen = append(r.seen, File{head.Name, head.Size, hex.EncodeToString(sum.Sum(nil))})
	return err
}

// noting remembers that a file could not be read, whatever who reads it makes of that.
type noting struct{ *reader }

func (n noting) Read(p []byte) (int, error) {
	k, err := n.tar.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.broken = err
	}
	return k, err
}

// compare compares what was read with the list at the end, after which there is no file.
func (r *reader) compare(head *tar.Header) error {
	var list manifest
	if err := r.decode(head.Size, noting{r}, &list); err != nil {
		return err
	}
	if !slices.Equal(r.seen, list.Files) {
		return damaged("it is damaged: its files are not those of the list at its end")
	}
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return r.source.blame(orSay(err, "there are files behind the list of them"))
	}
	return nil
}

// json reads the next file, which has that name.
func (r *reader) json(name string, into any) error {
	head, err := r.next()
	if err != nil {
		return err
	}
	if head.Name != name {
		return ErrForeign
	}
	return r.hand(head, func(_ string, size int64, content io.Reader) error { return r.decode(size, content, into) })
}

func (r *reader) decode(size int64, from io.Reader, into any) error {
	if size > mostText {
		return damaged("it is damaged: its own texts are too large")
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return r.source.blame(err)
	}
	if json.Unmarshal(data, into) != nil {
		return damaged("it is damaged: its own texts cannot be read")
	}
	return nil
}
