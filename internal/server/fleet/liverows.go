package fleet

import (
	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/topology"
	"kqueen.io/kqueen/internal/clusters/usage"
)

func toNotRead(all []listing.NotRead) []rest.ClusterNotRead {
	var out []rest.ClusterNotRead
	for _, n := range all {
		out = append(out, rest.ClusterNotRead(n))
	}
	return out
}

func toTopology(now rest.ClusterNow, namespaces []string, g topology.Graph) rest.ClusterTopology {
	now.NotRead = toNotRead(g.NotRead)
	out := rest.ClusterTopology{
		ClusterNow: now, Namespaces: namespaces, Truncated: g.Truncated,
		Objects: make([]rest.TopologyObject, 0, len(g.Nodes)), Relations: make([]rest.TopologyRelation, 0, len(g.Edges)),
	}
	for _, n := range g.Nodes {
		out.Objects = append(out.Objects, rest.TopologyObject{
			ID: n.ID(), Group: n.Group, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name, State: string(n.State), Phase: n.Phase,
		})
	}
	for _, e := range g.Edges {
		out.Relations = append(out.Relations, rest.TopologyRelation{From: e.From, Type: string(e.As), To: e.To, Stale: e.Stale})
	}
	return out
}

func toUsage(now rest.ClusterNow, r usage.Report) rest.ClusterUsage {
	now.NotRead = toNotRead(r.NotRead)
	out := rest.ClusterUsage{
		ClusterNow: now, Nodes: make([]rest.NodeUsage, 0, len(r.Nodes)), Unscheduled: toSum(r.Unscheduled), Elsewhere: toSum(r.Elsewhere), Unmeasured: r.Unmeasured,
	}
	total := r.Total()
	out.Total = rest.UsageTotal{UsageSum: toSum(total.Sum), Capacity: toHas(total.Capacity), Allocatable: toHas(total.Allocatable)}
	if total.Used != nil {
		used := rest.UsageAmounts(total.Used.Amounts)
		out.Total.Used = &used
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		row := rest.NodeUsage{UsageSum: toSum(n.Sum), Node: n.Name, Capacity: toHas(n.Capacity), Allocatable: toHas(n.Allocatable)}
		if n.Used != nil {
			row.Used = &rest.UsageMeasured{UsageAmounts: rest.UsageAmounts(n.Used.Amounts), MeasuredAt: n.Used.At, WindowSeconds: n.Used.Window.Seconds()}
		}
		out.Nodes = append(out.Nodes, row)
	}
	return out
}

func toSum(s usage.Sum) rest.UsageSum {
	return rest.UsageSum{Pods: s.Pods, Requests: rest.UsageAmounts(s.Requests), Limits: rest.UsageAmounts(s.Limits)}
}

func toHas(h usage.Has) rest.InventoryAmounts {
	return rest.InventoryAmounts{MilliCPU: h.MilliCPU, Memory: h.Memory, Pods: h.Pods}
}
