package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// choose looks for the binaries that the filter takes, and where many clusters are asked about for the images.
func (a *asked) choose(ctx context.Context, q querier, kind Kind, wide bool) error {
	if err := a.chooseBinaries(ctx, q); err != nil || kind != KindContainer || !wide {
		return err
	}
	return a.chooseImages(ctx, q)
}

// chooseImages looks for the images whose names have a text, among those that were there then within the scope. No index finds a part of a name, so
// that it compares all names that are kept: once and by themselves, where in the order of a page each would be looked up on its own.
func (a *asked) chooseImages(ctx context.Context, q querier) error {
	if a.Text == "" && !strings.Contains(a.Repository, "*") {
		return nil
	}
	var s statement
	ids, err := collect(ctx, q, `SELECT i.id FROM inventory_images i WHERE `+a.images(&s)+` AND EXISTS (SELECT 1 FROM inventory_seen s
		JOIN inventory_clusters c ON c.id = s.cluster WHERE s.kind = `+fmt.Sprint(numbers[KindContainer])+` AND s.subject = i.id AND `+a.seen(&s)+`
		AND `+a.clusters(&s)+` AND `+a.present(&s)+`) LIMIT `+s.arg(a.limits.chosen+1), s.args, func(rows *sql.Rows, to *int64) error { return rows.Scan(to) })
	if err != nil {
		return fmt.Errorf("compare the names of images: %w", err)
	}
	if len(ids) <= a.limits.chosen {
		a.chosen = append([]int64{}, ids...)
	}
	return nil
}

// subjectCondition is that of the images i or binaries b of a kind that the filter takes.
func (a *asked) subjectCondition(s *statement, kind Kind) string {
	switch {
	case kind == KindComponent:
		return a.binaryCondition(s)
	case a.chosen != nil:
		return numbersIn("i.id", a.chosen)
	default:
		return a.images(s)
	}
}
