package fleet

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/server/problem"
)

// The formats, and their media types.
const (
	formatJSON, mediaJSON = "json", "application/json"
	formatCSV, mediaCSV   = "csv", "text/csv"
	formatBOM, mediaBOM   = "cyclonedx", "application/vnd.cyclonedx+json"
)

// What an answer has at most. An export is read whole by one request, which may not take the memory of others.
const (
	exportPage  = 500
	exportRows  = 100_000
	bomRows     = 25_000
	exportBytes = 24 << 20
	// maxNotLive is how many clusters that are not watched an answer names; GET /inventory/clusters names all.
	maxNotLive = 50
)

// output is what is sent: a page, or the bytes of an export.
type output struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	AsOf        string `header:"Inventory-As-Of" doc:"The numbers of asOf as JSON, for formats that have no place for them."`
	Body        any
}

// asked is what a caller wants to have answered.
type asked struct {
	filter inventory.Filter
	format string
	// nothing says that the caller may see no cluster, so that no row is read.
	nothing bool
	// begin counts an export.
	begin func(context.Context) error
}

// table is how rows look outside of JSON.
type table[W any] struct {
	header []string
	cells  func(W) []string
	// bom makes a bill of materials of rows; nil where there is none.
	bom func(rows []W, at time.Time) ([]byte, error)
	now func() time.Time
}

// reading reads one page of rows.
type reading[S any] func(context.Context, inventory.Filter) (inventory.Page[S], error)

// answer reads rows and sends them in the format that was asked for.
func answer[S, W any](ctx context.Context, a asked, read reading[S], row func(S, places) W, t table[W]) (*output, error) {
	if a.nothing {
		read = func(context.Context, inventory.Filter) (inventory.Page[S], error) { return inventory.Page[S]{}, nil }
	}
	converted := func(ctx context.Context, f inventory.Filter) (rest.InventoryPage[W], error) {
		page, err := read(ctx, f)
		if err != nil {
			return rest.InventoryPage[W]{}, explained(err)
		}
		out := rest.InventoryPage[W]{Items: make([]W, 0, len(page.Rows)), Cursor: page.Next, AsOf: freshness(page.AsOf)}
		known := placesOf(page.AsOf)
		for i := range page.Rows {
			out.Items = append(out.Items, row(page.Rows[i], known))
		}
		return out, nil
	}
	if a.format != formatJSON {
		if err := a.begin(ctx); err != nil {
			return nil, err
		}
	}
	switch a.format {
	case formatCSV:
		return exportCSV(ctx, a.filter, converted, t)
	case formatBOM:
		return exportBOM(ctx, a.filter, converted, t)
	}
	page, err := converted(ctx, a.filter)
	if err != nil {
		return nil, err
	}
	return &output{ContentType: mediaJSON, AsOf: brief(page.AsOf), Body: page}, nil
}

// exportCSV sends all rows as RFC 4180 has them, with a header.
func exportCSV[W any](ctx context.Context, f inventory.Filter, read func(context.Context, inventory.Filter) (rest.InventoryPage[W], error), t table[W]) (*output, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	if err := w.Write(t.header); err != nil {
		return nil, problem.Explain(err)
	}
	asOf, err := all(ctx, f, exportRows, read, func(rows []W) error {
		for _, row := range rows {
			cells := t.cells(row)
			for i := range cells {
				cells[i] = cell(cells[i])
			}
			if err := w.Write(cells); err != nil {
				return problem.Explain(err)
			}
		}
		w.Flush()
		return tooLong(out.Len())
	})
	if err != nil {
		return nil, err
	}
	w.Flush()
	return &output{ContentType: mediaCSV + "; charset=utf-8; header=present", AsOf: brief(asOf), Body: out.Bytes()}, nil
}

// exportBOM sends all rows as a bill of materials.
func exportBOM[W any](ctx context.Context, f inventory.Filter, read func(context.Context, inventory.Filter) (rest.InventoryPage[W], error), t table[W]) (*output, error) {
	if t.bom == nil {
		return nil, refused("format", "there is a bill of materials of what runs at one time; leave from and to out")
	}
	var rows []W
	asOf, err := all(ctx, f, bomRows, read, func(some []W) error { rows = append(rows, some...); return nil })
	if err != nil {
		return nil, err
	}
	at := f.At
	if at.IsZero() {
		at = t.now()
	}
	data, err := t.bom(rows, at)
	if err != nil {
		return nil, problem.Explain(fmt.Errorf("write the bill of materials: %w", err))
	}
	if err := tooLong(len(data)); err != nil {
		return nil, err
	}
	return &output{ContentType: mediaBOM + "; version=1.6", AsOf: brief(asOf), Body: data}, nil
}

// all reads every page.
func all[W any](
	ctx context.Context, f inventory.Filter, most int, read func(context.Context, inventory.Filter) (rest.InventoryPage[W], error), each func([]W) error,
) (rest.InventoryAsOf, error) {
	if f.Cursor != "" {
		return rest.InventoryAsOf{}, refused("cursor", "this format has all rows at once; leave it out")
	}
	f.Limit = exportPage
	for count := 0; ; {
		page, err := read(ctx, f)
		if err != nil {
			return page.AsOf, err
		}
		if count += len(page.Items); count > most {
			return page.AsOf, tooMany(fmt.Sprintf("there are more than %d rows", most))
		}
		if err := each(page.Items); err != nil {
			return page.AsOf, err
		}
		switch page.Cursor {
		case "":
			return page.AsOf, nil
		case f.Cursor: // it would be asked for again and again
			return page.AsOf, problem.Explain(errors.New("the pages of the inventory do not end"))
		}
		f.Cursor = page.Cursor
	}
}

func tooLong(size int) error {
	if size > exportBytes {
		return tooMany(fmt.Sprintf("the export is longer than %d MiB", exportBytes>>20))
	}
	return nil
}

func tooMany(detail string) error {
	return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
		rest.FieldError{Pointer: "?format", Detail: detail + "; narrow the question, as by organization or cluster, or read pages of JSON"})
}

// cell is a text as a spreadsheet shows it: one line, and never a formula, which a tenant could have written. It is pure.
func cell(of string) string {
	// A tab at the begin makes a formula in some programs; Line removes it, with what else is not seen.
	of = text.Line(of)
	if of != "" && (of[0] == '=' || of[0] == '+' || of[0] == '-' || of[0] == '@') {
		return "'" + of
	}
	return of
}

// freshness sums up how well clusters are known. It is pure.
func freshness(states []inventory.ClusterState) rest.InventoryAsOf {
	sum := rest.InventoryAsOf{Clusters: len(states)}
	var oldest time.Time
	longest := slices.SortedStableFunc(slices.Values(states), func(a, b inventory.ClusterState) int { return a.AsOf.Compare(b.AsOf) })
	for _, s := range longest {
		if !s.Ended.IsZero() {
			sum.Ended++
			continue
		}
		if sum.Live+sum.Lost == 0 {
			oldest = s.AsOf
		}
		if s.Live {
			sum.Live++
			continue
		}
		sum.Lost++
		if len(sum.NotLive) < maxNotLive {
			sum.NotLive = append(sum.NotLive, toCluster(s))
		}
	}
	sum.OldestAt = instant(oldest)
	return sum
}

// brief are the numbers of a sum as a header has them.
func brief(sum rest.InventoryAsOf) string {
	sum.NotLive = nil
	data, err := json.Marshal(sum)
	if err != nil { // they are numbers and a time
		return ""
	}
	return string(data)
}
