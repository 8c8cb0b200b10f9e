package sealedtar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// told is what the archives of these tests are about.
type told struct{ Host string }

const kind = "test"

// content is more than a chunk of age and a block of zstd, and does not repeat.
func content() map[string]string {
	var long strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&long, "%d %x\n", i, i*2654435761)
	}
	return map[string]string{"a/short": "hello", "b/long": long.String(), "c/empty": ""}
}

// written is an archive of that content.
func written(t *testing.T, recipients ...age.Recipient) []byte {
	t.Helper()
	var out bytes.Buffer
	err := Write(&out, kind, told{"h1"}, recipients, func(w *Writer) error {
		for _, name := range []string{"a/short", "b/long", "c/empty"} {
			text := content()[name]
			if err := w.Add(name, int64(len(text)), strings.NewReader(text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read reads an archive, and what it is about.
func read(from io.Reader, keys ...age.Identity) (files map[string]string, about told, err error) {
	files = map[string]string{}
	_, err = Read(from, kind, keys, func(of told) error { about = of; return nil }, func(name string, _ int64, r io.Reader) error {
		data, err := io.ReadAll(r)
		files[name] = string(data)
		return err
	})
	return files, about, err
}

func identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestRoundTrip(t *testing.T) {
	mine, escrow := identity(t), identity(t)
	lock, err := age.NewScryptRecipient("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	lock.SetWorkFactor(10)
	word, err := age.NewScryptIdentity("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		to   []age.Recipient
		with []age.Identity
	}{
		"plain":             {nil, nil},
		"plain, with a key": {nil, []age.Identity{mine}},
		"to a recipient":    {[]age.Recipient{mine.Recipient()}, []age.Identity{mine}},
		"to two":            {[]age.Recipient{mine.Recipient(), escrow.Recipient()}, []age.Identity{escrow}},
		"with a passphrase": {[]age.Recipient{lock}, []age.Identity{word}},
	} {
		t.Run(name, func(t *testing.T) {
			files, about, err := read(bytes.NewReader(written(t, c.to...)), c.with...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(content(), files); diff != "" {
				t.Error(diff)
			}
			if about.Host != "h1" {
				t.Errorf("it is about %+v", about)
			}
		})
	}
}

// TestNotReadToTheEnd: who is handed a file need not read it, and damage of it is found all the same.
func TestNotReadToTheEnd(t *testing.T) {
	archive := written(t)
	skip := func(data []byte) error {
		_, err := Read(bytes.NewReader(data), kind, nil, func(told) error { return nil }, func(string, int64, io.Reader) error { return nil })
		return err
	}
	if err := skip(archive); err != nil {
		t.Error(err)
	}
	archive[len(archive)/2] ^= 1
	if _, ok := errors.AsType[*DamagedError](skip(archive)); !ok {
		t.Error("damage was not found")
	}
}

// TestDamage: whichever byte is another one, wherever it is cut off and whatever is behind it, an archive is no archive.
func TestDamage(t *testing.T) {
	mine := identity(t)
	for name, to := range map[string][]age.Recipient{"plain": nil, "encrypted": {mine.Recipient()}} {
		whole := written(t, to...)
		step := max(1, len(whole)/120)
		bad := map[string][]byte{"more": append(bytes.Clone(whole), "more"...), "twice": append(bytes.Clone(whole), whole...)}
		for at := 0; at < len(whole); at += step {
			flipped := bytes.Clone(whole)
			flipped[at] ^= 0x10
			bad[fmt.Sprintf("byte %d", at)] = flipped
			bad[fmt.Sprintf("cut at %d", at)] = whole[:at]
		}
		for from := len(whole) - 70; from < len(whole); from++ {
			bad[fmt.Sprintf("cut at %d", from)] = whole[:from]
		}
		for what, data := range bad {
			files, _, err := read(bytes.NewReader(data), mine)
			_, hurt := errors.AsType[*DamagedError](err)
			switch {
			case err == nil && cmp.Equal(files, content()) && name == "plain" && strings.HasPrefix(what, "byte"):
				// A bit of zstd's own that changes nothing, such as a reserved one.
			case err == nil:
				t.Errorf("%s, %s: it was read", name, what)
			case !hurt && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrWrongKey):
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	mine, other := identity(t), identity(t)
	word, err := age.NewScryptIdentity("x")
	if err != nil {
		t.Fatal(err)
	}
	sealed := written(t, mine.Recipient())
	var foreign bytes.Buffer
	if err := Write(&foreign, "another", told{}, nil, func(*Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	cases := map[string]struct {
		from io.Reader
		keys []age.Identity
		want error
	}{
		"no key":               {bytes.NewReader(sealed), nil, ErrNeedsKey},
		"another key":          {bytes.NewReader(sealed), []age.Identity{other}, ErrWrongKey},
		"a passphrase instead": {bytes.NewReader(sealed), []age.Identity{word}, ErrWrongKey},
		"text":                 {strings.NewReader("hello"), nil, ErrForeign},
		"nothing":              {strings.NewReader(""), nil, ErrForeign},
		"another kind":         {bytes.NewReader(foreign.Bytes()), nil, ErrForeign},
		"a failing disk":       {io.MultiReader(bytes.NewReader(sealed[:len(sealed)/2]), failing{broken}), []age.Identity{mine}, broken},
	}
	for name, c := range cases {
		if _, _, err := read(c.from, c.keys...); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if _, _, err := read(bytes.NewReader(packer.EncodeAll([]byte("no tar"), nil))); err == nil {
		t.Error("what is compressed and no archive was read")
	}
	stop := errors.New("stop")
	if _, err := Read(bytes.NewReader(sealed), kind, []age.Identity{mine}, func(told) error { return stop }, nil); !errors.Is(err, stop) {
		t.Errorf("got %v, want what the caller said", err)
	}
}

// TestUnfinished: an archive whose writer failed is none, and names that lead out of a folder are not written.
func TestUnfinished(t *testing.T) {
	var out bytes.Buffer
	failed := errors.New("etcd is gone")
	err := Write(&out, kind, told{}, nil, func(w *Writer) error {
		for _, name := range []string{"../up", "/root", manifestFile, aboutFile, ""} {
			if w.Add(name, 0, strings.NewReader("")) == nil {
				t.Errorf("%q was taken for a name", name)
			}
		}
		if w.Add("short", 10, strings.NewReader("five.")) == nil {
			t.Error("a file that was shorter than said was added")
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if _, _, err := read(&out); err == nil {
		t.Error("what was not finished was read")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
