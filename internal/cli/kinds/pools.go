package kinds

import (
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/platform/text"
)

// mostNodes is how many nodes the definition of a NodePool allows.
const mostNodes = 1000

// CheckVersion refuses what is no version of Kubernetes; an empty one was left open.
func CheckVersion(cmd *cobra.Command, version string) error {
	if _, err := semver.StrictNewVersion(TrimV(version)); version != "" && (err != nil || version[0] != 'v') {
		return exit.UsageError(cmd, "--version: %q is not a version such as v1.36.3", version)
	}
	return nil
}

// CheckNodes refuses numbers of nodes that no pool can have.
func CheckNodes(cmd *cobra.Command, flag string, count int32) error {
	if count < 0 || count > mostNodes {
		return exit.UsageError(cmd, "--%s: %d has to be a number from 0 to %d", flag, count, mostNodes)
	}
	return nil
}

// TrimV returns a version without the v in front, if it has one.
func TrimV(version string) string {
	if version != "" && version[0] == 'v' {
		return version[1:]
	}
	return version
}

// PoolCommand is the command line that makes a pool as `cluster create` does.
func PoolCommand(pool *v1alpha1.NodePool) string {
	return fmt.Sprintf("nodepool create %s --cluster %s --nodes %d", console.ShellQuote(pool.Name), console.ShellQuote(pool.Spec.ClusterName), pool.Spec.Replicas)
}

// Nodes says how many nodes.
func Nodes(count int32) string { return text.Count(int(count), "node") }

// Bounds says within which numbers of nodes a pool is scaled; empty for one that has no maximum.
func Bounds(p *v1alpha1.NodePool) string {
	if p.Spec.MaxReplicas == nil {
		return ""
	}
	return fmt.Sprintf("%d to %d nodes", ptr.Deref(p.Spec.MinReplicas, 0), *p.Spec.MaxReplicas)
}

// Article returns the name of a kind with its article: "a cluster", "an organization".
func Article(singular string) string {
	if strings.ContainsRune("aeio", rune(singular[0])) { // a user is "a user"
		return "an " + singular
	}
	return "a " + singular
}

// PoolsOf returns the pools of a cluster. Callers who may not see them get none.
func PoolsOf(ctx context.Context, e *connection.Env, c *objects.Client, cluster string) ([]*v1alpha1.NodePool, error) {
	return belonging(ctx, e, c, NodePool, func(p *v1alpha1.NodePool) bool { return p.Spec.ClusterName == cluster })
}

// MachinesOf returns the machines of a cluster. To a user who may not see machines there are none.
func MachinesOf(ctx context.Context, e *connection.Env, c *objects.Client, cluster string) ([]*v1alpha1.Machine, error) {
	return belonging(ctx, e, c, Machine, func(m *v1alpha1.Machine) bool { return m.Spec.ClusterName == cluster })
}

// belonging returns the organization's objects of a kind of which something holds, and none to a user who may not see the kind.
func belonging[T client.Object](ctx context.Context, e *connection.Env, c *objects.Client, kind *Kind, holds func(T) bool) ([]T, error) {
	found, err := Fetch(ctx, c, In(e, kind))
	if objects.IsForbidden(err) {
		return nil, nil
	}
	var all []T
	for _, object := range found {
		if o, ok := object.(T); ok && holds(o) {
			all = append(all, o)
		}
	}
	return all, err
}

// NewNodePool returns a pool with the kind's defaults, so that flags show them.
func NewNodePool() *v1alpha1.NodePool {
	pool := &v1alpha1.NodePool{Spec: v1alpha1.NodePoolSpec{Replicas: 1}}
	pool.Spec.Default()
	return pool
}
