// Package usage reads what the nodes of one cluster have, what pods request of it, and what is used where metrics-server runs, as it is now.
//
// It hides the rule by which the requests and limits of a pod are those of its containers, and how sums of numbers that a hostile API server
// chose stay numbers. Pods are added up one by one and not kept. Package server/fleet imports it.
package usage

import (
	"math"
	"time"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// Amounts are resources: processors in thousandths, memory in bytes.
type Amounts struct{ MilliCPU, Memory int64 }

// Has is what a node has.
type Has struct {
	Amounts

	Pods int64
}

// Sum is what pods ask for. Pods counts those that have not ended.
type Sum struct {
	Requests, Limits Amounts
	Pods             int
}

// Used is what is used, as metrics-server has measured it: over a window, until At.
type Used struct {
	Amounts

	At     time.Time
	Window time.Duration
}

// Node is a node, what is asked of it, and what is used; nil where that was not measured.
type Node struct {
	Sum

	Name                  string
	Capacity, Allocatable Has
	Used                  *Used
}

// Report is the use of a cluster.
type Report struct {
	// Nodes are sorted by name.
	Nodes []Node
	// Unscheduled is what pods without a node ask for, and Elsewhere what those do whose node was not listed.
	Unscheduled, Elsewhere Sum
	// Unmeasured says why nothing is known of what is used; empty when it was measured.
	Unmeasured string
	// NotRead are the resources that could not be read, or not in full.
	NotRead []listing.NotRead
}

// Total is what all nodes have together, what is asked of them, and what is used: nil unless it was measured on each. It is pure.
func (r *Report) Total() Node {
	var all Node
	used := &Used{}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		all.Capacity.add(n.Capacity)
		all.Allocatable.add(n.Allocatable)
		all.Requests.add(n.Requests)
		all.Limits.add(n.Limits)
		all.Pods += n.Pods
		if n.Used == nil || used == nil {
			used = nil
			continue
		}
		used.add(n.Used.Amounts)
	}
	if len(r.Nodes) > 0 {
		all.Used = used
	}
	return all
}

func (h *Has) add(other Has) {
	h.Amounts.add(other.Amounts)
	h.Pods = plus(h.Pods, other.Pods)
}

// add adds up without ever turning round: a sum that is too large for a number is the largest one.
func (a *Amounts) add(b Amounts) {
	a.MilliCPU, a.Memory = plus(a.MilliCPU, b.MilliCPU), plus(a.Memory, b.Memory)
}

// larger are the larger ones of each resource.
func larger(a, b Amounts) Amounts {
	return Amounts{max(a.MilliCPU, b.MilliCPU), max(a.Memory, b.Memory)}
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (s *Sum) add(requests, limits Amounts) {
	s.Requests.add(requests)
	s.Limits.add(limits)
	s.Pods++
}
