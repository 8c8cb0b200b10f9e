package archivetest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/archive"
)

// backups writes two backups and a log, breaks what is there in each way, and removes all.
func backups(t *testing.T, b archive.Bucket) {
	data, err := archive.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := archive.ParseKeys(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := archive.About{Backup: "b1", Cluster: "c1", ControlPlane: "p1"}
	second := first
	second.Backup = "b2"
	w1, w2 := write(t, b, keys, first, 500), write(t, b, keys, second, 501)
	if verify(t, b, keys, first, w1.Digest) != nil || verify(t, b, keys, second, w2.Digest) != nil || len(w1.Chunks) < 2 {
		t.Fatal("the backups are not whole")
	}
	log := archive.Log{Owner: "s1", Cluster: "c1", ControlPlane: "p1", Name: "one"}
	segment := archive.Segment{Log: log, After: 7, Until: 9, Since: time.Unix(1e9, 0).UTC(), Complete: time.Unix(1e9, 0).UTC()}
	if err := archive.WriteSegment(t.Context(), b, keys, segment); err != nil {
		t.Fatal(err)
	}
	if got, err := archive.ReadSegment(t.Context(), b, keys, log, 7); err != nil || got.Until != 9 {
		t.Errorf("the log ends at %d: %v", got.Until, err)
	}
	for name, breaks := range map[string]func([]byte) []byte{
		"cut off": func(file []byte) []byte { return file[:len(file)/2] }, "empty": func([]byte) []byte { return nil },
		"changed": func(file []byte) []byte { return append(file[:len(file)-1:len(file)-1], file[len(file)-1]^1) },
		"another": func([]byte) []byte { return []byte("<html>not found</html>") },
	} {
		for _, file := range append(list(t, b, "backups"), list(t, b, "log")...) {
			broken(t, b, file, name, breaks, func() error {
				_, err := archive.ReadSegment(t.Context(), b, keys, log, 7)
				return errors.Join(err, verify(t, b, keys, first, w1.Digest), verify(t, b, keys, second, w2.Digest))
			})
		}
		chunk := "chunks/" + w1.Chunks[0].Name[:2] + "/" + w1.Chunks[0].Name
		broken(t, b, chunk, name, breaks, func() error { return verify(t, b, keys, first, w1.Digest) })
	}
	if err := archive.Remove(t.Context(), b, keys, "b1"); err != nil {
		t.Fatal(err)
	}
	if err := verify(t, b, keys, second, w2.Digest); err != nil {
		t.Errorf("after the other one was removed: %v", err)
	}
	if err := errors.Join(archive.Remove(t.Context(), b, keys, "b2"), archive.RemoveLogs(t.Context(), b)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string(nil), slices.Concat(list(t, b, "backups"), list(t, b, "chunks"), list(t, b, "log"))); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// broken has a file broken, which check has to find, and puts it back.
func broken(t *testing.T, b archive.Bucket, file, name string, breaks func([]byte) []byte, check func() error) {
	t.Helper()
	was, err := b.Get(t.Context(), file, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, file, string(breaks(slices.Clone(was))))
	var damaged *archive.DamagedError
	if err := check(); !errors.As(err, &damaged) {
		t.Errorf("%s, which is %s: got %v", file, name, err)
	}
	put(t, b, file, string(was))
	if err := check(); err != nil {
		t.Errorf("%s, put back: %v", file, err)
	}
}

func write(t *testing.T, to archive.Bucket, keys archive.Keys, about archive.About, n int) archive.Written {
	t.Helper()
	entries := iter.Seq2[archive.Entry, error](func(yield func(archive.Entry, error) bool) {
		for i := range n {
			if !yield(archive.Entry{Key: fmt.Sprintf("configmaps/default/%05d", i), Value: fmt.Appendf(nil, "value %d", i)}, nil) {
				return
			}
		}
	})
	revision := int64(42)
	w, err := archive.Write(t.Context(), to, keys, about, entries, &revision, func() time.Time { return time.Unix(1e9, 0) })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func verify(t *testing.T, from archive.Bucket, keys archive.Keys, about archive.About, digest string) error {
	t.Helper()
	opened, err := archive.Open(t.Context(), from, keys, about, digest)
	if err != nil {
		return err
	}
	return opened.Verify(t.Context())
}
