package node

import (
	"context"
	"fmt"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
)

// labelInterval is the time between two tries to label the node: that of a kubelet which has just joined comes in a moment.
const labelInterval = 250 * time.Millisecond

// label says on the node that it has the images of addons. It tries until it can: the pods that need them are not scheduled before. A
// kubelet may set labels of its own node that are not Kubernetes' own (NodeRestriction), and this is by the kubelet's kubeconfig.
func (s Start) label(ctx context.Context) error {
	if s.Label == "" {
		return nil
	}
	again := time.NewTicker(labelInterval)
	defer again.Stop()
	told := ""
	for {
		err := s.tryLabel(ctx)
		if err == nil {
			return nil
		}
		if err.Error() != told {
			told = err.Error()
			s.Log.Info("the node is not labelled yet", "node", s.Label, "error", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("label node %s: %w", s.Label, context.Cause(ctx))
		}
	}
}

func (s Start) tryLabel(ctx context.Context) error {
	config, err := kube.Config(kube.Target{Kubeconfig: s.Path, Version: "machine"})
	if err != nil {
		return err
	}
	return kube.LabelNode(ctx, config, s.Label, map[string]string{v1alpha1.LabelAddonImages: v1alpha1.AddonImagesImported})
}
