//go:build linux

package app

import (
	"context"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/rotation"
)

// rotations are what rotations look at clusters with.
func rotations(by *connection.Connections) rotation.Config {
	open := reach(by)
	return rotation.Config{OlderPods: func(ctx context.Context, c *v1alpha1.Cluster, than time.Time) (rotation.Pods, error) {
		reader, err := open(ctx, c, rotation.Bounds())
		if err != nil {
			return rotation.Pods{}, err
		}
		defer reader.Close()
		return rotation.OlderPods(ctx, reader, than)
	}}
}
