package objects

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

const (
	// askedAtOnce bounds how many questions about organizations one request has at the API server.
	askedAtOnce = 16
	// askedAgain is how many organizations a stream asks about at each recheck. With more of them it takes turns, so
	// that a caller who belongs to a thousand does not keep the API server busy. That the caller's roles have changed is
	// seen at every recheck, however many there are.
	askedAgain = 100
)

func (c collection) registerEverywhere(api huma.API) {
	o := chain.Operation(http.MethodGet, "/"+c.Plural, "listAll"+c.PluralName(), "List "+c.Plural+" of all organizations that you belong to",
		c.PluralName(), watches(listening(c.watchEverywhere)))
	o.Middlewares = append(o.Middlewares, c.about)
	huma.Register(api, o, c.listEverywhere)
}

// reach is what a caller may see of a kind over all organizations.
type reach struct {
	// all says that it is every organization, those that are made later as well.
	all bool
	// namespaces are those in which the caller may, in order, when it is not all.
	namespaces []string
	shared     bool
}

// sees says whether an object is within reach. It is pure.
func (r reach) sees(o client.Object) bool {
	if !r.all {
		_, found := slices.BinarySearch(r.namespaces, o.GetNamespace())
		return found
	}
	// What stands in no organization's namespace belongs to no caller.
	return strings.HasPrefix(o.GetNamespace(), v1alpha1.NamespacePrefix) || r.shared && o.GetNamespace() == v1alpha1.SystemNamespace
}

// reaches asks the API server in which organizations the caller may. Where they may not, there is nothing for them:
// neither an error nor an object tells of it.
func (c collection) reaches(ctx context.Context, verb string) (reach, error) {
	caller := chain.Of(ctx).Caller
	if caller.Admin {
		everywhere, err := c.rights.Allows(ctx, rights.Act{Verb: verb, Resource: c.Plural})
		if err != nil || everywhere {
			return reach{all: true, shared: c.Scope == rest.ScopeShared}, err
		}
	}
	candidates := make([]string, 0, len(caller.Roles)+1)
	for organization := range caller.Roles {
		candidates = append(candidates, v1alpha1.NamespacePrefix+organization)
	}
	if c.Scope == rest.ScopeShared {
		candidates = append(candidates, v1alpha1.SystemNamespace)
	}
	slices.Sort(candidates)
	namespaces, err := c.allowed(ctx, verb, candidates)
	return reach{namespaces: namespaces}, err
}

// allowed returns the namespaces in which the caller may, in the order in which they were given.
func (c collection) allowed(ctx context.Context, verb string, namespaces []string) ([]string, error) {
	may := make([]bool, len(namespaces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askedAtOnce)
	for i, namespace := range namespaces {
		group.Go(func() (err error) {
			may[i], err = c.rights.Allows(ctx, rights.Act{Verb: verb, Resource: c.Plural, Namespace: namespace})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	kept := make([]string, 0, len(namespaces))
	for i, namespace := range namespaces {
		if may[i] {
			kept = append(kept, namespace)
		}
	}
	return kept, nil
}

func (c collection) listEverywhere(ctx context.Context, in *listInput) (*listOutput, error) {
	within, err := c.reaches(ctx, "list")
	if err != nil {
		return nil, err
	}
	namespaces := within.namespaces
	if within.all {
		namespaces = []string{""}
	}
	return c.listed(ctx, in, namespaces, within.sees)
}

// watchEverywhere follows all organizations of the caller by one watch, which is KQueen's own: one for each organization
// would have no common order, so that no caller could go on from the last event without losing some. What it shows is what
// the API server says that the caller may see, as for lists.
func (c collection) watchEverywhere(ctx context.Context, w http.ResponseWriter, in *listInput) error {
	within, err := c.reaches(ctx, "watch")
	if err != nil {
		return err
	}
	v, err := c.view(in)
	if err != nil {
		return err
	}
	matches := v.wanted
	v.wanted = func(o client.Object) bool { return within.sees(o) && matches(o) }
	v.source, v.still = c.own, c.within(within)
	return c.feed.follow(ctx, w, v)
}

// within asks again whether the caller may see what they reach.
func (c collection) within(r reach) func(context.Context) error {
	next := 0
	return func(ctx context.Context) error {
		if r.all {
			return c.may(ctx, "watch", "")
		}
		if next >= len(r.namespaces) {
			next = 0
		}
		turn := r.namespaces[next:min(next+askedAgain, len(r.namespaces))]
		next += len(turn)
		kept, err := c.allowed(ctx, "watch", turn)
		if err == nil && len(kept) < len(turn) {
			err = problem.Changed()
		}
		return err
	}
}
