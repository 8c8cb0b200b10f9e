//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAutoscaling has a pool without a node, and what a Deployment needs decides: as many nodes come as its pods fill, although each look
// finds the same pods until the nodes are ready, and all of them go when it is scaled to nothing. KQueen is killed while they come and while
// they go. Pods that no node helps, and nodes that must stay, are explained.
func TestAutoscaling(t *testing.T) {
	needRoot(t)
	parallel(t, 90*time.Second)
	i := started(t)
	i.ok("cluster", "create", "demo", "--wait", "--timeout", patience.String())
	i.ok("nodepool", "create", "burst", "--cluster", "demo", "--autoscale", "--max", "3", "--idle-after", "1s", "--cpu", "1", "--memory", "1Gi", "--max-surge", "0", "--max-unavailable", "1")
	w := i.workers("demo")

	w.apply("filling.yaml")
	w.scalesTo(t, 3, "from 0 to 3: ")
	w.kube("rollout", "status", "deployment/filling", "--timeout=6m")
	w.wantNodes(3)
	w.kube("scale", "deployment/filling", "--replicas", "4")
	eventually(t, "it is said why the fourth pod gets no node, and why nodes stay", func(context.Context) error {
		out := i.ok("nodepool", "describe", "burst")
		if !strings.Contains(out, "as many machines as it may have (maxReplicas 3)") || !strings.Contains(out, "has no place on another node") {
			return errors.New(out)
		}
		return nil
	})
	w.wantNodes(3)

	w.kube("scale", "deployment/filling", "--replicas", "0")
	w.scalesTo(t, 2, "was not needed for 1s")
	i.halt()
	i.up()
	w.scalesTo(t, 0, "from 1 to 0: ")
	i.ok("nodepool", "wait", "burst", "--timeout", patience.String())
	eventually(t, "the nodes are gone", func(context.Context) error {
		if n := len(w.machines()); n > 0 {
			return fmt.Errorf("%d are there", n)
		}
		return nil
	})
	w.wantNodes(0)
}

// scalesTo waits until a pool has a desired size that was set for a reason, and never had one above 3.
func (w *workers) scalesTo(t *testing.T, n int, why string) {
	t.Helper()
	began := time.Now()
	eventually(t, fmt.Sprintf("the pool is scaled to %d", n), func(context.Context) error {
		out := w.ok("nodepool", "get", "burst", "-o", "jsonpath={.spec.replicas} {.status.autoscaling.lastScale}")
		if n > 0 && strings.HasPrefix(out, fmt.Sprint(n-1)) && strings.Contains(why, "not needed") {
			return nil // two went between two looks
		}
		if !strings.HasPrefix(out, fmt.Sprintf("%d ", n)) || !strings.Contains(out, why) {
			return errors.New(out)
		}
		return nil
	})
	t.Logf("scaled to %d after %s", n, time.Since(began).Round(time.Second))
}
