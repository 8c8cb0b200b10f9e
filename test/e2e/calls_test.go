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
	ends    []time.Time // of processes of kubelets
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
	lateCall = 10 * time.Second
)

// callsInto makes calls until ctx ends.
func (i *installation) callsInto(ctx context.Context, namespace, pod, kubeconfig string) *calls {
	c := &calls{installation: i, namespace: namespace, pod: pod, kubeconfig: kubeconfig}
	c.done.Go(func() { c.seeKubelets(ctx) })
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
	said, err := client.CoreV1().Pods(c.namespace).GetLogs(c.pod, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
	if err == nil && len(said) == 0 {
		err = errors.New("the log is empty")
	}
	return err
}

// seeKubelets notes when kubelets of the installation end.
func (c *calls) seeKubelets(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	seen := map[string]int{} // file descriptors of processes, by pid and start
	for {
		select {
		case <-ctx.Done():
			for _, fd := range seen {
				_ = unix.Close(fd)
			}
			return
		case <-tick.C:
		}
		if len(seen) == 0 {
			for _, p := range c.processes() {
				if p.component != "kubelet" {
					continue
				}
				if fd, err := unix.PidfdOpen(p.pid, 0); err == nil {
					seen[fmt.Sprint(p.pid, p.start)] = fd
				}
			}
		}
		for id, fd := range seen {
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil || n == 0 {
				continue
			}
			c.mu.Lock()
			c.ends = append(c.ends, time.Now())
			c.mu.Unlock()
			_ = unix.Close(fd)
			delete(seen, id)
		}
	}
}

// flawless: no call has failed but those that were under way when a kubelet ended, which has to have happened so many times. On a host that
// is busy with other tests one may be too late.
func (c *calls) flawless(t *testing.T, ends int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	cut, late := 0, 0
	for _, f := range c.failed {
		if slices.ContainsFunc(c.ends, func(end time.Time) bool { return f.began.Before(end) && f.end.After(end.Add(-callBeat)) }) {
			cut++
			continue
		}
		if f.end.Sub(f.began) > lateCall {
			late++
			continue
		}
		var last time.Time
		for _, end := range c.ends {
			if end.Before(f.began) {
				last = end
			}
		}
		t.Errorf("%s failed that began %v after a kubelet had ended, after %v: %v", f.what, f.began.Sub(last), f.end.Sub(f.began), f.err)
	}
	t.Logf("%d calls to a pod, the longest %v; %d ended with their kubelet, which ended %d times, and %d were too late", c.made, c.longest, cut, len(c.ends), late)
	if len(c.ends) < ends {
		t.Errorf("kubelets have ended %d times, want %d", len(c.ends), ends)
	}
}
