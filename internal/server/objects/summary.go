package objects

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

// summaries count the objects of a collection.
type summaries struct{ collection }

// register adds the operation that counts. Its path is below no kind, so that it takes no name from an object.
func (c summaries) register(api huma.API) {
	o := chain.Operation(http.MethodGet, "/summaries/"+c.Plural, "summarize"+c.PluralName(), "Count "+c.Plural+" of all organizations that you belong to", c.PluralName())
	o.Middlewares = append(o.Middlewares, c.about)
	huma.Register(api, o, c.summarize)
}

type summaryInput struct {
	Filter
	Organization string `query:"organization" maxLength:"40" doc:"Only those of this organization."`
}

// summarize counts what listEverywhere lists, from the cache. No cluster is asked.
func (c summaries) summarize(ctx context.Context, in *summaryInput) (*chain.Answer[rest.ClusterSummary], error) {
	matches, err := in.matcher()
	if err != nil {
		return nil, err
	}
	within, err := c.reachesIn(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	namespaces := within.namespaces
	if within.all {
		namespaces = []string{""}
	}
	all, err := c.cached(ctx, namespaces, func(o client.Object) bool { return within.sees(o) && matches(o) })
	if err != nil {
		return nil, problem.Explain(err)
	}
	return &chain.Answer[rest.ClusterSummary]{Body: summaryOf(all)}, nil
}

// reachesIn is what the caller may list in an organization, or in all when none is named. To a caller who does not belong to the one
// that is named there is none.
func (c summaries) reachesIn(ctx context.Context, organization string) (reach, error) {
	if organization == "" {
		return c.reaches(ctx, "list")
	}
	o, err := c.rights.Organization(ctx, organization)
	if err != nil {
		return reach{}, err
	}
	return reach{namespaces: []string{o.OwnedNamespace()}}, c.may(ctx, "list", o.OwnedNamespace())
}

// summaryOf counts clusters. It is pure.
func summaryOf(all []client.Object) rest.ClusterSummary {
	s := rest.ClusterSummary{
		Total: len(all), ByReadiness: countsOf(all, counted), ByVersion: countsOf(all, versionOf),
		ByProvisioner: countsOf(all, provisionerOf), ByOrganization: countsOf(all, organizationOf),
	}
	for _, o := range all {
		if o.GetDeletionTimestamp() != nil {
			s.Deleting++
		}
	}
	return s
}

// counted is the readiness of an object in words.
func counted(o client.Object) string {
	words := map[string]string{"true": rest.CountedReady, "false": rest.CountedNotReady}
	return cmp.Or(words[readiness(o)], rest.CountedUnknown)
}

// organizationOf names the organization that an object belongs to.
func organizationOf(o client.Object) string {
	organization, _ := v1alpha1.OrganizationOf(o.GetNamespace())
	return organization
}

// countsOf says how many objects have which value.
func countsOf(all []client.Object, of func(client.Object) string) rest.Counts {
	times := map[string]int{}
	for _, o := range all {
		times[of(o)]++
	}
	counts := rest.Counts{Items: make([]rest.Count, 0, len(times))}
	for value, n := range times {
		counts.Items = append(counts.Items, rest.Count{Value: value, Count: n})
	}
	slices.SortFunc(counts.Items, func(a, b rest.Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	if len(counts.Items) > rest.MostCounts {
		for _, c := range counts.Items[rest.MostCounts:] {
			counts.More += c.Count
		}
		counts.Items = counts.Items[:rest.MostCounts]
	}
	return counts
}
