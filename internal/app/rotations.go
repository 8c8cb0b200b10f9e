//go:build linux

package app

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/rotation"
	"kqueen.io/kqueen/internal/hosting/controlplane"
)

// rewrites is how many Secrets a second are written again at most.
const rewrites = 100

// rotations are what rotations look at clusters with, and at what is stored of them.
func rotations(stores *controlplane.DataStores, by *connection.Connections) rotation.Config {
	open := reach(by)
	return rotation.Config{
		OlderPods: func(ctx context.Context, c *v1alpha1.Cluster, than time.Time) (rotation.Pods, error) {
			reader, err := open(ctx, c, rotation.Bounds())
			if err != nil {
				return rotation.Pods{}, err
			}
			defer reader.Close()
			return rotation.OlderPods(ctx, reader, than)
		},
		State: func(ctx context.Context, cp *v1alpha1.ControlPlane) (rotation.State, error) {
			return stores.State(ctx, cp)
		},
		Rewriter: func(ctx context.Context, c *v1alpha1.Cluster) (func(context.Context, string, string) error, error) {
			config, err := by.Config(ctx, c)
			if err != nil {
				return nil, err
			}
			config = rest.CopyConfig(config)
			config.QPS, config.Burst = rewrites, rewrites
			// It is known where Secrets are: nothing is asked for that.
			mapper := apimeta.NewDefaultRESTMapper(nil)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)
			writer, err := client.New(config, client.Options{Mapper: mapper})
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, namespace, name string) error {
				return rotation.Rewrite(ctx, writer, namespace, name)
			}, nil
		},
	}
}
