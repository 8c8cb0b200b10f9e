//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// calls are commands that run in a pod, and looks at its log: one of each at every beat, whether those before have ended or not, but no more
// than some at once.
type calls struct {
	*installation
	namespace, pod string
	kubeconfig     string // a file, which is read for each
	done           sync.WaitGroup

	mu      sync.Mutex
	made    int
	longest time.Duration
	failed  []failedCall
	ends    []processEnd
}

// processEnd is the end of a process of a component, as a test sees it.
type processEnd struct {
	component string
	at        time.Time
}

// failedCall is one that got no answer, and when.
type failedCall struct {
	what       string
	began, end time.Time
	err        error
}

const (
	// callBeat is the time between two calls of one kind, and mostCalls how many of a kind there are at once.
	callBeat, mostCalls = 300 * time.Millisecond, 10
	// lateCall is how long a call takes that fails because its host is busy with other tests: longer than one waits for a kubelet.
	lateCall = 20 * time.Second
	// lastWords is the time from the end of the connections of a process to its own end, as a test on a busy host sees it, and heard that from the
	// end of an API server until its clients say so.
	lastWords, heard = 2 * time.Second, 5 * time.Second
)

// callsInto makes calls to a pod of a cluster until ctx ends.
func (i *installation) callsInto(ctx context.Context, cluster, namespace, pod, kubeconfig string) *calls {
	c := &calls{installation: i, namespace: namespace, pod: pod, kubeconfig: kubeconfig}
	server, workload := i.pid(cluster, "kube-apiserver"), "" // not that of the admin plane
	for _, p := range i.processes() {
		if p.pid == server {
			workload = p.workload
		}
	}
	c.done.Go(func() { c.seeEnds(ctx, "kubelet", func(p process) bool { return p.component == "kubelet" }) })
	c.done.Go(func() {
		c.seeEnds(ctx, "kube-apiserver", func(p process) bool { return p.component == "kube-apiserver" && p.workload == workload })
	})
	c.done.Go(func() { c.every(ctx, "exec", c.exec) })
	c.done.Go(func() { c.every(ctx, "logs", c.logs) })
	return c
}

func (c *calls) every(ctx context.Context, what string, make func(ctx context.Context, config *rest.Config) error) {
	var made errgroup.Group
	made.SetLimit(mostCalls)
	tick := time.NewTicker(callBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = made.Wait() // call notes what failed
			return
		case <-tick.C:
		}
		made.TryGo(func() error {
			c.call(ctx, what, make)
			return nil
		})
	}
}

// call makes one, and notes how it was. What ctx cuts does not count.
func (c *calls) call(ctx context.Context, what string, make func(ctx context.Context, config *rest.Config) error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		c.t.Error(err)
		return
	}
	config.QPS = -1
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = make(limited, config)
	end := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	c.made++
	c.longest = max(c.longest, end.Sub(began))
	if err != nil {
		c.failed = append(c.failed, failedCall{what, began, end, err})
	}
}

func (c *calls) exec(ctx context.Context, _ *rest.Config) error {
	kubectl := exec.CommandContext(ctx, filepath.Join(c.releases, programs.version, "kubectl"),
		"--kubeconfig", c.kubeconfig, "-n", c.namespace, "exec", c.pod, "--", "/coredns", "-version")
	if out, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (c *calls) logs(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	lines := int64(1)
	answer := client.CoreV1().Pods(c.namespace).GetLogs(c.pod, &corev1.PodLogOptions{TailLines: &lines}).Do(ctx)
	said, err := answer.Raw()
	if err != nil {
		return answer.Error() // what the API server says, which Raw leaves out
	}
	if len(said) == 0 {
		return errors.New("the log is empty")
	}
	return nil
}

// seeEnds notes when processes of a component end.
func (c *calls) seeEnds(ctx context.Context, component string, is func(process) bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	seen, most := map[string]int{}, 1 // file descriptors of processes, by pid and start, and how many there were at once
	for {
		select {
		case <-ctx.Done():
			for _, fd := range seen {
				_ = unix.Close(fd)
			}
			return
		case <-tick.C:
		}
		if len(seen) < most {
			for _, p := range c.processes() {
				id := fmt.Sprint(p.pid, p.start)
				if _, known := seen[id]; known || !is(p) {
					continue
				}
				if fd, err := unix.PidfdOpen(p.pid, 0); err == nil {
					seen[id] = fd
				}
			}
			most = max(most, len(seen))
		}
		for id, fd := range seen {
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil || n == 0 {
				continue
			}
			c.mu.Lock()
			c.ends = append(c.ends, processEnd{component, time.Now()})
			c.mu.Unlock()
			_ = unix.Close(fd)
			delete(seen, id)
		}
	}
}

// cutBy says whether the call was under way when a process ended. A call waits for the next kubelet, and not for the next API server.
func (f failedCall) cutBy(e processEnd) bool {
	return f.began.Before(e.at) && f.end.After(e.at.Add(-lastWords)) && (e.component == "kubelet" || f.end.Before(e.at.Add(heard)))
}

// flawless: no call has failed but those that were under way when a kubelet or their API server ended; kubelets have to have ended so many times.
// On a host that is busy with other tests one may be too late, and a process ends its connections a while before it ends.
func (c *calls) flawless(t *testing.T, kubelets int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	cut, late := 0, 0
	for _, f := range c.failed {
		switch {
		case slices.ContainsFunc(c.ends, f.cutBy):
			cut++
		case f.end.Sub(f.began) > lateCall:
			late++
		default:
			t.Errorf("%s failed after %v: %v", f.what, f.end.Sub(f.began), f.err)
			for _, e := range c.ends {
				t.Logf("%v before, a %s had ended", f.end.Sub(e.at), e.component)
			}
		}
	}
	ended := 0
	for _, e := range c.ends {
		if e.component == "kubelet" {
			ended++
		}
	}
	t.Logf("%d calls to a pod, the longest %v; kubelets ended %d times, API servers %d times, %d calls with them, and %d were too late",
		c.made, c.longest, ended, len(c.ends)-ended, cut, late)
	if ended < kubelets {
		t.Errorf("kubelets have ended %d times, want %d", ended, kubelets)
	}
}
