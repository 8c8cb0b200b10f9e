package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// podTimeout bounds the end of one pod. After it the pod is killed with all others.
const podTimeout = 15 * time.Second

// stopPods ends all pods through containerd, as the kubelet does, so that the network's plugins take back what they
// gave. Nothing starts pods any more.
func stopPods(ctx context.Context, socket string) error {
	if _, err := os.Stat(socket); err != nil {
		return nil //nolint:nilerr // containerd has never run, or the machine was started again
	}
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("speak to containerd: %w", err)
	}
	err = removePods(ctx, criv1.NewRuntimeServiceClient(conn))
	return errors.Join(err, conn.Close())
}

func removePods(ctx context.Context, c criv1.RuntimeServiceClient) error {
	list, err := c.ListPodSandbox(ctx, &criv1.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	var all []error
	for _, pod := range list.Items {
		if err := removePod(ctx, c, pod.Id); err != nil {
			all = append(all, fmt.Errorf("stop pod %s: %w", pod.Metadata.GetName(), err))
		}
	}
	return errors.Join(all...)
}

func removePod(ctx context.Context, c criv1.RuntimeServiceClient, id string) error {
	ctx, cancel := context.WithTimeout(ctx, podTimeout)
	defer cancel()
	// It kills what runs in the pod; who has time for its pods drains the node first.
	if _, err := c.StopPodSandbox(ctx, &criv1.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	_, err := c.RemovePodSandbox(ctx, &criv1.RemovePodSandboxRequest{PodSandboxId: id})
	return err
}

// answers says whether containerd does.
func answers(ctx context.Context) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", socket())
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
