package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Findings returns what the rules say of the clusters that the filter takes, by cluster, and the gravest of each first. Filter.Namespaces takes
// findings about what is in them, and Filter.Severities those of them; images, components and versions of the filter are not used. A page looks at a limited number of clusters, and may
// have few rows, or none, and a next one.
func (s *Store) Findings(ctx context.Context, f Filter) (page Page[Finding], err error) {
	err = s.ask(ctx, f, func(a *asked, tx *sql.Tx, clusters []ClusterState) error {
		q, err := question("findings", f)
		if err != nil {
			return err
		}
		position, err := decodeCursor(q, f.Cursor, 4)
		if err != nil {
			return err
		}
		now := s.now()
		if !f.At.IsZero() {
			now = f.At
		}
		judged := 0
		for _, c := range clusters {
			if position != nil && compareClusters(c, position) < 0 {
				continue
			}
			items, err := a.judgedItems(ctx, tx, c)
			if err != nil {
				return err
			}
			found := a.behind(Findings(now, items), c, position)
			page.Rows = append(page.Rows, found...)
			if len(page.Rows) > a.Limit {
				page.Rows = page.Rows[:a.Limit]
				last := page.Rows[a.Limit-1]
				page.Next = encodeCursor(q, []string{last.Organization, last.Cluster, last.ClusterUID, last.id()})
				break
			}
			if judged++; judged == clustersAPage {
				page.Next = encodeCursor(q, []string{c.Organization, c.Name, c.UID, behindAll})
				break
			}
		}
		page.AsOf = a.asOf(clusters)
		return nil
	})
	if err != nil {
		return Page[Finding]{}, fmt.Errorf("judge clusters: %w", err)
	}
	return page, nil
}

// behind are the findings of a cluster that the filter takes behind a position.
func (a *asked) behind(found []Finding, c ClusterState, position []string) []Finding {
	return slices.DeleteFunc(found, func(one Finding) bool {
		return len(a.Namespaces) > 0 && !slices.Contains(a.Namespaces, one.Subject.Namespace) ||
			len(a.Severities) > 0 && !slices.Contains(a.Severities, one.Severity) ||
			position != nil && compareClusters(c, position) == 0 && one.id() <= position[3]
	})
}

// judgedItems reads what rules look at in one cluster. Those of components look at the whole cluster whatever namespace is asked for.
func (a *asked) judgedItems(ctx context.Context, q querier, c ClusterState) ([]ItemRow, error) {
	var out []ItemRow
	for _, kind := range []Kind{KindComponent, KindNode, KindCertificate, KindAPI, KindContainer} {
		of := *a
		of.notable = true
		of.Filter = Filter{Scope: a.Scope, Organizations: a.Organizations, Clusters: a.Clusters, ClusterLabels: a.ClusterLabels}
		if kind != KindComponent {
			of.Namespaces = a.Namespaces
		}
		rows, err := of.findIn(ctx, q, kind, []ClusterState{c}, nil, maxJudged, false)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			out = append(out, row.ItemRow)
		}
	}
	return out, nil
}

const (
	// maxJudged is how many items of a kind of one cluster the rules look at.
	maxJudged = 200_000
	// clustersAPage is how many clusters one page looks at: most of them may have no findings.
	clustersAPage = 50
	// behindAll is behind the findings of a cluster, whose ids begin with the number of a severity.
	behindAll = "~"
	// notableSQL is a condition of containers of which rules may say something: all but those that run an image of a version and a digest. It
	// reads the content as encoding/json writes it, where a name of the cluster's cannot look like a field.
	notableSQL = `n.id = r.subject AND m.id = r.content AND (n.tag IN ('', 'latest') OR n.digest = ''
		OR m.body NOT LIKE '%"Phase":"Running","Reason":""}')`
)
