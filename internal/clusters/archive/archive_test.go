package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
)

var testAbout = About{
	Backup: "b1", Cluster: "c1", ControlPlane: "p1", Organization: "shop", Name: "demo", Version: "v1.36.3",
	Trust: map[string]string{"encryption": "sha256:aa"},
}

func newKeys(t *testing.T, recipients ...string) Keys {
	t.Helper()
	data, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseKeys(data, recipients)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newDirectory(t *testing.T) (*Directory, string) {
	t.Helper()
	above := filepath.Join(t.TempDir(), "backups")
	d, err := OpenDirectory(above, "shop/c1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, filepath.Join(above, "shop/c1")
}

func sequence(m map[string]string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(Entry{key, []byte(m[key])}, nil) {
				return
			}
		}
	}
}

// state has small values and, with it, one larger than a chunk.
func state(n int) map[string]string {
	m := map[string]string{"large": strings.Repeat("L", mostChunk+7), "empty": ""}
	for i := range n {
		m[fmt.Sprintf("configmaps/default/%05d", i)] = strings.Repeat(fmt.Sprint(i), 100)
	}
	return m
}

func write(t *testing.T, to Bucket, k Keys, about About, m map[string]string) Written {
	t.Helper()
	revision := int64(42)
	w, err := Write(t.Context(), to, k, about, sequence(m), &revision, func() time.Time { return time.Unix(1e9, 5) })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func readBack(ctx context.Context, from Bucket, k Keys, about About, digest string) (map[string]string, error) {
	b, err := Open(ctx, from, k, about, digest)
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	for e, err := range b.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		got[e.Key] = string(e.Value)
	}
	return got, nil
}

