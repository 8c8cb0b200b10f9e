//go:build linux

package app

import (
	"context"

	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/rehearsal"
	"kqueen.io/kqueen/internal/clusters/upgrade"
	"kqueen.io/kqueen/internal/hosting/controlplane"
)

// rehearsals are what rehearsals are made with: the data stores of control planes, the way to clusters, and that to a control plane
// which has a copy of one's state.
func rehearsals(mgr ctrl.Manager, stores *controlplane.DataStores, by *connection.Connections, upgrades upgrade.Config) rehearsal.Config {
	return rehearsal.Config{
		Plan: dryRun(mgr, upgrades),
		State: func(ctx context.Context, cp *v1alpha1.ControlPlane) (rehearsal.State, error) {
			return stores.State(ctx, cp)
		},
		Live: func(ctx context.Context, c *v1alpha1.Cluster) (rehearsal.Server, error) {
			config, err := by.Config(ctx, c)
			if err != nil {
				return nil, err
			}
			return rehearsal.NewServer(config)
		},
		Connect: func(kubeconfig []byte) (rehearsal.Server, error) {
			config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
			if err != nil {
				return nil, err
			}
			return rehearsal.NewServer(config)
		},
	}
}
