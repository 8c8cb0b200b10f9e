// Package archivetest says what every place of backups has to do, and tries it: a folder, an S3 server.
//
// It hides which backups and logs are written and how they are broken. Only tests import it.
package archivetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/archive"
)

// Contract tests buckets. open opens one that is empty, always the same one within one test; the buckets of two folders have nothing in
// common.
func Contract(t *testing.T, open func(t *testing.T, folder string) archive.Bucket) {
	for name, test := range map[string]func(*testing.T, archive.Bucket){
		"RoundTrip": roundTrip, "Lists": lists, "Bounds": bounds, "Deletes": deletes, "Cancelled": cancelled, "Whole": whole,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, "shop/"+strings.ToLower(name))) })
	}
	t.Run("Folders", func(t *testing.T) {
		a, ab := open(t, "shop/a"), open(t, "shop/ab")
		put(t, a, "backups/x", "of a")
		put(t, ab, "backups/y", "of ab")
		if diff := cmp.Diff([]string{"backups/x"}, list(t, a, "backups")); diff != "" {
			t.Errorf("of a (-want +got):\n%s", diff)
		}
	})
	t.Run("Backups", func(t *testing.T) { backups(t, open(t, "shop/c1")) })
}

func put(t *testing.T, b archive.Bucket, name, data string) {
	t.Helper()
	if err := b.Put(t.Context(), name, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, b archive.Bucket, folder string) []string {
	t.Helper()
	names, err := b.List(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func roundTrip(t *testing.T, b archive.Bucket) {
	large := strings.Repeat("0123456789abcdef", 600_000) // as a chunk may be: 9.6 MB
	for name, data := range map[string]string{"backups/b1": "first", "chunks/ab/abcd": large, "log/one/0000000000000000007": ""} {
		put(t, b, name, data)
		got, err := b.Get(t.Context(), name, int64(len(data)))
		if err != nil || string(got) != data {
			t.Errorf("%s has %d bytes; want %d: %v", name, len(got), len(data), err)
		}
	}
	put(t, b, "backups/b1", "second")
	if got, err := b.Get(t.Context(), "backups/b1", 100); err != nil || string(got) != "second" {
		t.Errorf("a file that was replaced has %q: %v", got, err)
	}
	if _, err := b.Get(t.Context(), "backups/none", 100); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("a file that is not there: got %v", err)
	}
}

func lists(t *testing.T, b archive.Bucket) {
	if names := list(t, b, "chunks"); len(names) > 0 {
		t.Errorf("an empty place has %q", names)
	}
	for _, name := range []string{"chunks/ab/ab1", "chunks/ab/ab2", "chunks/cd/cd1", "chunks2/ef", "backups/b1"} {
		put(t, b, name, name)
	}
	if diff := cmp.Diff([]string{"chunks/ab/ab1", "chunks/ab/ab2", "chunks/cd/cd1"}, list(t, b, "chunks")); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"chunks/ab/ab1", "chunks/ab/ab2"}, list(t, b, "chunks/ab")); diff != "" {
		t.Errorf("chunks/ab (-want +got):\n%s", diff)
	}
}

func bounds(t *testing.T, b archive.Bucket) {
	put(t, b, "backups/b1", "0123456789")
	var damaged *archive.DamagedError
	if data, err := b.Get(t.Context(), "backups/b1", 9); !errors.As(err, &damaged) {
		t.Errorf("a file that is larger than it may be: got %q, %v", data, err)
	}
	for _, name := range []string{"../b2", "backups/../../b2", "/b2", ""} {
		if err := b.Put(t.Context(), name, []byte("x")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
}

func deletes(t *testing.T, b archive.Bucket) {
	put(t, b, "backups/b1", "x")
	for range 2 { // the second time there is none
		if err := b.Delete(t.Context(), "backups/b1"); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Get(t.Context(), "backups/b1", 9); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if names := list(t, b, "backups"); len(names) > 0 {
		t.Errorf("there is still %q", names)
	}
}

func cancelled(t *testing.T, b archive.Bucket) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Put(ctx, "backups/b1", []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("write: got %v", err)
	}
	if _, err := b.Get(ctx, "backups/b1", 9); !errors.Is(err, context.Canceled) {
		t.Errorf("read: got %v", err)
	}
}

// whole replaces a file while it is read: a reader sees one of them.
func whole(t *testing.T, b archive.Bucket) {
	put(t, b, "log/one/7", strings.Repeat("a", 100_000))
	var wait sync.WaitGroup
	for _, letter := range []string{"a", "b"} {
		wait.Go(func() {
			for range 5 {
				if err := b.Put(t.Context(), "log/one/7", bytes.Repeat([]byte(letter), 100_000)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 10 {
		got, err := b.Get(t.Context(), "log/one/7", 1<<20)
		if err != nil || len(got) != 100_000 || len(bytes.Trim(got, string(got[:1]))) > 0 {
			t.Errorf("read %d bytes of two files: %v", len(got), err)
		}
	}
	wait.Wait()
}
