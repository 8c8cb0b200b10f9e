package volumes

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	// unbounded: the volumes may have what the file system has.
	unbounded = -1
	// boundEvery is how often the Node is asked.
	boundEvery = 30 * time.Second
)

// bound is how many bytes the volumes of a node may have together, by a label of the Node.
type bound struct {
	label string
	bytes atomic.Int64
}

// read takes over what the Node says, and says whether that is news. A label that is no quantity, which only a user of the cluster
// wrote, bounds nothing.
func (b *bound) read(node *corev1.Node) (changed bool) {
	now := int64(unbounded)
	if said, err := resource.ParseQuantity(node.Labels[b.label]); err == nil && said.Sign() >= 0 {
		now = said.Value()
	}
	return b.bytes.Swap(now) != now
}

// follow reads the Node now and then until the context ends, and calls changed at news. While it cannot be read, what it said last
// holds.
func (b *bound) follow(ctx context.Context, client kubernetes.Interface, node string, changed func()) {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if found, err := get(ctx, client, node); err == nil && b.read(found) {
			changed()
		}
	}, boundEvery, 1, true)
}

func get(ctx context.Context, client kubernetes.Interface, name string) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the node: %w", err)
	}
	return node, nil
}
