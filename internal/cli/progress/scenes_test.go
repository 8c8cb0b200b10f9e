package progress

import (
	"fmt"
	"io"
	"time"
)

// scene is what a command shows while it waits.
type scene struct {
	command string
	looks   []look
}

// look is what is seen at a time, if anything is, and what the command says then below its display: that it waits no more,
// or, without steps, what went wrong meanwhile. Of several objects it says before which one is next.
type look struct {
	at    time.Duration
	steps []Step
	says  string
	next  string
}

// play shows a scene, on a terminal of a size or elsewhere. seen is called after each look.
func (s scene) play(out io.Writer, size func() (columns, lines int), seen func(at time.Duration)) {
	start := time.Now()
	begin := func() *Display { return &Display{out: out, start: start, color: size != nil, size: size} }
	fmt.Fprintf(out, "$ %s\n", s.command)
	p := begin()
	for _, l := range s.looks {
		if l.next != "" {
			fmt.Fprintf(out, "waiting for cluster %s to be Ready\n", l.next)
		}
		if l.steps != nil {
			p.Update(l.steps, start.Add(l.at))
		}
		if l.says != "" {
			fmt.Fprintln(out, l.says)
			p.Leave()
		}
		if l.says != "" && l.steps != nil {
			p = begin() // the next wait has a display of its own
		}
		seen(l.at)
	}
}

// scenes are those that goldens show.
func scenes() map[string]scene {
	const (
		apiServer = "waiting for kube-apiserver"
		lost      = `lost the connection to KQueen, retrying: Get "https://kqueen.example.com:8443/api/v1": connect: connection refused`
		causes    = "1/3 ready, 3 machines wanted, 1 ready; not ready: payments-web-in-the-first-region-x7k2f, payments-web-in-the-first-region-b9q4z: " +
			"the node is not ready: 容器网络未就绪 /var/lib/kubelet/pods/2b7c9d1e-8f4a-4c55-9d0e-3a6f1b2c4d5e/volumes/kubernetes.io~projected/token"
	)
	return map[string]scene{
		"cluster": {"kqueen cluster create demo --wait", []look{
			{0, clusterUpTo(0, Step{}), "", ""},
			{2 * time.Second, clusterUpTo(5, Step{Message: apiServer + ": it does not answer at 127.0.0.1:21443 yet"}), "", ""},
			{9 * time.Second, clusterUpTo(9, Step{State: stepFailed, Message: "0/2 ready, 2 machines wanted, 0 ready; " +
				"not ready: workers-x, workers-y: kubelet: too many open files; set fs.inotify.max_user_instances=8192"}), "", ""},
			{12 * time.Second, clusterUpTo(11, Step{}), "", ""},
		}},
		"long-names": {"kqueen nodepool wait payments-web-in-the-first-region", []look{
			{3 * time.Second, []Step{{Name: "ClusterReady", State: StepDone}, {Name: "Nodes", Message: causes}, {Name: "Ready", Message: "1/3 ready"}}, "", ""},
			{4 * time.Second, []Step{{Name: "ClusterReady", State: StepDone}, {Name: "Nodes", State: StepDone}, {Name: "Ready", State: StepDone}}, "", ""},
		}},
		"many": {"kqueen apply -f clusters/ --wait", []look{
			{time.Second, briefUpTo(1, apiServer), "", "blue"},
			{5 * time.Second, briefUpTo(3, apiServer), "cluster blue is ready after 5.0s", ""},
			{5500 * time.Millisecond, briefUpTo(3, apiServer), "cluster green is ready after 5.5s", "green"},
			{6 * time.Second, briefUpTo(1, apiServer), "", "payments-in-the-second-region-with-a-long-name"},
			{8 * time.Second, briefUpTo(3, apiServer), "cluster payments-in-the-second-region-with-a-long-name is ready after 8.0s", ""},
			{8500 * time.Millisecond, briefUpTo(2, apiServer), "", "red"},
		}},
		"lost": {"kqueen cluster wait demo", []look{
			{2 * time.Second, clusterUpTo(5, Step{Message: apiServer}), "", ""},
			{4 * time.Second, nil, lost, ""},
			{6 * time.Second, clusterUpTo(5, Step{Message: apiServer}), "", ""},
			{9 * time.Second, clusterUpTo(11, Step{}), "cluster demo is ready after 9.0s", ""},
		}},
	}
}

// clusterUpTo are the steps of a cluster of which so many are done, and what is said of the one after them.
func clusterUpTo(done int, current Step) []Step {
	names := []string{"Accepted", "KubeconfigReady", "Keys", "Keyspace", "Endpoint", "Components", "Initialized", "Access", "Store", "Workers", "Ready"}
	var all []Step
	for i, name := range names {
		switch {
		case i < done:
			all = append(all, Step{Name: name, State: StepDone})
		case i == done:
			current.Name = name
			all = append(all, current)
		default:
			all = append(all, Step{Name: name})
		}
	}
	if last := &all[len(all)-1]; last.State == stepPending {
		last.Message = "not all is there yet"
	}
	return all
}

// briefUpTo are three steps of which so many are done; the others wait for something.
func briefUpTo(done int, waiting string) []Step {
	all := []Step{{Name: "Accepted"}, {Name: "Components", Message: waiting}, {Name: "Ready", Message: waiting}}
	for i := range all[:done] {
		all[i] = Step{Name: all[i].Name, State: StepDone}
	}
	return all
}
