package usage

// quantities are resources as an object says them; an absent one is empty.
type quantities struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

type resources struct {
	Requests quantities `json:"requests"`
	Limits   quantities `json:"limits"`
}

type container struct {
	Name          string    `json:"name"`
	RestartPolicy string    `json:"restartPolicy"`
	Resources     resources `json:"resources"`
}

// sidecar says whether an init container runs as long as the pod does.
func (c *container) sidecar() bool { return c.RestartPolicy == "Always" }

// containerStatus is what a kubelet has given to a container, which may be resized while it runs.
type containerStatus struct {
	Name      string     `json:"name"`
	Resources *resources `json:"resources"`
	Allocated quantities `json:"allocatedResources"`
}

type pod struct {
	Meta struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		NodeName   string      `json:"nodeName"`
		Containers []container `json:"containers"`
		Init       []container `json:"initContainers"`
		Resources  resources   `json:"resources"`
		Overhead   quantities  `json:"overhead"`
	} `json:"spec"`
	Status struct {
		Phase      string            `json:"phase"`
		Containers []containerStatus `json:"containerStatuses"`
		Init       []containerStatus `json:"initContainerStatuses"`
		Conditions []struct {
			Type   string `json:"type"`
			Reason string `json:"reason"`
		} `json:"conditions"`
	} `json:"status"`
}

// ended says whether a pod holds nothing any more.
func (p *pod) ended() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

// asks returns what a pod requests, and its limits. It is pure.
//
// The rule is that of the scheduler and of kubectl, PodRequests and PodLimits of k8s.io/component-helpers/resource, for processors and
// memory: containers together, sidecars with them; or, where that is more, an init container together with the sidecars before it (KEP-753,
// "Resources calculation for scheduling and pod admission"). What the pod itself says takes the place of that, and its overhead comes on top,
// of limits only where there is one. While a container is resized, what it has counts as well as what it asks for.
func (p *pod) asks() (requests, limits Amounts) {
	requests = p.containers(func(c *container, s *containerStatus) Amounts {
		asked := c.Resources.Requests.amounts()
		if s == nil {
			return asked
		}
		return p.resized(asked, larger(s.Resources.Requests.amounts(), s.Allocated.amounts()))
	})
	limits = p.containers(func(c *container, s *containerStatus) Amounts {
		asked := c.Resources.Limits.amounts()
		if s == nil {
			return asked
		}
		return p.resized(asked, s.Resources.Limits.amounts())
	})
	p.Spec.Resources.Requests.replace(&requests)
	p.Spec.Resources.Limits.replace(&limits)
	overhead := p.Spec.Overhead.amounts()
	requests.add(overhead)
	if limits.MilliCPU > 0 {
		limits.add(Amounts{MilliCPU: overhead.MilliCPU})
	}
	if limits.Memory > 0 {
		limits.add(Amounts{Memory: overhead.Memory})
	}
	return requests, limits
}

// containers adds up what containers ask for. asks is handed the status of those that run as long as the pod does; nil where it does not
// say what the container has.
func (p *pod) containers(asks func(*container, *containerStatus) Amounts) Amounts {
	var all, sidecars, starting Amounts
	statuses := p.statuses()
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		all.add(asks(c, statuses[c.Name]))
	}
	for i := range p.Spec.Init {
		c := &p.Spec.Init[i]
		if c.sidecar() {
			asked := asks(c, statuses[c.Name])
			all.add(asked)
			sidecars.add(asked)
			starting = larger(starting, sidecars)
			continue
		}
		asked := asks(c, nil)
		asked.add(sidecars)
		starting = larger(starting, asked)
	}
	return larger(all, starting)
}

// resized is what counts of a container that is being resized: what it has, and, where the node can give it, what it asks for.
func (p *pod) resized(asked, has Amounts) Amounts {
	if p.infeasible() {
		return has
	}
	return larger(asked, has)
}

// statuses are those that say what a container has, by its name.
func (p *pod) statuses() map[string]*containerStatus {
	out := map[string]*containerStatus{}
	for _, some := range [][]containerStatus{p.Status.Containers, p.Status.Init} {
		for i := range some {
			if some[i].Resources != nil {
				out[some[i].Name] = &some[i]
			}
		}
	}
	return out
}

// infeasible says whether a resize is asked for that the node cannot do.
func (p *pod) infeasible() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodResizePending" {
			return c.Reason == "Infeasible"
		}
	}
	return false
}
