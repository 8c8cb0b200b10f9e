package fleet

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/inventory"
)

// pages reads rows as a store does, from n images, the cursor being where to go on.
func pages(n int, stuck bool) reading[inventory.ImageRow] {
	return func(_ context.Context, f inventory.Filter) (inventory.Page[inventory.ImageRow], error) {
		from, _ := strconv.Atoi(f.Cursor)
		var page inventory.Page[inventory.ImageRow]
		for i := from; i < min(from+f.Limit, n); i++ {
			page.Rows = append(page.Rows, inventory.ImageRow{Image: inventory.Image{Reference: "=cmd|" + strconv.Itoa(i)}, Containers: i})
		}
		if from+f.Limit < n {
			page.Next = strconv.Itoa(from + f.Limit)
		}
		if stuck {
			page.Next = "same"
		}
		page.AsOf = []inventory.ClusterState{{AsOf: noon}}
		return page, nil
	}
}

func (e *exports) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all == 0 && len(e.of) == 0
}

func freely(context.Context) error { return nil }

// TestExportsAtOnce: exports take memory until they are sent, so that one caller has a few at once and leaves some to others.
func TestExportsAtOnce(t *testing.T) {
	var e exports
	ctx, end := context.WithCancel(t.Context())
	for n := range exportsOfAll {
		if err := e.begin(ctx, fmt.Sprint("caller-", n/exportsOfOne)); err != nil {
			t.Fatalf("export %d: %v", n, err)
		}
		if n == exportsOfOne-1 {
			if err := e.begin(ctx, "caller-0"); statusOf(errors.Unwrap(err)) != http.StatusTooManyRequests {
				t.Errorf("one too many of a caller: %v", err)
			}
		}
	}
	if err := e.begin(ctx, "another"); err == nil {
		t.Error("one too many in all is let through")
	}
	a := asked{format: formatCSV, begin: func(ctx context.Context) error { return e.begin(ctx, "another") }}
	if _, err := answer(t.Context(), a, pages(1, false), toImage, imageTable); err == nil {
		t.Error("an export that is one too many is answered")
	}
	a.format = formatJSON
	if _, err := answer(t.Context(), a, pages(1, false), toImage, imageTable); err != nil {
		t.Errorf("a page is not answered: %v", err)
	}
	end()
	patience, enough := context.WithTimeout(t.Context(), 30*time.Second)
	defer enough()
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for !e.idle() {
		select {
		case <-ticks.C:
		case <-patience.Done():
			t.Fatal("exports are left")
		}
	}
}

func TestAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		rows   int
		stuck  bool
		format string
		cursor string
		bom    bool
		got    int // rows
		bad    string
	}{
		"APage":        {250, false, formatJSON, "", false, 100, ""},
		"AllOfCSV":     {1250, false, formatCSV, "", false, 1250, ""},
		"NoneOfCSV":    {0, false, formatCSV, "", false, 0, ""},
		"TooManyOfCSV": {exportRows + 1, false, formatCSV, "", false, 0, "?format"},
		"NoEnd":        {10, true, formatCSV, "", false, 0, "something went wrong inside; the server's log has the request id"},
		"CursorOfCSV":  {10, false, formatCSV, "5", false, 0, "?cursor"},
		"BOM":          {510, false, formatBOM, "", true, 510, ""},
		"TooManyOfBOM": {bomRows + 1, false, formatBOM, "", true, 0, "?format"},
		"NoBOM":        {1, false, formatBOM, "", false, 0, "?format"},
	} {
		t.Run(name, func(t *testing.T) {
			table := imageTable
			if tc.bom {
				table.bom, table.now = bill, func() time.Time { return noon }
			}
			out, err := answer(t.Context(), asked{filter: inventory.Filter{Limit: 100, Cursor: tc.cursor}, format: tc.format, begin: freely}, pages(tc.rows, tc.stuck), toImage, table)
			wantPointer(t, tc.bad, err)
			if err != nil {
				return
			}
			if got := rowsOf(t, out); got != tc.got {
				t.Errorf("%d rows, want %d", got, tc.got)
			}
			if want := `{"oldestAt":"2026-11-24T12:00:00Z","clusters":1,"live":0,"lost":1,"ended":0}`; out.AsOf != want {
				t.Errorf("the header says %s, want %s", out.AsOf, want)
			}
		})
	}
}

// rowsOf counts the rows of an answer, as its readers do.
func rowsOf(t *testing.T, out *output) int {
	t.Helper()
	switch body := out.Body.(type) {
	case rest.InventoryPage[rest.InventoryImage]:
		return len(body.Items)
	case []byte:
		if strings.HasPrefix(out.ContentType, mediaCSV) {
			rows, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows[1:] {
				if !strings.HasPrefix(row[0], "'=") {
					t.Fatalf("%q is a formula", row[0])
				}
			}
			return len(rows) - 1
		}
		var b struct{ Components []any }
		if err := json.Unmarshal(body, &b); err != nil {
			t.Fatal(err)
		}
		return len(b.Components)
	}
	t.Fatalf("%T is not an answer", out.Body)
	return 0
}

