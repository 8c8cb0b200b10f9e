//go:build linux

package cli

import (
	"context"
	"errors"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// addonsReady CLUSTER COUNT waits until a cluster sets so many addons, and has it say that all of its addons are ready.
func addonsReady(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: addons-ready CLUSTER COUNT")
	}
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		return strconv.Itoa(len(cluster.Spec.Addons)) == args[0], err
	})
	if err != nil {
		return err
	}
	setCondition(cluster, v1alpha1.ConditionAddonsReady, metav1.ConditionTrue, v1alpha1.ReasonAddonsReady, "4 addons")
	return c.Status().Update(ctx, cluster)
}
