package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// TestMain makes this test binary append until it is killed when it is called so.
func TestMain(m *testing.M) {
	if address := os.Getenv(appendTo); address != "" {
		fmt.Fprintln(os.Stderr, appendForever(address))
		os.Exit(1)
	}
	os.Exit(databasetest.Run(m))
}

var testKey = bytes.Repeat([]byte{7}, KeySize)

func open(t *testing.T, db *database.DB) *Log {
	t.Helper()
	l, err := Open(t.Context(), db, testKey)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// sample is the n-th record of a log; all fields are used.
func sample(n int) Record {
	return Record{
		Actor: Actor{Kind: User, Name: fmt.Sprintf("user-%d", n%3), Credential: "token-1"}, Action: []string{"create", "delete"}[n%2],
		Organization: []string{"acme", "globex", ""}[n%3], Object: Object{Kind: "Cluster", Name: fmt.Sprintf("c%d", n), UID: "u" + digest(fmt.Sprint(n))[:8]},
		Source: "192.0.2.1", UserAgent: "kqueen/1", RequestID: fmt.Sprintf("r%d", n), Outcome: []Outcome{Succeeded, Denied, Failed}[n%3],
		Status: 200 + n, Reason: "because", Before: digest("before"), After: digest("after"), Detail: map[string]string{"b": "<2>", "a": "1"},
	}
}

// fill appends n samples.
func fill(t *testing.T, l *Log, n int) []Record {
	t.Helper()
	records := make([]Record, n)
	for i := range records {
		var err error
		if records[i], err = l.Append(t.Context(), sample(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return records
}

func verify(t *testing.T, l *Log, remembered *Head) Report {
	t.Helper()
	report, err := l.Verify(t.Context(), remembered)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestAppend: what was appended is what is listed, in order, without a gap, and verifies; also after opening again.
func TestAppend(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		if report := verify(t, l, nil); !report.Sound() || report.Records != 0 {
			t.Errorf("an empty log: %+v", report)
		}
		begin := time.Now().Add(-time.Second)
		appended := fill(t, l, 5)
		want := make([]Record, 5)
		for i := range want {
			want[i] = sample(i + 1)
			want[i].Sequence, want[i].Time, want[i].Hash = int64(i+1), appended[i].Time, appended[i].Hash
			want[i].Previous = origin
			if i > 0 {
				want[i].Previous = want[i-1].Hash
			}
			if appended[i].Time.Before(begin) || appended[i].Time.Location() != time.UTC {
				t.Errorf("record %d has time %s", i+1, appended[i].Time)
			}
		}
		if diff := cmp.Diff(want, appended); diff != "" {
			t.Errorf("appended, -want +got:\n%s", diff)
		}
		l = open(t, db)
		page, err := l.List(t.Context(), Filter{AllOrganizations: true, OldestFirst: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Page{Records: want}, page); diff != "" {
			t.Errorf("listed, -want +got:\n%s", diff)
		}
		head, err := l.Head(t.Context())
		if err != nil || head != (Head{Sequence: 5, Hash: want[4].Hash}) {
			t.Errorf("head %+v, %v", head, err)
		}
		if diff := cmp.Diff(Report{Records: 5, Head: head, Complete: true}, verify(t, l, &head)); diff != "" {
			t.Errorf("report, -want +got:\n%s", diff)
		}
	})
}

// TestAppendTogether: 50 writers at three replicas leave one chain without a gap.
func TestAppendTogether(t *testing.T) {
	databasetest.EachAddress(t, func(t *testing.T, address string) {
		replicas := make([]*Log, 3)
		for i := range replicas {
			replicas[i] = open(t, databasetest.Open(t, address))
		}
		const writers, each = 50, 4
		var all sync.WaitGroup
		var mu sync.Mutex
		seen := map[int64]string{}
		for i := range writers {
			all.Go(func() {
				for range each {
					r, err := replicas[i%len(replicas)].Append(t.Context(), sample(i))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					seen[r.Sequence] = r.Hash
					mu.Unlock()
				}
			})
		}
		// The log is verified meanwhile: what is half there is never seen.
		all.Go(func() {
			for range 5 {
				if report, err := replicas[0].Verify(t.Context(), nil); err != nil || !report.Sound() {
					t.Errorf("while others append: %+v, %v", report, err)
				}
				if _, err := replicas[0].Head(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		all.Wait()
		if len(seen) != writers*each {
			t.Errorf("%d sequences for %d records", len(seen), writers*each)
		}
		head := Head{Sequence: writers * each, Hash: seen[writers*each]}
		want := Report{Records: writers * each, Head: head, Complete: true}
		if diff := cmp.Diff(want, verify(t, replicas[1], &head)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestAppendGivesUp: a record that was taken back is not there.
func TestAppendGivesUp(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		l := open(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Append(ctx, sample(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		// While another writer holds the lock, a record waits no longer than its caller.
		l.writing <- struct{}{}
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := l.Append(ctx, sample(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		<-l.writing
		fill(t, l, 1)
		if report := verify(t, l, nil); !report.Sound() || report.Records != 1 {
			t.Errorf("%+v", report)
		}
	})
}

// TestAppendPanic: a writer that panics holds up no other.
func TestAppendPanic(t *testing.T) {
	l := open(t, databasetest.Open(t, databasetest.SQLite(t)))
	now := l.now
	l.now = func() time.Time { panic("in the transaction") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = l.Append(t.Context(), sample(1))
	}()
	l.now = now
	fill(t, l, 2)
	if report := verify(t, l, nil); !report.Sound() || report.Records != 2 {
		t.Errorf("%+v", report)
	}
}

func TestOpenKey(t *testing.T) {
	db := databasetest.Open(t, databasetest.SQLite(t))
	if _, err := Open(t.Context(), db, []byte("marker")); err == nil || strings.Contains(err.Error(), "marker") {
		t.Errorf("a short key: %v", err)
	}
	fill(t, open(t, db), 2)
	other, err := Open(t.Context(), db, bytes.Repeat([]byte{8}, KeySize))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Append(t.Context(), sample(3)); !isBroken(err) {
		t.Errorf("appended with another key: %v", err)
	}
	want := []Problem{{1, 1, Changed}, {2, 2, Changed}, {2, 2, HeadChanged}}
	if diff := cmp.Diff(want, verify(t, other, nil).Problems); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, address := range map[string]func(testing.TB) string{"SQLite": databasetest.SQLite, "PostgreSQL": databasetest.PostgreSQL} {
		for _, writers := range []int{1, 50} {
			b.Run(fmt.Sprintf("%s/Writers%d", name, writers), func(b *testing.B) {
				l, err := Open(b.Context(), databasetest.Open(b, address(b)), testKey)
				if err != nil {
					b.Fatal(err)
				}
				work := make(chan int)
				var all sync.WaitGroup
				for range writers {
					all.Go(func() {
						for n := range work {
							if _, err := l.Append(b.Context(), sample(n)); err != nil {
								b.Error(err)
							}
						}
					})
				}
				for b.Loop() {
					work <- 1
				}
				close(work)
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
			})
		}
	}
}