// TestNothingIsRead: where the caller may see no cluster, the store is not asked.
func TestNothingIsRead(t *testing.T) {
	read := func(context.Context, inventory.Filter) (inventory.Page[inventory.ImageRow], error) {
		t.Error("the store is asked")
		return inventory.Page[inventory.ImageRow]{}, nil
	}
	out, err := answer(t.Context(), asked{nothing: true, format: formatJSON}, read, toImage, imageTable)
	if err != nil || rowsOf(t, out) != 0 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestCell(t *testing.T) {
	for of, want := range map[string]string{
		"nginx": "nginx", "": "", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'=1", "\r\n=1": "'=1",
		"\x1b[2Jx": "[2Jx", "a\nb": "a b", "\u202e=1": "'=1", "a=b": "a=b",
		strings.Repeat(" ", 2) + "=1": "'=1",
	} {
		if got := cell(of); got != want {
			t.Errorf("%q becomes %q, want %q", of, got, want)
		}
	}
}

func TestFreshness(t *testing.T) {
	state := func(hour int, live bool, ended time.Time) inventory.ClusterState {
		return inventory.ClusterState{Cluster: inventory.Cluster{Name: fmt.Sprintf("c%d", hour)}, AsOf: noon.Add(time.Duration(hour) * time.Hour), Live: live, Ended: ended, Message: "m"}
	}
	many := make([]inventory.ClusterState, maxNotLive+5)
	for name, tc := range map[string]struct {
		states []inventory.ClusterState
		want   rest.InventoryAsOf
		named  int
	}{
		"None": {nil, rest.InventoryAsOf{}, 0},
		"EndedAreNotOld": {
			[]inventory.ClusterState{state(-1, true, time.Time{}), state(-9, false, noon), state(-2, false, time.Time{})},
			rest.InventoryAsOf{OldestAt: instant(noon.Add(-2 * time.Hour)), Clusters: 3, Live: 1, Lost: 1, Ended: 1}, 1,
		},
		"OldestFirst": {
			[]inventory.ClusterState{state(-1, false, time.Time{}), state(-2, false, time.Time{})},
			rest.InventoryAsOf{OldestAt: instant(noon.Add(-2 * time.Hour)), Clusters: 2, Lost: 2}, 2,
		},
		"Many": {many, rest.InventoryAsOf{Clusters: len(many), Lost: len(many)}, maxNotLive},
	} {
		t.Run(name, func(t *testing.T) {
			got := freshness(tc.states)
			if len(got.NotLive) != tc.named || tc.named > 0 && tc.named < 3 && (got.NotLive[0].Cluster != "c-2" || got.NotLive[0].Message != "m") {
				t.Errorf("not live are %+v", got.NotLive)
			}
			got.NotLive = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTables: each row has a cell for each column, and columns are named as the fields of JSON are.
func TestTables(t *testing.T) {
	check(t, imageTable, rest.InventoryImage{})
	check(t, containerTable, rest.InventoryContainer{})
	check(t, binaryTable, rest.InventoryBinary{})
	check(t, binaryPlaceTable, rest.InventoryBinary{Place: &rest.InventoryPlace{}})
	check(t, nodeTable, rest.InventoryNode{})
	check(t, workloadTable, rest.InventoryWorkload{})
	check(t, certificateTable, rest.InventoryCertificate{})
	check(t, findingTable, rest.InventoryFinding{})
	check(t, clusterTable, rest.InventoryCluster{})
}

func check[W any](t *testing.T, table table[W], row W) {
	t.Helper()
	names := fieldsOf(reflect.TypeFor[W]())
	for _, column := range table.header {
		if !names[strings.ToLower(column)] {
			t.Errorf("%T has the column %s and no such field", row, column)
		}
	}
	if got := len(table.cells(row)); got != len(table.header) {
		t.Errorf("%T: %d cells under %d columns", row, got, len(table.header))
	}
}

// fieldsOf are the names of fields in JSON, those of fields of fields also with the outer name before.
func fieldsOf(of reflect.Type) map[string]bool {
	names := map[string]bool{}
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names[strings.ToLower(name)] = true
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() {
			for of := range fieldsOf(inner) {
				names[of], names[strings.ToLower(name)+of] = true, true
			}
		}
	}
	return names
}

func TestBill(t *testing.T) {
	digest := strings.Repeat("0a", 32)
	data, err := bill([]rest.InventoryImage{
		{InventoryImageName: rest.InventoryImageName{Reference: "docker.io/library/nginx:1.27", Repository: "docker.io/library/nginx", Tag: "1.27", Digest: "sha256:" + digest}, Clusters: 2, Containers: 5, FirstSeenAt: &noon},
		{InventoryImageName: rest.InventoryImageName{Reference: "docker.io/library/nginx@sha256:" + digest, Repository: "docker.io/library/nginx", Tag: "1.27", Digest: "sha256:" + digest}},
		{InventoryImageName: rest.InventoryImageName{Reference: "r/&x=1", Repository: "", Digest: "odd"}},
	}, noon)
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		BOMFormat, SpecVersion string
		Metadata               struct{ Timestamp string }
		Components             []struct {
			Type, Name, Version, PURL string
			Ref                       string `json:"bom-ref"`
			Hashes                    []struct{ Alg, Content string }
		}
	}
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	if b.BOMFormat != "CycloneDX" || b.SpecVersion != "1.6" || b.Metadata.Timestamp != "2026-11-24T12:00:00Z" || len(b.Components) != 3 {
		t.Fatalf("got %s", data)
	}
	first := b.Components[0]
	purl := "pkg:oci/nginx@sha256%3A" + digest + "?repository_url=docker.io/library/nginx&tag=1.27"
	if first.Type != "container" || first.PURL != purl || first.Ref != purl || first.Name != "docker.io/library/nginx" || first.Version != "1.27" ||
		len(first.Hashes) != 1 || first.Hashes[0].Alg != "SHA-256" || first.Hashes[0].Content != digest {
		t.Errorf("got %+v", first)
	}
	if second := b.Components[1]; second.Ref != purl+"#2" || second.PURL != purl {
		t.Errorf("the second of a digest is %+v", second)
	}
	if third := b.Components[2]; third.PURL != "pkg:oci/%26x%3D1@odd?repository_url=r/%26x%3D1" || len(third.Hashes) != 0 {
		t.Errorf("the odd one is %+v", third)
	}
}
