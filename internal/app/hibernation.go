//go:build linux

package app

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/hibernation"
	"kqueen.io/kqueen/internal/hosting/gateway"
	"kqueen.io/kqueen/internal/hosting/runner/process"
)

// wakesFolder is where the gateway's process says for which clusters clients wait. It is in its own directory.
const wakesFolder = "wakes"

// wakes are the clusters for which clients wait while they sleep.
func wakes(a *App) *gateway.Wakes {
	return &gateway.Wakes{Folder: filepath.Join(a.supervisor.Dir(workloadGateway), wakesFolder), Notify: a.notices.clusters.Send}
}

// asleep is how the gateway stands in for the API server of a cluster.
func asleep(a *App) func(plane, cluster types.UID, port uint16) gateway.Asleep {
	return func(plane, cluster types.UID, port uint16) gateway.Asleep {
		return gateway.Asleep{
			Listen:   net.JoinHostPort(a.Listen.String(), strconv.Itoa(int(port))),
			Handover: filepath.Join(a.supervisor.Dir(string(plane)), process.HandoverFolder),
			Wake:     wakes(a).File(cluster),
		}
	}
}

// looks reads what decides whether a cluster sleeps.
func looks(by *connection.Connections) func(context.Context, *v1alpha1.Cluster) (hibernation.Seen, error) {
	open := reach(by)
	return func(ctx context.Context, c *v1alpha1.Cluster) (hibernation.Seen, error) {
		reader, err := open(ctx, c, hibernation.Bounds())
		if err != nil {
			return hibernation.Seen{}, err
		}
		defer reader.Close()
		return hibernation.Read(ctx, reader, time.Now())
	}
}
