// Package runner is what the components of control planes (kube-apiserver, kube-controller-manager, kube-scheduler,
// etcd) are run by. Package controlplane describes them, a [Runner] runs them; neither knows the other.
//
// It hides nothing. Who describes or runs control planes may import it.
package runner

import (
	"context"
	"time"

	"kqueen.io/kqueen/internal/platform/supervise"
)

// Runner runs workloads. All methods are idempotent, safe for concurrent use, and may be called again after a crash at
// any instruction. [*supervise.Supervisor], which says what they promise, is one.
type Runner interface {
	Reserve(ctx context.Context, id string, ports []string) (supervise.Place, error)
	Apply(ctx context.Context, w supervise.Workload) error
	Status(ctx context.Context, id string) (supervise.Status, error)
	Remove(ctx context.Context, id string, grace time.Duration) (gone bool, err error)
	List(ctx context.Context) ([]string, error)
}

var _ Runner = (*supervise.Supervisor)(nil)
