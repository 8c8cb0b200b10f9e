package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/exit"
)

// groupings are what images can be counted by.
var groupings = []string{"repository", "image", "cluster", "organization"}

// group is a number of containers that have something in common.
type group struct {
	Name       string `json:"name"`
	Images     int    `json:"images"`
	Clusters   int    `json:"clusters"`
	Containers int    `json:"containers"`
}

// groups is what is printed of them.
type groups struct {
	Items []group            `json:"items"`
	AsOf  rest.InventoryAsOf `json:"asOf"`
}

// grouped counts images. It reads containers, because an image that two clusters run is in the rows of both.
func grouped(cmd *cobra.Command, q *question, by string) error {
	if !slices.Contains(groupings, by) {
		return exit.UsageError(cmd, "--group-by: %q has to be one of %s", by, strings.Join(groupings, ", "))
	}
	if err := refuseFormats(cmd, q, "--group-by"); err != nil {
		return err
	}
	if q.compares() {
		return exit.UsageError(cmd, "--group-by cannot be used with --from or --between")
	}
	if err := q.settle(cmd, time.Now()); err != nil {
		return err
	}
	d, err := q.env.API()
	if err != nil {
		return err
	}
	page, err := containers(nil).read(cmd.Context(), d, q.filter, maxRead)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	if page.Cursor != "" {
		return exit.Fail(exit.Failed, "there are more than %d containers; narrow the question, as by --cluster or --repository", maxRead)
	}
	counted := count(page.Items, by)
	more := len(counted) > q.limit
	counted = counted[:min(len(counted), q.limit)]
	rows := [][]string{{strings.ToUpper(by), "IMAGES", "CLUSTERS", "CONTAINERS"}}
	for _, g := range counted {
		rows = append(rows, []string{g.Name, strconv.Itoa(g.Images), strconv.Itoa(g.Clusters), strconv.Itoa(g.Containers)})
	}
	format := q.format
	if format == "wide" {
		format = "table"
	}
	if err := q.env.PrintData(format, groups{counted, page.AsOf}, rows); err != nil {
		return err
	}
	if more {
		q.env.Say("only the first %d rows are shown; --limit shows more", q.limit)
	}
	if len(counted) == 0 {
		sayNothing(q, page.AsOf)
	}
	sayFreshness(q, page.AsOf)
	return nil
}

// count puts containers into groups, the largest first. It is pure.
func count(all []rest.InventoryContainer, by string) []group {
	type seen struct {
		images, clusters map[string]bool
		containers       int
	}
	found := map[string]*seen{}
	for _, c := range all {
		name := nameOf(c, by)
		g := found[name]
		if g == nil {
			g = &seen{images: map[string]bool{}, clusters: map[string]bool{}}
			found[name] = g
		}
		g.images[c.Image.Reference+" "+c.Image.Digest], g.clusters[c.ClusterUID] = true, true
		g.containers++
	}
	counted := make([]group, 0, len(found))
	for name, g := range found {
		counted = append(counted, group{name, len(g.images), len(g.clusters), g.containers})
	}
	slices.SortFunc(counted, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.Containers, a.Containers), cmp.Compare(a.Name, b.Name))
	})
	return counted
}

func nameOf(c rest.InventoryContainer, by string) string {
	switch by {
	case "repository":
		return c.Image.Repository
	case "image":
		return c.Image.Reference
	case "cluster":
		return c.Organization + "/" + c.Cluster
	}
	return c.Organization
}
