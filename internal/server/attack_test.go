package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/audit"
)

// TestMassAssignment: what only the server says of an object is not taken from a caller.
func TestMassAssignment(t *testing.T) {
	h := newHouse(t)
	things(t, h)
	const clusters = "/api/v1/organizations/blue/clusters"
	for _, field := range []string{
		`"organization":"red"`, `"uid":"1"`, `"status":{"version":"v1.36.3"}`, `"createdAt":"2020-01-01T00:00:00Z"`, `"revision":"1"`,
		`"generation":7`, `"kind":"Organization"`, `"metadata":{"namespace":"org-red"}`, `"ownerReferences":[]`, `"finalizers":["x"]`,
	} {
		name, _, _ := strings.Cut(field, ":")
		want := "/" + strings.Trim(name, `"`)
		a := h.do(t.Context(), t, "owner", "POST", clusters, `{"name":"assigned","spec":{"version":"v1.36.3"},`+field+`}`)
		if p := a.problem(t); a.status != http.StatusUnprocessableEntity || len(p.Errors) != 1 || p.Errors[0].Pointer != want {
			t.Errorf("create with %s: %d %s", field, a.status, a.body)
		}
		a = h.do(t.Context(), t, "owner", "PATCH", clusters+"/thing", `{`+field+`}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
		if p := a.problem(t); a.status != http.StatusUnprocessableEntity || len(p.Errors) != 1 || p.Errors[0].Pointer != want {
			t.Errorf("change with %s: %d %s", field, a.status, a.body)
		}
	}
	a := h.do(t.Context(), t, "owner", "PATCH", clusters+"/thing", `{"name":"other"}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("rename: %d %s", a.status, a.body)
	}
	for path, body := range map[string]string{
		"/api/v1/users": `{"name":"mallory","password":"correct horse battery"}`, "/api/v1/me/tokens": `{"name":"x","expires":"2030-01-01T00:00:00Z","account":"admin"}`,
		"/api/v1/organizations/blue/serviceaccounts": `{"name":"x","role":"viewer","organization":"red"}`,
	} {
		if a := h.do(t.Context(), t, "admin", "POST", path, body); a.status != http.StatusUnprocessableEntity {
			t.Errorf("POST %s with a field too many: %d %s", path, a.status, a.body)
		}
	}
}

// TestNobodyRaisesThemselves: neither one's role nor what the organization may have.
func TestNobodyRaisesThemselves(t *testing.T) {
	h := newHouse(t)
	const merge = "application/merge-patch+json"
	for who, want := range map[string]int{"viewer": http.StatusForbidden, "operator": http.StatusForbidden, "red": http.StatusNotFound} {
		body := fmt.Sprintf(`{"spec":{"members":[{"user":%q,"role":"owner"}]}}`, who)
		if a := h.do(t.Context(), t, who, "PATCH", "/api/v1/organizations/blue", body, "If-Match", "*", "Content-Type", merge); a.status != want {
			t.Errorf("%s makes themselves an owner: %d %s", who, a.status, a.body)
		}
	}
	for _, body := range []string{`{"spec":{"quota":{"clusters":99}}}`, `{"spec":{"releases":["v1.36"]}}`, `{"spec":{"provisioners":["hosted"]}}`} {
		a := h.do(t.Context(), t, "owner", "PATCH", "/api/v1/organizations/blue", body, "If-Match", "*", "Content-Type", merge)
		if a.status != http.StatusForbidden {
			t.Errorf("an owner gives themselves %s: %d %s", body, a.status, a.body)
		}
	}
	// A token is never more than who made it.
	body := fmt.Sprintf(`{"name":"x","expires":%q,"scope":{"organization":"blue","role":"owner"}}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	a := h.do(t.Context(), t, "viewer", "POST", "/api/v1/me/tokens", body)
	var issued rest.Issued
	if err := json.Unmarshal(a.body, &issued); err != nil || a.status != http.StatusCreated {
		t.Fatalf("a token: %d %s", a.status, a.body)
	}
	h.tokens["token"] = issued.Token
	if a := h.do(t.Context(), t, "token", "POST", "/api/v1/organizations/blue/clusters", `{"name":"x","spec":{"version":"v1.36.3"}}`); a.status != http.StatusForbidden {
		t.Errorf("a viewer's token for an owner creates a cluster: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "token", "POST", "/api/v1/me/tokens", strings.ReplaceAll(body, `"owner"`, `"viewer"`)); a.status != http.StatusForbidden {
		t.Errorf("a token makes a token: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "token", "GET", "/api/v1/organizations/red/clusters", ""); a.status != http.StatusNotFound {
		t.Errorf("a token for blue reads red: %d %s", a.status, a.body)
	}
}

// TestForgedHeaders: nobody says who they are but by what they can prove.
func TestForgedHeaders(t *testing.T) {
	h := newHouse(t)
	for _, header := range []string{"Impersonate-User", "Impersonate-Group", "impersonate-extra-scopes", "X-Remote-User", "X-Remote-Group", "X-Remote-Extra-A", "X-Forwarded-User"} {
		for _, who := range []string{"", "viewer", "admin"} {
			a := h.do(t.Context(), t, who, "GET", "/api/v1/organizations/blue/clusters", "", header, "system:admin")
			if a.status != http.StatusBadRequest {
				t.Errorf("%s as %q: %d %s", header, who, a.status, a.body)
			}
		}
	}
	for _, bearer := range []string{"", "Bearer", "Bearer ", "Basic YWRtaW46YWRtaW4=", "Bearer kqu_", "Bearer " + strings.Repeat("x", 30000), h.tokens["viewer"]} {
		a := h.do(t.Context(), t, "", "GET", "/api/v1/me", "", "Authorization", bearer)
		if a.status != http.StatusUnauthorized {
			t.Errorf("Authorization %.20q: %d %s", bearer, a.status, a.body)
		}
	}
}

// TestCursors: pages follow each other without a gap, and a cursor says nothing elsewhere.
func TestCursors(t *testing.T) {
	h := newHouse(t)
	for i := range 7 {
		body := fmt.Sprintf(`{"name":"paged-%d","labels":{"n":"%d"},"spec":{"version":"v1.36.3"}}`, i, i%2)
		if a := h.do(t.Context(), t, "operator", "POST", "/api/v1/organizations/blue/clusters", body); a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	t.Cleanup(func() {
		all := client.InNamespace("org-blue")
		_ = h.plane.DeleteAllOf(context.WithoutCancel(t.Context()), &v1alpha1.Cluster{}, all)
	})
	const list = "/api/v1/organizations/blue/clusters?name=paged&limit=3"
	h.await(t, func() bool {
		return len(h.list(t, "viewer", "/api/v1/organizations/blue/clusters?name=paged").Items) == 7
	})
	var names []string
	cursor, pages := "", 0
	for pages == 0 || cursor != "" {
		page := h.list(t, "viewer", list+"&sort=-name&cursor="+cursor)
		for _, o := range page.Items {
			names = append(names, o.Name)
		}
		cursor = page.Cursor
		pages++
	}
	if got := strings.Join(names, " "); got != "paged-6 paged-5 paged-4 paged-3 paged-2 paged-1 paged-0" || pages != 3 {
		t.Errorf("%d pages: %s", pages, got)
	}
	if page := h.list(t, "viewer", "/api/v1/organizations/blue/clusters?labelSelector=n%3D1&name=paged"); len(page.Items) != 3 {
		t.Errorf("n=1 has %d", len(page.Items))
	}
	cursor = h.list(t, "viewer", list).Cursor
	for what, ask := range map[string][2]string{
		"another organization": {"red", "/api/v1/organizations/red/clusters?name=paged&limit=3&cursor=" + cursor},
		"another caller":       {"owner", list + "&cursor=" + cursor},
		"another order":        {"viewer", list + "&sort=-name&cursor=" + cursor},
		"another filter":       {"viewer", "/api/v1/organizations/blue/clusters?name=page&cursor=" + cursor},
		"another kind":         {"viewer", "/api/v1/organizations/blue/nodepools?name=paged&limit=3&cursor=" + cursor},
		"forged":               {"viewer", list + "&cursor=" + cursor[:len(cursor)-2] + "AA"},
		"nonsense":             {"viewer", list + "&cursor=%00"},
	} {
		if a := h.do(t.Context(), t, ask[0], "GET", ask[1], ""); a.status != http.StatusUnprocessableEntity || a.problem(t).Errors[0].Pointer != "?cursor" {
			t.Errorf("a cursor with %s: %d %s", what, a.status, a.body)
		}
	}
	for _, wrong := range []string{"limit=0", "limit=501", "limit=x", "sort=age", "ready=maybe", "labelSelector=a%3D%3D%3D", "unknown=1"} {
		if a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters?"+wrong, ""); a.status != http.StatusUnprocessableEntity || len(a.problem(t).Errors) != 1 {
			t.Errorf("%s: %d %s", wrong, a.status, a.body)
		}
	}
}

func (h *house) list(t *testing.T, who, path string) rest.List {
	t.Helper()
	a := h.do(t.Context(), t, who, "GET", path, "")
	var l rest.List
	if err := json.Unmarshal(a.body, &l); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	return l
}

// await waits until something is so: the cache follows what was written within moments.
func (h *house) await(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it did not become so")
		}
	}
}

// events opens a watch and hands on its lines until it ends.
func (h *house) events(t *testing.T, who, path string, headers ...string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.tokens[who])
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.Client().Do(req)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("watch: %v %v", resp, err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer resp.Body.Close()
		for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// next returns the data of the next event of a name.
func next(t *testing.T, lines <-chan string, name string) rest.Event {
	t.Helper()
	event := ""
	for line := range lines {
		if is, ok := strings.CutPrefix(line, "event: "); ok {
			event = is
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || event != name {
			continue
		}
		var e rest.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	t.Fatalf("the stream ended before an event %q", name)
	return rest.Event{}
}

// TestWatch: a watch shows what is there and what becomes of it, goes on where it ended, and ends within seconds when
// the caller may not see it any more.
func TestWatch(t *testing.T) {
	h := newHouse(t)
	things(t, h)
	const clusters = "/api/v1/organizations/blue/clusters"
	lines := h.events(t, "viewer", clusters+"?watch=true")
	first := next(t, lines, "added")
	if first.Object == nil || first.Object.Name != "thing" {
		t.Fatalf("the first event is %+v", first)
	}
	h.do(t.Context(), t, "operator", "PATCH", clusters+"/thing", `{"labels":{"seen":"yes"}}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
	if e := next(t, lines, "modified"); e.Object.Labels["seen"] != "yes" || e.Revision == first.Revision {
		t.Errorf("the change is %+v", e)
	}
	again := h.events(t, "developer", clusters+"?watch=true", "Last-Event-ID", first.Revision)
	if e := next(t, again, "modified"); e.Object.Labels["seen"] != "yes" {
		t.Errorf("after the first event comes %+v", e)
	}
	begun := time.Now()
	if err := h.access.DisableUser(t.Context(), "viewer"); err != nil {
		t.Fatal(err)
	}
	next(t, lines, "problem")
	for line := range lines {
		if line != "" {
			t.Errorf("after the problem is sent %q", line)
		}
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("a disabled user's stream went on for %s", took)
	}
	// A role that is taken away ends a stream as well.
	o := &v1alpha1.Organization{}
	if err := h.plane.Get(t.Context(), client.ObjectKey{Name: "blue"}, o); err != nil {
		t.Fatal(err)
	}
	members := o.Spec.Members
	o.Spec.Members = members[:1]
	if err := h.plane.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		o.Spec.Members = members
		_ = h.plane.Update(context.WithoutCancel(t.Context()), o)
	})
	next(t, again, "problem")
}

