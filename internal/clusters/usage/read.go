package usage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/clusters/listing"
)

const (
	// maxName is how long a name may be, in bytes: Kubernetes allows no longer ones.
	maxName = 253
	// most bounds one amount, so that thousandths of it are a number: a pebibyte of memory, and more processors than there are.
	most = 1 << 50
)

// Where what is read is.
const (
	nodesPath   = "/api/v1/nodes"
	podsPath    = "/api/v1/pods"
	metricsPath = "/apis/metrics.k8s.io/v1beta1/nodes"
)

// running selects pods that hold resources, as kubectl describe node does.
const running = "status.phase!=Succeeded,status.phase!=Failed"

// Read adds up the use of a cluster. The context bounds it as a whole. What may not be read is named in NotRead; without an answer to the
// lists of nodes and of pods there is an error. That nothing measures is none: Unmeasured says so.
func Read(ctx context.Context, c *listing.Client) (Report, error) {
	r := &reading{client: c, nodes: map[string]*Node{}, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
	if err := r.list(ctx, "nodes", listing.Resource{Path: nodesPath, Accept: listing.JSON}, r.node); err != nil {
		return Report{}, err
	}
	pods := listing.Resource{Path: podsPath, Query: url.Values{"fieldSelector": {running}}, Accept: listing.JSON}
	if err := r.list(ctx, "pods", pods, r.pod); err != nil {
		return Report{}, err
	}
	r.measure(ctx)
	for _, n := range r.nodes {
		r.report.Nodes = append(r.report.Nodes, *n)
	}
	slices.SortFunc(r.report.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return r.report, nil
}

// reading is one reading of a cluster.
type reading struct {
	client *listing.Client
	report Report
	nodes  map[string]*Node
	// seen are pods, by a hash of their names, which are long if an API server wants them to be: a page that is read again hands them over twice.
	seed maphash.Seed
	seen map[uint64]bool
}

// list reads a resource. What may not be read, and what there is too much of, is named.
func (r *reading) list(ctx context.Context, name string, of listing.Resource, each func([]byte) error) error {
	_, err := r.client.List(ctx, of, listing.AnyTurn, each)
	switch {
	case errors.Is(err, listing.ErrForbidden) || errors.Is(err, listing.ErrTooMany):
		r.report.NotRead = append(r.report.NotRead, listing.NotRead{Resource: name, Reason: listing.Reason(err)})
	case err != nil:
		return fmt.Errorf("list %s: %w", name, err)
	}
	return nil
}

func (r *reading) node(raw []byte) error {
	var in struct {
		Meta struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Status struct {
			Capacity    has `json:"capacity"`
			Allocatable has `json:"allocatable"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	name := listing.Clean(in.Meta.Name, maxName)
	r.nodes[name] = &Node{Name: name, Capacity: in.Status.Capacity.has(), Allocatable: in.Status.Allocatable.has()}
	return nil
}

func (r *reading) pod(raw []byte) error {
	var p pod
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	key := maphash.String(r.seed, p.Meta.Namespace+"/"+p.Meta.Name)
	if p.ended() || r.seen[key] {
		return nil
	}
	r.seen[key] = true
	requests, limits := p.asks()
	node, known := r.nodes[listing.Clean(p.Spec.NodeName, maxName)]
	switch {
	case p.Spec.NodeName == "":
		r.report.Unscheduled.add(requests, limits)
	case !known:
		r.report.Elsewhere.add(requests, limits)
	default:
		node.add(requests, limits)
	}
	return nil
}

// measure reads what is used, where metrics-server runs.
func (r *reading) measure(ctx context.Context) {
	_, err := r.client.List(ctx, listing.Resource{Path: metricsPath, Accept: listing.JSON}, listing.AnyTurn, r.used)
	switch {
	case errors.Is(err, listing.ErrAbsent):
		r.report.Unmeasured = "the cluster has no metrics-server (metrics.k8s.io)"
	case err != nil:
		r.report.Unmeasured = "metrics.k8s.io: " + listing.Reason(err)
	}
	if r.report.Unmeasured != "" { // not half of the nodes
		for _, n := range r.nodes {
			n.Used = nil
		}
	}
}

func (r *reading) used(raw []byte) error {
	var in struct {
		Meta struct {
			Name string `json:"name"`
		} `json:"metadata"`
		At     time.Time  `json:"timestamp"`
		Window string     `json:"window"`
		Usage  quantities `json:"usage"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	node, known := r.nodes[listing.Clean(in.Meta.Name, maxName)]
	if !known {
		return nil
	}
	window, err := time.ParseDuration(in.Window)
	if err != nil || window < 0 {
		window = 0
	}
	node.Used = &Used{Amounts: in.Usage.amounts(), At: in.At.UTC(), Window: window}
	return nil
}

// has is what a node says it has.
type has struct {
	quantities

	Pods string `json:"pods"`
}

func (h *has) has() Has { return Has{Amounts: h.amounts(), Pods: value(h.Pods, false)} }

func (q quantities) amounts() Amounts { return Amounts{value(q.CPU, true), value(q.Memory, false)} }

// replace puts those that are said into the place of others.
func (q quantities) replace(in *Amounts) {
	if q.CPU != "" {
		in.MilliCPU = value(q.CPU, true)
	}
	if q.Memory != "" {
		in.Memory = value(q.Memory, false)
	}
}

// value is an amount, in thousandths or in ones, between none and what is taken at most.
func value(said string, thousandths bool) int64 {
	if said == "" {
		return 0
	}
	q := listing.Quantity(said)
	switch {
	case q.Sign() < 0:
		return 0
	case q.CmpInt64(most) >= 0:
		return most
	case thousandths:
		return min(q.MilliValue(), most)
	}
	return q.Value()
}
