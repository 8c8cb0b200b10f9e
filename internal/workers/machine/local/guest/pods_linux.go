package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"kqueen.io/kqueen/internal/platform/procroot"
	"kqueen.io/kqueen/internal/workers/node"
)

const (
	// podsSocket is where a kubelet says which pods it knows, to all that reach the socket:
	// https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
	podsSocket = node.KubeletDir + "/pod-resources/kubelet.sock"
	// podsDir has a folder for each pod that the kubelet has ever run and not removed.
	podsDir = node.KubeletDir + "/pods"
)

// knowsPods says whether the kubelet of the machine whose process 1 is pid knows its pods; the error says that it does not, or what keeps it from
// answering. Users of the machine may have put anything in the place of the kubelet's socket and folder: they mislead about their own node alone.
func knowsPods(ctx context.Context, pid int) error {
	conn, err := grpc.NewClient("passthrough:///kubelet", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return procroot.Dial(ctx, pid, podsSocket) }))
	if err != nil {
		return err
	}
	defer conn.Close()
	known, err := podresources.NewPodResourcesListerClient(conn).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return fmt.Errorf("ask the kubelet for its pods: %w", err)
	}
	if len(known.GetPodResources()) > 0 {
		return nil
	}
	dir, err := procroot.Open(pid, podsDir)
	if err != nil {
		return fmt.Errorf("look for pods: %w", err)
	}
	defer dir.Close()
	if _, err := dir.Readdirnames(1); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("the kubelet has had pods and knows of none"), err)
	}
	return nil
}