// TestRecords: changes, refused tries and credentials are in the action log, and only the organization's own are shown
// in it.
func TestRecords(t *testing.T) {
	h := newHouse(t)
	const clusters = "/api/v1/organizations/blue/clusters"
	h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"logged","spec":{"version":"v1.36.3"}}`, "X-Request-Id", "my-request")
	h.do(t.Context(), t, "viewer", "DELETE", clusters+"/logged", "", "If-Match", "*")
	h.do(t.Context(), t, "", "DELETE", clusters+"/logged", "", "If-Match", "*")
	h.do(t.Context(), t, "operator", "DELETE", clusters+"/logged", "", "If-Match", "*")
	h.do(t.Context(), t, "red", "POST", "/api/v1/organizations/red/clusters", `{"name":"logged","spec":{"version":"v1.36.3"}}`)
	h.do(t.Context(), t, "red", "DELETE", "/api/v1/organizations/red/clusters/logged", "", "If-Match", "*")
	var got []string
	page := rest.Page[rest.AuditRecord]{}
	a := h.do(t.Context(), t, "operator", "GET", "/api/v1/organizations/blue/audit?oldestFirst=true", "")
	if err := json.Unmarshal(a.body, &page); err != nil {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, r := range page.Items {
		got = append(got, fmt.Sprintf("%s %s %s/%s %s %t %t", r.Actor.Name, r.Action, r.Object.Kind, r.Object.Name, r.Outcome, r.Before != "", r.After != ""))
	}
	want := []string{
		"operator create Cluster/logged succeeded false true",
		"viewer delete Cluster/logged denied false false",
		"operator delete Cluster/logged succeeded true false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log of blue is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(page.Items) > 0 && (page.Items[0].RequestID != "my-request" || page.Items[0].Source != "127.0.0.1") {
		t.Errorf("the first record is %+v", page.Items[0])
	}
	all, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, ActorKind: audit.Anonymous})
	if err != nil || len(all.Records) != 1 || all.Records[0].Outcome != audit.Denied {
		t.Errorf("the try of nobody is %+v (%v)", all.Records, err)
	}
	a = h.do(t.Context(), t, "admin", "POST", "/api/v1/audit/verification", "")
	var report rest.AuditReport
	if err := json.Unmarshal(a.body, &report); err != nil || len(report.Problems) > 0 || report.Records == 0 {
		t.Errorf("verification: %d %s", a.status, a.body)
	}
}

// TestMistypedSignIn: a password that stands in place of the name is not written down.
func TestMistypedSignIn(t *testing.T) {
	h := newHouse(t)
	for _, name := range []string{"marker of a password", "viewer"} {
		a := h.do(t.Context(), t, "", "POST", "/api/v1/signin", fmt.Sprintf(`{"name":%q,"password":"wrong"}`, name))
		if a.status != http.StatusUnauthorized {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "sign-in", OldestFirst: true})
	if err != nil || len(page.Records) != 2 {
		t.Fatalf("the log has %d tries (%v)", len(page.Records), err)
	}
	if got := page.Records[0].Object.Name + "," + page.Records[1].Object.Name; got != ",viewer" {
		t.Errorf("the log names %q", got)
	}
}

// TestDryRun makes nothing.
func TestDryRun(t *testing.T) {
	h := newHouse(t)
	const clusters = "/api/v1/organizations/blue/clusters"
	a := h.do(t.Context(), t, "operator", "POST", clusters+"?dryRun=true", `{"name":"dry","spec":{"version":"v1.36.3"}}`)
	if o := a.object(t); a.status != http.StatusCreated || !strings.Contains(string(o.Spec), "podCIDR") {
		t.Errorf("what would be made has no defaults: %d %s", a.status, a.body)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Cluster"))
	if err := h.plane.Get(t.Context(), client.ObjectKey{Namespace: "org-blue", Name: "dry"}, o); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a dry run made it: %v", err)
	}
	a = h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"dry","spec":{"version":"latest","network":{"podCIDR":"10.0.0.1/16"}}}`)
	var pointers []string
	for _, e := range a.problem(t).Errors {
		pointers = append(pointers, e.Pointer)
	}
	if got := strings.Join(pointers, " "); a.status != http.StatusUnprocessableEntity || got != "/spec/version" {
		t.Errorf("bad input: %d %q %s", a.status, got, a.body)
	}
	a = h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"dry","spec":{"version":"v1.36.3","network":{"podCIDR":"10.0.0.1/16"}}}`)
	if p := a.problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != "/spec/network/podCIDR" || !strings.Contains(p.Errors[0].Detail, "no host bits") {
		t.Errorf("what only the API server can say: %d %s", a.status, a.body)
	}
}

// TestOnce: a request that is sent twice is carried out once, and a key is good for one request of one caller.
func TestOnce(t *testing.T) {
	h := newHouse(t)
	const accounts, key = "/api/v1/organizations/blue/serviceaccounts", "Idempotency-Key"
	first := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1")
	again := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1")
	if first.status != http.StatusCreated || again.status != first.status || !bytes.Equal(again.body, first.body) || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("first %d %s\nagain %d %s", first.status, first.body, again.status, again.body)
	}
	if a := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"other","role":"viewer"}`, key, "k1"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the key with another body: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "admin", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1"); a.status != http.StatusConflict {
		t.Errorf("the key of somebody else: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`); a.status != http.StatusConflict {
		t.Errorf("without a key: %d %s", a.status, a.body)
	}
	// A refusal is an answer as well.
	for range 2 {
		if a := h.do(t.Context(), t, "viewer", "POST", accounts, `{"name":"ci2","role":"viewer"}`, key, "k2"); a.status != http.StatusForbidden {
			t.Errorf("a viewer: %d %s", a.status, a.body)
		}
	}
}

