//go:build linux

package cli

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// joinable CLUSTER HOST:PORT says where nodes reach a cluster. Its authority is that of the plane.
func joinable(config *rest.Config) func(context.Context, client.Client, *v1alpha1.Cluster, []string) error {
	return func(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("usage: joinable CLUSTER HOST:PORT")
		}
		cluster.Status.Join = &v1alpha1.JoinEndpoint{Server: args[0], CA: config.CAData}
		return c.Status().Update(ctx, cluster)
	}
}

// token node/NAME VALID makes what a machine joins with, for so long from now.
func token(ctx context.Context, c client.Client, machine *v1alpha1.Machine, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: token node/NAME VALID")
	}
	valid, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: machine.Namespace, Name: machine.JoinSecret()},
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:         []byte("abcdef"),
			bootstrapapi.BootstrapTokenSecretKey:     []byte("0123456789abcdef"),
			bootstrapapi.BootstrapTokenExpirationKey: []byte(time.Now().Add(valid).UTC().Format(time.RFC3339)),
		},
	}
	if err := client.IgnoreNotFound(c.Delete(ctx, secret.DeepCopy())); err != nil {
		return err
	}
	return c.Create(ctx, secret)
}

// inCluster node/NAME says that a machine's node has joined.
func inCluster(ctx context.Context, c client.Client, machine *v1alpha1.Machine, _ []string) error {
	now := metav1.Now()
	machine.Status.JoinTime = &now
	return c.Status().Update(ctx, machine)
}