func TestRoundTrip(t *testing.T) {
	d, _ := newDirectory(t)
	k, want := newKeys(t), state(3000)
	w := write(t, d, k, testAbout, want)
	if w.Keys != int64(len(want)) || w.Revision != 42 || !w.TakenAt.Equal(time.Unix(1e9, 0)) || len(w.Chunks) < 10 || w.NewBytes <= 0 {
		t.Errorf("got keys=%d revision=%d at=%s chunks=%d new=%d", w.Keys, w.Revision, w.TakenAt, len(w.Chunks), w.NewBytes)
	}
	got, err := readBack(t.Context(), d, k, testAbout, w.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A second backup, in which one value is another one, has one chunk of its own.
	want["configmaps/default/00077"] = "changed"
	second := testAbout
	second.Backup = "b2"
	w2 := write(t, d, k, second, want)
	shared := map[string]bool{}
	for _, c := range w.Chunks {
		shared[c.Name] = true
	}
	own := slices.DeleteFunc(slices.Clone(w2.Chunks), func(c Chunk) bool { return shared[c.Name] })
	if len(own) != 1 || w2.NewBytes >= w.NewBytes/2 {
		t.Errorf("the second backup has %d chunks of its own and %d new bytes, beside %d", len(own), w2.NewBytes, w.NewBytes)
	}
	// Without the first, the second is whole; without both, nothing is left.
	if err := Remove(t.Context(), d, k, "b1"); err != nil {
		t.Fatal(err)
	}
	if got, err := readBack(t.Context(), d, k, second, w2.Digest); err != nil || got["configmaps/default/00077"] != "changed" {
		t.Errorf("after the first was removed: %v", err)
	}
	for range 2 {
		if err := Remove(t.Context(), d, k, "b2"); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := d.List(t.Context(), "."); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestEmpty(t *testing.T) {
	d, _ := newDirectory(t)
	k := newKeys(t)
	w := write(t, d, k, testAbout, nil)
	if got, err := readBack(t.Context(), d, k, testAbout, w.Digest); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestTampered: what was changed, cut, swapped or taken away is never read as if it were whole.
func TestTampered(t *testing.T) {
	foreign := testAbout
	foreign.Cluster, foreign.Backup = "c2", "b9"
	for name, spoil := range map[string]func(t *testing.T, d *Directory, k Keys, w Written) error{
		"BitInManifest": func(t *testing.T, d *Directory, _ Keys, _ Written) error {
			return edit(t, d, manifestFile("b1"), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		},
		"ManifestCut": func(t *testing.T, d *Directory, _ Keys, _ Written) error {
			return edit(t, d, manifestFile("b1"), func(b []byte) []byte { return b[:len(b)-10] })
		},
		"ManifestGone": func(t *testing.T, d *Directory, _ Keys, _ Written) error {
			return d.Delete(t.Context(), manifestFile("b1"))
		},
		"ManifestOfAnother": func(t *testing.T, d *Directory, k Keys, _ Written) error {
			write(t, d, k, foreign, map[string]string{"a": "theirs"})
			return move(t, d, manifestFile("b9"), manifestFile("b1"))
		},
		"OlderManifest": func(t *testing.T, d *Directory, k Keys, _ Written) error {
			write(t, d, k, testAbout, map[string]string{"a": "older"})
			return nil
		},
		"SignedByOthers": func(t *testing.T, d *Directory, _ Keys, w Written) error {
			file, _, err := newKeys(t).encode(w.Manifest)
			if err != nil {
				return err
			}
			return d.Put(t.Context(), manifestFile("b1"), file)
		},
		"BitInChunk": func(t *testing.T, d *Directory, _ Keys, w Written) error {
			return edit(t, d, chunkFile(w.Chunks[3].Name), func(b []byte) []byte { b[len(b)-20] ^= 1; return b })
		},
		"ChunkCut": func(t *testing.T, d *Directory, _ Keys, w Written) error {
			return edit(t, d, chunkFile(w.Chunks[3].Name), func(b []byte) []byte { return b[:len(b)/2] })
		},
		"ChunkEmpty": func(t *testing.T, d *Directory, _ Keys, w Written) error {
			return edit(t, d, chunkFile(w.Chunks[3].Name), func([]byte) []byte { return nil })
		},
		"ChunkGone": func(t *testing.T, d *Directory, _ Keys, w Written) error {
			return d.Delete(t.Context(), chunkFile(w.Chunks[0].Name))
		},
		"ChunkSwapped": func(t *testing.T, d *Directory, _ Keys, w Written) error {
			return move(t, d, chunkFile(w.Chunks[1].Name), chunkFile(w.Chunks[2].Name))
		},
		"ChunkEncryptedByOthers": func(t *testing.T, d *Directory, k Keys, w Written) error {
			sealed, err := k.seal([]byte("theirs")) // they know the public key
			if err != nil {
				return err
			}
			return d.Put(t.Context(), chunkFile(w.Chunks[0].Name), sealed)
		},
		"ChunkLarge": func(t *testing.T, d *Directory, _ Keys, w Written) error {
			return edit(t, d, chunkFile(w.Chunks[0].Name), func(b []byte) []byte { return append(b, make([]byte, mostStored)...) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDirectory(t)
			k := newKeys(t)
			w := write(t, d, k, testAbout, state(2000))
			if err := spoil(t, d, k, w); err != nil {
				t.Fatal(err)
			}
			b, err := Open(t.Context(), d, k, testAbout, w.Digest)
			if err == nil {
				err = b.Verify(t.Context())
			}
			if _, ok := errors.AsType[*DamagedError](err); !ok {
				t.Errorf("got %v; want a *DamagedError", err)
			}
		})
	}
}

func edit(t *testing.T, d *Directory, name string, change func([]byte) []byte) error {
	t.Helper()
	data, err := d.Get(t.Context(), name, mostManifest)
	if err != nil {
		return err
	}
	return d.Put(t.Context(), name, change(data))
}

func move(t *testing.T, d *Directory, from, to string) error {
	t.Helper()
	data, err := d.Get(t.Context(), from, mostManifest)
	if err != nil {
		return err
	}
	return d.Put(t.Context(), to, data)
}

// TestDamagedChunkIsMended: the next backup that has a chunk writes it again where it is not whole.
func TestDamagedChunkIsMended(t *testing.T) {
	d, _ := newDirectory(t)
	k := newKeys(t)
	w := write(t, d, k, testAbout, state(500))
	if err := edit(t, d, chunkFile(w.Chunks[0].Name), func(b []byte) []byte { return b[:9] }); err != nil {
		t.Fatal(err)
	}
	next := testAbout
	next.Backup = "b2"
	w = write(t, d, k, next, state(500))
	if _, err := readBack(t.Context(), d, k, next, w.Digest); err != nil {
		t.Error(err)
	}
}

// TestStops: an error while reading leaves no backup, and the next retry finds what was written.
func TestStops(t *testing.T) {
	d, _ := newDirectory(t)
	k, cause, revision := newKeys(t), errors.New("etcd is gone"), int64(1)
	torn := func(yield func(Entry, error) bool) {
		for e := range sequence(state(1000)) {
			if !yield(e, nil) {
				return
			}
		}
		yield(Entry{}, cause)
	}
	if _, err := Write(t.Context(), d, k, testAbout, torn, &revision, time.Now); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if names, err := d.List(t.Context(), backupsFolder); err != nil || len(names) != 0 {
		t.Errorf("there is a backup: %v, %v", names, err)
	}
	huge := map[string]string{"a": strings.Repeat("x", mostEntry+1)}
	if _, err := Write(t.Context(), d, k, testAbout, sequence(huge), &revision, time.Now); err == nil {
		t.Error("an entry that is too large was taken")
	}
}

// TestRecipients: the organization's own key opens a chunk, without KQueen; no file has the plain text.
func TestRecipients(t *testing.T) {
	theirs, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	d, folder := newDirectory(t)
	k := newKeys(t, theirs.Recipient().String())
	w := write(t, d, k, testAbout, map[string]string{"secrets/default/x": "the marker"})
	sealed, err := d.Get(t.Context(), chunkFile(w.Chunks[0].Name), mostStored)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := (Keys{identity: theirs}).open(sealed); err != nil || !bytes.Contains(plain, []byte("the marker")) {
		t.Errorf("got %q, %v", plain, err)
	}
	err = filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("marker")) || info.Mode().Perm() != fileMode {
			t.Errorf("%s has the plain text, or the mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseKeys(map[string][]byte{}, nil); err == nil {
		t.Error("no keys were taken")
	}
	data, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseKeys(data, []string{"age1nonsense"}); err == nil || !strings.Contains(err.Error(), "recipients[0]") {
		t.Errorf("got %v", err)
	}
}

// TestSealed: what a backup has for its store alone no other recipient opens, and it comes back as it was.
func TestSealed(t *testing.T) {
	theirs, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	d, _ := newDirectory(t)
	k, about := newKeys(t, theirs.Recipient().String()), testAbout
	if about.Sealed, err = k.SealForStore([]byte("the marker")); err != nil {
		t.Fatal(err)
	}
	w := write(t, d, k, about, state(1))
	opened, err := Open(t.Context(), d, k, about, w.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opened.Unsealed(); string(got) != "the marker" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := (Keys{identity: theirs}).open(about.Sealed); err == nil {
		t.Errorf("another recipient reads %q", got)
	}
	opened.Sealed = nil
	if got, err := opened.Unsealed(); got != nil || err != nil {
		t.Errorf("of a backup that has nothing: %q, %v", got, err)
	}
}

// TestOutside: a link that leads out of the folder is not followed.
func TestOutside(t *testing.T) {
	d, folder := newDirectory(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder, manifestFile("b1"))); err != nil {
		t.Fatal(err)
	}
	if data, err := d.Get(t.Context(), manifestFile("b1"), 10); err == nil {
		t.Errorf("got %q", data)
	}
}

// FuzzRead: no file of a bucket makes the reader fail otherwise than with an error, or take more memory than a chunk has.
func FuzzRead(f *testing.F) {
	data, err := NewKeys()
	if err != nil {
		f.Fatal(err)
	}
	k, err := ParseKeys(data, nil)
	if err != nil {
		f.Fatal(err)
	}
	file, _, err := k.encode(Manifest{Format: format, About: testAbout, Chunks: []Chunk{{Name: strings.Repeat("ab", 32)}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(appendEntry(nil, Entry{"a", []byte("b")}))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = k.decode(data)
		_, _ = k.open(data)
		var again []byte
		if err := parse(data, func(e Entry) bool { again = appendEntry(again, e); return true }); err == nil && len(again) > len(data) {
			t.Errorf("%d bytes became %d", len(data), len(again))
		}
	})
}
