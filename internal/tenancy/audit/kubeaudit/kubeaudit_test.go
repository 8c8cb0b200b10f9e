package kubeaudit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// event is a line as kube-apiserver writes it at the level Metadata. Replacements are pairs of old and new.
func event(replacements ...string) string {
	const line = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a-1","stage":"ResponseComplete",` +
		`"requestURI":"/apis/kqueen.io/v1alpha1/namespaces/org-blue/clusters?fieldManager=kubectl","verb":"create",` +
		`"user":{"username":"kubernetes-admin","groups":["system:masters","system:authenticated"]},"sourceIPs":["192.0.2.1"],` +
		`"userAgent":"kubectl/v1.36.3","objectRef":{"resource":"clusters","namespace":"org-blue","name":"c1","apiGroup":"kqueen.io",` +
		`"apiVersion":"v1alpha1"},"responseStatus":{"metadata":{},"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z",` +
		`"stageTimestamp":"2026-01-02T03:04:05.250000Z","annotations":{"authorization.k8s.io/decision":"allow"}}`
	return strings.NewReplacer(replacements...).Replace(line)
}

func TestRecord(t *testing.T) {
	at := func(more ...string) map[string]string {
		detail := map[string]string{"at": "2026-01-02T03:04:05.25Z"}
		for i := 0; i < len(more); i += 2 {
			detail[more[i]] = more[i+1]
		}
		return detail
	}
	made := audit.Record{
		Actor: audit.Actor{Kind: audit.AdminPlane, Name: "kubernetes-admin"}, Action: "create", Organization: "blue",
		Object: audit.Object{Kind: "Cluster", Name: "c1"}, Source: "192.0.2.1", UserAgent: "kubectl/v1.36.3", RequestID: "a-1",
		Outcome: audit.Succeeded, Status: 201, Detail: at("namespace", "org-blue"),
	}
	with := func(change func(r *audit.Record)) *audit.Record {
		r := made
		change(&r)
		return &r
	}
	tests := map[string]struct {
		line string
		want *audit.Record
	}{
		"made":    {event(), &made},
		"refused": {event(`"code":201`, `"code":403`), with(func(r *audit.Record) { r.Outcome, r.Status = audit.Denied, 403 })},
		"invalid": {event(`"code":201`, `"code":422`), with(func(r *audit.Record) { r.Outcome, r.Status = audit.Failed, 422 })},
		"odd":     {event(`"code":201`, `"code":9999`), with(func(r *audit.Record) { r.Outcome, r.Status = audit.Unknown, 0 })},
		"panic":   {event("ResponseComplete", "Panic"), with(func(r *audit.Record) { r.Outcome, r.Status = audit.Unknown, 0 })},
		"begun":   {event("ResponseComplete", "ResponseStarted"), nil},
		"dry run": {event("fieldManager=kubectl", "dryRun=All"), with(func(r *audit.Record) { r.Detail = at("namespace", "org-blue", "dryRun", "true") })},
		"as a user": {event(`"sourceIPs"`, `"impersonatedUser":{"username":"alice"},"sourceIPs"`), with(func(r *audit.Record) {
			r.Detail = at("namespace", "org-blue", "impersonated", "alice")
		})},
		"stranger": {event(`"username":"kubernetes-admin",`, "", `"code":201`, `"code":401`), with(func(r *audit.Record) {
			r.Actor, r.Outcome, r.Status = audit.Actor{Kind: audit.Anonymous}, audit.Denied, 401
		})},
		"organization": {event(`"resource":"clusters","namespace":"org-blue","name":"c1"`, `"resource":"organizations","name":"red"`), with(func(r *audit.Record) {
			r.Object, r.Organization, r.Detail = audit.Object{Kind: "Organization", Name: "red"}, "red", at()
		})},
		"part of an object": {event(`"name":"c1"`, `"name":"c1","subresource":"status"`), with(func(r *audit.Record) { r.Object.Kind = "Cluster/status" })},
		"secret":            {event(`"resource":"clusters"`, `"resource":"secrets"`, `"apiGroup":"kqueen.io",`, ""), with(func(r *audit.Record) { r.Object.Kind = "secrets" })},
		"no event":          {`{"kind":"Event"}`, ptr(unreadable(16))},
		"no JSON":           {"token-in-clear", ptr(unreadable(14))},
		"very long":         {strings.Repeat("x", maxLine+1), ptr(unreadable(maxLine + 1))},
	}
	r := &Reader{Kinds: map[string]string{"clusters.kqueen.io": "Cluster", "organizations.kqueen.io": "Organization"}}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := r.record([]byte(tc.line))
			if !ok && tc.want == nil {
				return
			}
			if tc.want == nil {
				t.Fatalf("got %+v, want none", got)
			}
			if diff := cmp.Diff(*tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func FuzzRecord(f *testing.F) {
	f.Add([]byte(event()))
	f.Add([]byte(`{"stage":"Panic","verb":"x","requestURI":"%"}`))
	r := &Reader{}
	f.Fuzz(func(_ *testing.T, line []byte) { r.record(line) })
}

func TestStrangers(t *testing.T) {
	stranger := []byte(event(`"username":"kubernetes-admin",`, ""))
	got := (&Reader{}).records([][]byte{stranger, stranger, []byte(event()), stranger, stranger})
	if len(got) != 3 || got[1].Detail["leftOut"] != "2" {
		t.Errorf("%d records: %+v", len(got), got)
	}
}

func TestPosition(t *testing.T) {
	const file = "0123456789abcdef0123456789abcdef"
	for text, good := range map[string]bool{"": true, file + ":0": true, file + ":12": true, file: false, file + ":-1": false, file + ":012": false, "7:0": true, "7:12": true, "7": false, "7:-1": false, "7:1x": false, "x": false, "07:1": false} {
		p, err := parsePosition(text)
		if good != (err == nil) || (good && text != "" && p.String() != text) {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}

// plane is a reader of a directory in which a test plays the API server.
type plane struct {
	*Reader
	t   *testing.T
	log *audit.Log
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	db, err := database.Open(t.Context(), database.FileURL(filepath.Join(t.TempDir(), "kqueen.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	log, err := audit.Open(t.Context(), db, bytes.Repeat([]byte{7}, audit.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return &plane{&Reader{Log: log, Source: "plane", Dir: t.TempDir(), Warn: slog.New(slog.DiscardHandler)}, t, log}
}

// write adds to the file that is written now.
func (p *plane) write(text string) {
	p.t.Helper()
	f, err := os.OpenFile(Path(p.Dir), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plane) rotate(to string) {
	p.t.Helper()
	if err := os.Rename(Path(p.Dir), filepath.Join(p.Dir, to)); err != nil {
		p.t.Fatal(err)
	}
}

// want reads, and compares what is in the audit log: the request IDs, or the actions of records without.
func (p *plane) want(ids ...string) {
	p.t.Helper()
	if err := p.Read(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	page, err := p.log.List(p.t.Context(), audit.Filter{AllOrganizations: true, OldestFirst: true})
	if err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for _, r := range page.Records {
		if r.RequestID == "" {
			r.RequestID = r.Action
		}
		got = append(got, r.RequestID)
	}
	if diff := cmp.Diff(ids, got, cmpopts.EquateEmpty()); diff != "" {
		p.t.Errorf("in the audit log: %s", diff)
	}
}

func line(n int) string { return event("a-1", fmt.Sprintf("a-%d", n)) + "\n" }

// TestRead: each line becomes a record once, over rotations, torn lines, and new readers.
func TestRead(t *testing.T) {
	p := newPlane(t)
	p.want()
	p.write(line(1) + line(2) + line(3)[:20])
	p.want("a-1", "a-2")
	p.write(line(3)[20:])
	p.want("a-1", "a-2", "a-3")
	again := &plane{&Reader{Log: p.log, Source: "plane", Dir: p.Dir}, t, p.log}
	again.want("a-1", "a-2", "a-3")
	p.write(line(4))
	p.rotate("audit-2026-01-02T03-04-05.000.log")
	p.write(line(5))
	p.rotate("audit-2026-01-02T03-04-06.000.log")
	p.write(line(6) + "torn")
	again.want("a-1", "a-2", "a-3", "a-4", "a-5", "a-6")
	files, err := logFiles(p.Dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v; want the one that is written", len(files), err)
	}
	p.rotate("audit-2026-01-02T03-04-07.000.log") // the crash was in the middle of a line
	p.write(line(7))
	again.want("a-1", "a-2", "a-3", "a-4", "a-5", "a-6", "read-admin-log", "a-7")
}

// TestLost: what was taken away before it was read is missed, and what is there is read.
func TestLost(t *testing.T) {
	p := newPlane(t)
	p.write(line(1) + line(2))
	p.want("a-1", "a-2")
	if err := os.Truncate(Path(p.Dir), 10); err != nil {
		t.Fatal(err)
	}
	p.want("a-1", "a-2", "read-admin-log")
	p.write("\n" + line(3))
	p.want("a-1", "a-2", "read-admin-log", "read-admin-log", "a-3")
}

// TestCopied: a log that was restored from a backup, with the database beside it, is read on where it was left, whatever its
// files' inodes are.
func TestCopied(t *testing.T) {
	p := newPlane(t)
	p.write(line(1) + line(2))
	p.want("a-1", "a-2")
	p.write(line(3))
	p.rotate("audit-2026-01-02T03-04-05.000.log")
	p.write(line(4))
	again := &plane{&Reader{Log: p.log, Source: "plane", Dir: t.TempDir(), Warn: p.Warn}, t, p.log}
	if err := os.CopyFS(again.Dir, os.DirFS(p.Dir)); err != nil {
		t.Fatal(err)
	}
	again.want("a-1", "a-2", "a-3", "a-4")
	again.write(line(5))
	again.want("a-1", "a-2", "a-3", "a-4", "a-5")
}

// TestBegunFile: a file that is read waits until the next one is known, and nothing is read twice.
func TestBegunFile(t *testing.T) {
	p := newPlane(t)
	p.write(line(1))
	p.want("a-1")
	p.rotate("audit-2026-01-02T03-04-05.000.log")
	p.write(line(2)[:20])
	p.want("a-1")
	p.want("a-1")
	p.write(line(2)[20:])
	p.want("a-1", "a-2")
	if files, err := logFiles(p.Dir); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v; want the one that is written", len(files), err)
	}
}

// TestFormerPosition: how far a log was read before the upgrade is not forgotten.
func TestFormerPosition(t *testing.T) {
	p := newPlane(t)
	p.write(line(1) + line(2))
	files, err := logFiles(p.Dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	former := position{inode: files[0].inode, Offset: int64(len(line(1)))}
	if err := p.Log.AppendFrom(t.Context(), "plane", former.String(), nil); err != nil {
		t.Fatal(err)
	}
	p.want("a-2")
	p.write(line(3))
	p.want("a-2", "a-3")
}

// TestMany: more lines than one transaction takes.
func TestMany(t *testing.T) {
	p := newPlane(t)
	var text strings.Builder
	for n := range 2*maxBatch + 1 {
		text.WriteString(line(n))
	}
	p.write(text.String())
	if err := p.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	report, err := p.log.Verify(t.Context(), nil)
	if err != nil || !report.Sound() || report.Records != 2*maxBatch+1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestRun: it reads until it is told to end.
func TestRun(t *testing.T) {
	p := newPlane(t)
	p.write(line(1))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if head, err := p.log.Head(ctx); err == nil && head.Sequence == 1 {
			cancel()
		}
		<-tick.C
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	p.want("a-1")
}
