package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

const (
	// perPage is how many rows one call asks for.
	perPage = 500
	// maxRead bounds what is read where all rows are needed, to count or to group them.
	maxRead = 100_000
)

// list is how one list is read and shown.
type list[T any] struct {
	// operation names it in the API, and what in an error.
	operation, what string
	// search, when set, narrows it by digests.
	search *rest.InventorySearch
	page   func(context.Context, *connection.API, client.InventoryFilter) (*rest.InventoryPage[T], error)
	// columns are those of the table, and wide what -o wide has beside them. Where placed is true, the first column is the
	// organization, which is shown when there can be several.
	columns, wide []string
	placed        bool
	row           func(T) (cells, wide []string)
}

// run answers a question.
func (l list[T]) run(cmd *cobra.Command, q *question) error {
	if err := q.settle(cmd, time.Now()); err != nil {
		return err
	}
	d, err := q.env.API()
	if err != nil {
		return err
	}
	if q.exports() {
		return l.export(cmd.Context(), d, q)
	}
	page, err := l.read(cmd.Context(), d, q.filter, q.limit)
	if err != nil {
		return fmt.Errorf("list %s: %w", l.what, err)
	}
	return l.show(q, page)
}

// read reads pages until there are as many rows as are wanted. The cursor is left where there are more.
func (l list[T]) read(ctx context.Context, d *connection.API, f client.InventoryFilter, most int) (*rest.InventoryPage[T], error) {
	all := &rest.InventoryPage[T]{Items: []T{}}
	for len(all.Items) < most {
		f.Limit = min(most-len(all.Items), perPage)
		page, err := l.page(ctx, d, f)
		if err != nil {
			return nil, err
		}
		all.Items = append(all.Items, page.Items...)
		all.AsOf, all.Cursor = page.AsOf, page.Cursor
		switch page.Cursor {
		case "":
			return all, nil
		case f.Cursor: // it would be asked for again and again
			return nil, fmt.Errorf("the list does not end after %d rows", len(all.Items))
		}
		f.Cursor = page.Cursor
	}
	return all, nil
}

// show prints rows, and beside them what they do not tell.
func (l list[T]) show(q *question, page *rest.InventoryPage[T]) error {
	more := page.Cursor != ""
	page.Cursor = "" // what it leads on to is another question's: there is no flag for it
	if err := l.print(q, page); err != nil {
		return err
	}
	if more {
		q.env.Say("only the first %d rows are shown; --limit shows more, -o csv all", len(page.Items))
	}
	if len(page.Items) == 0 {
		sayNothing(q, page.AsOf)
	}
	sayFreshness(q, page.AsOf)
	return nil
}

func (l list[T]) print(q *question, page *rest.InventoryPage[T]) error {
	format, columns := q.format, slices.Clone(l.columns)
	if format == "wide" {
		format, columns = "table", append(columns, l.wide...)
	}
	rows := [][]string{columns}
	for _, item := range page.Items {
		cells, wide := l.row(item)
		if q.format == "wide" {
			cells = append(cells, wide...)
		}
		rows = append(rows, cells)
	}
	if l.placed && !q.all {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return q.env.PrintData(format, page, rows)
}

// export prints what the server has written.
func (l list[T]) export(ctx context.Context, d *connection.API, q *question) error {
	data, asOf, err := d.ExportInventory(ctx, l.operation, q.filter, l.search, q.format)
	if err != nil {
		return fmt.Errorf("export %s: %w", l.what, err)
	}
	if _, err := fmt.Fprint(q.env.Stdout, console.Clean(string(data))); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	sayFreshness(q, asOf)
	return nil
}

// sayNothing says why there may be no row.
func sayNothing(q *question, asOf rest.InventoryAsOf) {
	switch {
	case asOf.Clusters > 0:
		q.env.Say("nothing was found")
	case q.all:
		q.env.Say("no cluster is known in your organizations")
	default:
		q.env.Say("no such cluster is known in organization %s; -A asks about all that you belong to", q.env.Organization())
	}
}

// sayFreshness says that some clusters are not shown as they are now.
func sayFreshness(q *question, asOf rest.InventoryAsOf) {
	if asOf.Lost == 0 {
		return
	}
	verb := "are"
	if asOf.Lost == 1 {
		verb = "is"
	}
	q.env.Say("%d of %d clusters %s shown as last seen; see: %s", asOf.Lost, asOf.Lost+asOf.Live, verb, q.env.Command("inventory clusters"+everywhere(q)))
}

func everywhere(q *question) string {
	if q.all {
		return " -A"
	}
	return ""
}

// refuseFormats refuses a format that a flag cannot be used with.
func refuseFormats(cmd *cobra.Command, q *question, flag string) error {
	if q.exports() {
		return exit.UsageError(cmd, "%s cannot be used with -o %s", flag, q.format)
	}
	return nil
}
