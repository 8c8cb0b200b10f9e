//go:build linux

package app

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/workers/autoscaler"
	"kqueen.io/kqueen/internal/workers/machine/local"
)

// addAutoscaler adds what makes nodepools larger and smaller for the need of pods.
func (d *apiServer) addAutoscaler(mgr ctrl.Manager, by *connection.Connections, here *local.Provider, dir string) error {
	open, measures := reach(by), autoscaler.NewMeasures()
	if err := d.measure(measures.Collector()); err != nil {
		return fmt.Errorf("register the measures of autoscaling: %w", err)
	}
	return autoscaler.Setup(mgr, autoscaler.Config{
		Read: func(ctx context.Context, c *v1alpha1.Cluster) (autoscaler.Seen, error) {
			reader, err := open(ctx, c, autoscaler.Bounds())
			if err != nil {
				return autoscaler.Seen{}, err
			}
			defer reader.Close()
			return autoscaler.Read(ctx, reader)
		},
		Host:     func() corev1.ResourceList { return hostResources(here, dir) },
		Measures: measures,
	})
}

// hostResources is what this host has for machines. Their disk is that of the data directory.
func hostResources(here *local.Provider, dir string) corev1.ResourceList {
	size := resourcesOf(here.HostSize())
	out := corev1.ResourceList{corev1.ResourceCPU: *size.CPU, corev1.ResourceMemory: *size.Memory}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err == nil {
		out[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(disk.Blocks)*disk.Bsize, resource.BinarySI)
	}
	return out
}