// TestNoLogNoChange: while the action log cannot be written, the door changes nothing, and shows what there is.
func TestNoLogNoChange(t *testing.T) {
	h := newHouse(t)
	h.do(t.Context(), t, "operator", "POST", "/api/v1/organizations/blue/clusters", `{"name":"x","spec":{"version":"v9.9.9"}}`)
	if _, err := h.db.ExecContext(t.Context(), `DROP TRIGGER audit_head_update; UPDATE audit_head SET hash = 'forged'`); err != nil {
		t.Fatal(err)
	}
	a := h.do(t.Context(), t, "operator", "POST", "/api/v1/organizations/blue/clusters", `{"name":"untraced","spec":{"version":"v1.36.3"}}`)
	if a.status != http.StatusServiceUnavailable || !a.problem(t).Retryable {
		t.Errorf("a change without a log: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "operator", "GET", "/api/v1/organizations/blue/clusters/untraced", ""); a.status != http.StatusNotFound {
		t.Errorf("it was made: %d %s", a.status, a.body)
	}
}

// TestStrangersFillNoLog: the log has some of a flood, and says how much it has not.
func TestStrangersFillNoLog(t *testing.T) {
	h := newHouse(t)
	for range 3 * strangersAtOnce {
		h.do(t.Context(), t, "", "DELETE", "/api/v1/organizations/blue/clusters/x", "", "If-Match", "*")
	}
	h.door.strangers.limit.SetBurst(3 * strangersAtOnce)
	h.door.strangers.limit.SetLimit(rate.Inf)
	h.do(t.Context(), t, "", "DELETE", "/api/v1/organizations/blue/clusters/x", "", "If-Match", "*")
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, ActorKind: audit.Anonymous, Limit: 1000})
	if err != nil || len(page.Records) > 2*strangersAtOnce {
		t.Fatalf("the log has %d of %d tries (%v)", len(page.Records), 3*strangersAtOnce, err)
	}
	counted := int64(len(page.Records))
	for _, r := range page.Records {
		n, _ := strconv.ParseInt(r.Detail["leftOut"], 10, 64)
		counted += n
	}
	if counted != 3*strangersAtOnce+1 {
		t.Errorf("%d tries are accounted for, want %d", counted, 3*strangersAtOnce+1)
	}
}

