package fleet

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/topology"
	"kqueen.io/kqueen/internal/clusters/usage"
	"kqueen.io/kqueen/internal/platform/share"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// What a question to a cluster costs at most. It is read and answered within one request, which ends after a minute.
const (
	answerWithin = 20 * time.Second
	callWithin   = 10 * time.Second
	// topologyObjects are those of one list that are kept for a graph, usageObjects those that are added up.
	topologyObjects = 10_000
	usageObjects    = 100_000
	// Answers are made in memory: there are so many questions at once, in all and about the clusters of one organization. One question
	// about those of each there may be in any case: organizations that ask all the time keep no other one out.
	questionsOfAll = 6
	questionsOfOne = 2
	sureOfOne      = 1
)

// ErrNotReady says that there is nothing yet by which a cluster could be reached.
var ErrNotReady = errors.New("there are no credentials yet by which the cluster can be reached")

// Reach returns a way to read a cluster, within bounds. It makes no call, and its caller closes it. [ErrNotReady] when there is none yet.
type Reach func(context.Context, *v1alpha1.Cluster, listing.Bounds) (*listing.Client, error)

// live asks clusters themselves.
type live struct {
	callers   client.Client
	rights    *rights.Rights
	reach     Reach
	dryRun    DryRun
	now       func() time.Time
	questions *share.Shares
}

func (l *live) register(api huma.API) {
	huma.Register(api, chain.Operation(http.MethodGet, "/organizations/{organization}/clusters/{cluster}/topology", "getClusterTopology",
		"Read what belongs to what in a cluster, as it is now", "Inventory"), l.topology)
	huma.Register(api, chain.Operation(http.MethodGet, "/organizations/{organization}/clusters/{cluster}/usage", "getClusterUsage",
		"Read what the nodes of a cluster have, what pods ask of them and what is used, as it is now", "Inventory"), l.usage)
	huma.Register(api, chain.Operation(http.MethodGet, "/organizations/{organization}/clusters/{cluster}/upgrade-plan", "getClusterUpgradePlan",
		"Say what an upgrade of a cluster would be and what stands against it; change nothing", "Upgrade"), l.upgradePlan)
}

// ClusterPath names the cluster that is asked.
type ClusterPath struct {
	chain.InOrganization

	Cluster string `path:"cluster" maxLength:"253"`
}

// liveQuestion is one that is being asked.
type liveQuestion struct {
	client *listing.Client
	now    rest.ClusterNow
	// end gives back what the question takes.
	end func()
}

// ask begins a question about a cluster of which the caller may see the inventory. To others the cluster does not exist.
func (l *live) ask(ctx context.Context, in *ClusterPath, objects int) (*liveQuestion, error) {
	cluster := &v1alpha1.Cluster{}
	if err := l.rights.Object(ctx, l.callers, in.Organization, "get", "clusters", in.Cluster, cluster); err != nil {
		return nil, err
	}
	if err := l.rights.Require(ctx, rights.Act{Verb: "list", Resource: role.Inventory, Namespace: cluster.Namespace}); err != nil {
		return nil, err
	}
	leave, err := l.turn(in.Organization)
	if err != nil {
		return nil, err
	}
	reader, err := l.reach(ctx, cluster, listing.Bounds{
		Call: callWithin, PageItems: 500, PageBytes: 8 << 20, Objects: objects, Connections: 2,
	})
	if err != nil {
		leave()
		if errors.Is(err, ErrNotReady) {
			return nil, problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, ErrNotReady.Error())
		}
		return nil, problem.Explain(err)
	}
	return &liveQuestion{
		client: reader, end: func() { reader.Close(); leave() },
		now: rest.ClusterNow{Organization: in.Organization, Cluster: cluster.Name, ClusterUID: string(cluster.UID), AsOf: l.now().UTC()},
	}, nil
}

// turn takes what a question to a cluster of an organization takes.
func (l *live) turn(organization string) (leave func(), err error) {
	if leave = l.questions.Take(organization); leave == nil {
		busy := problem.New(http.StatusTooManyRequests, rest.CodeTooMany, "too many clusters are being asked; come again in a moment")
		return nil, huma.ErrorWithHeaders(busy, http.Header{"Retry-After": {"2"}})
	}
	return leave, nil
}

// unanswered is the answer for a cluster that gave none. It says why: that is what callers of the inventory see of it, too.
func unanswered(err error) error {
	return problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, "the cluster could not be read: "+listing.Reason(err))
}

type topologyInput struct {
	ClusterPath

	Namespaces []string `query:"namespace,explode" maxItems:"10" doc:"Only what is in this namespace; may be repeated."`
}

func (l *live) topology(ctx context.Context, in *topologyInput) (*chain.Answer[rest.ClusterTopology], error) {
	for _, namespace := range in.Namespaces {
		if len(content.IsDNS1123Label(namespace)) > 0 {
			return nil, refused("namespace", "want the name of a namespace")
		}
	}
	q, err := l.ask(ctx, &in.ClusterPath, topologyObjects)
	if err != nil {
		return nil, err
	}
	defer q.end()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	graph, err := topology.Read(ctx, q.client, in.Namespaces, topology.Caps{})
	if err != nil {
		return nil, unanswered(err)
	}
	return &chain.Answer[rest.ClusterTopology]{Body: toTopology(q.now, in.Namespaces, graph)}, nil
}

func (l *live) usage(ctx context.Context, in *ClusterPath) (*chain.Answer[rest.ClusterUsage], error) {
	q, err := l.ask(ctx, in, usageObjects)
	if err != nil {
		return nil, err
	}
	defer q.end()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	report, err := usage.Read(ctx, q.client)
	if err != nil {
		return nil, unanswered(err)
	}
	return &chain.Answer[rest.ClusterUsage]{Body: toUsage(q.now, report)}, nil
}