// TestEventsOutliveTimeouts: what bounds a request does not end a stream on which nothing happens for long.
func TestEventsOutliveTimeouts(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("http2=", http2), func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				out := newEvents(w)
				out.begin()
				select {
				case <-r.Context().Done():
				case <-time.After(time.Second):
					_ = out.comment("alive")
				}
			}))
			server.Config.ReadTimeout, server.Config.WriteTimeout, server.EnableHTTP2 = 200*time.Millisecond, 200*time.Millisecond, http2
			server.StartTLS()
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != ": alive\n\n" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestStreamsAreBounded: one caller cannot take all streams, and streams take no room from requests.
func TestStreamsAreBounded(t *testing.T) {
	s := streams{of: map[string]int{}}
	left := 0
	one := &request{caller: Caller{Name: "one"}, leave: func() { left++ }}
	var ends []func()
	for range maxStreamsOfOne {
		end, err := s.begin(one)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if _, err := s.begin(one); err == nil || left != maxStreamsOfOne {
		t.Errorf("one too many: %v, %d left", err, left)
	}
	if _, err := s.begin(&request{caller: Caller{Name: "other"}}); err != nil {
		t.Errorf("another caller: %v", err)
	}
	for _, end := range ends {
		end()
	}
	if _, err := s.begin(one); err != nil || len(s.of) != 2 {
		t.Errorf("after they ended: %v %v", err, s.of)
	}
}
